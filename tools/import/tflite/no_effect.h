// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/no_effect.h - options that no translation reads, and why. An option of an
// operator that stands neither here nor is asked for is refused by name where it says something.
#pragma once
#include <string>
#include <vector>

namespace ingot::tflite {

struct NoEffect {
  const char* where;  // an operator, a kind of options, or "*"
  const char* option;
  const char* reason;
};
const std::vector<NoEffect>& options_without_effect();
/// The reason; null where it has an effect.
const char* no_effect(const std::string& op, const std::string& kind, const std::string& option);

}  // namespace ingot::tflite
