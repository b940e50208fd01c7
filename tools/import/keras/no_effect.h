// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/no_effect.h - fields of a configuration that a layer need not read: what they
// say changes no number of an inference. Every other field that nobody read is refused unless it is
// null or false.
#pragma once
#include <string>
#include <vector>

#include "tools/import/keras/config.h"

namespace ingot::keras {

struct NoEffect {
  const char* kind;   // "*": of every layer
  const char* field;  // "*_initializer": every field that ends so
  const char* reason;
};
const std::vector<NoEffect>& fields_without_effect();

/// The reason why the field changes nothing; null where it may.
const char* no_effect(const std::string& kind, const std::string& field);
/// The first field of a configuration that says something and that neither stands in `read` nor in
/// the list; "" for none.
std::string unread_field(const std::string& kind, const Json& config,
                         const std::vector<std::string>& read);

}  // namespace ingot::keras
