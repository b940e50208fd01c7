// SPDX-License-Identifier: Apache-2.0
#include "tools/import/onnx/refused_operators.h"

#include <map>

namespace ingot::onnx {
namespace {

constexpr RefusedOperator kText = {
    "works on text, which no program has",
    "cut it off (onnx.utils.extract_model), do it before the network, and feed numbers"};
constexpr RefusedOperator kUnknown = {"the operator is not supported", ""};

const std::map<std::string_view, RefusedOperator> kRefused = {
    {"ImageDecoder",
     {"reads the bytes of an image file",
      "cut it off (onnx.utils.extract_model) and feed pixels; --image takes those of cameras"}},
    {"RegexFullMatch", kText},
    {"StringConcat", kText},
    {"StringNormalizer", kText},
    {"StringSplit", kText},
};

}  // namespace

RefusedOperator refused_operator(std::string_view op) {
  const auto row = kRefused.find(op);
  return row == kRefused.end() ? kUnknown : row->second;
}

}  // namespace ingot::onnx
