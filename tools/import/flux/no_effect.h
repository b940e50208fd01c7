// SPDX-License-Identifier: Apache-2.0
// tools/import/flux/no_effect.h - fields of layers that need not be read: what they say changes no
// number of an inference. Every other field that nobody read is refused unless it is nothing or
// false.
#pragma once
#include <string>
#include <vector>

namespace ingot::flux {

struct NoEffect {
  const char* kind;
  const char* field;
  const char* reason;
};
const std::vector<NoEffect>& fields_without_effect();

/// The reason why the field changes nothing; null where it may.
const char* no_effect(const std::string& kind, const std::string& field);

}  // namespace ingot::flux
