// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/no_effect.h - attributes that an operator's translation need not read: what
// they say changes no number of an inference. Every other attribute that nobody asked for is
// refused by name.
#pragma once
#include <string_view>
#include <vector>

namespace ingot::onnx {

struct NoEffect {
  const char* op;  // "*": of every operator
  const char* attribute;
  const char* reason;
};
const std::vector<NoEffect>& attributes_without_effect();

/// The reason why the attribute changes nothing; null where it may.
const char* no_effect(std::string_view op, std::string_view attribute);

}  // namespace ingot::onnx
