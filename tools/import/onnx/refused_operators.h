// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/refused_operators.h - standard operators of ONNX that are refused for good, and
// what to do instead. Of every other one that is not translated nothing more is known.
#pragma once
#include <string_view>

namespace ingot::onnx {

struct RefusedOperator {
  const char* why;
  const char* hint;  // "" where nothing is known
};
RefusedOperator refused_operator(std::string_view op);

}  // namespace ingot::onnx
