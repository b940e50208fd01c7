// SPDX-License-Identifier: Apache-2.0
// tools/import/common/options.cpp - the command line's spellings of shapes and dimensions.
#include "tools/import/common/options.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace ingot::importer {
namespace {

using graph::Dim;
using graph::fail_usage;
using Text = std::string_view;

bool parse_integer(Text text, int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// Name and rest of NAME=REST; names may hold '=' themselves only to the left of the last one.
std::pair<std::string, std::string> split_argument(const std::string& argument, const char* form) {
  const size_t at = argument.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == argument.size()) {
    fail_usage("'" + argument + "': expected " + form);
  }
  return {argument.substr(0, at), argument.substr(at + 1)};
}

}  // namespace

void add_input_shape(ImportOptions& options, const std::string& argument) {
  const char* const kForm =
      "NAME=DIMxDIMx..., as in image=1x3x224x224 (a name keeps a dimension symbolic; 1,3,max_len "
      "with commas)";
  const auto [name, shape] = split_argument(argument, kForm);
  graph::Dims dims;
  // commas where a name holds an x
  const char separator = shape.find(',') == std::string::npos ? 'x' : ',';
  size_t at = 0;
  while (at <= shape.size()) {
    const size_t end = std::min(shape.find(separator, at), shape.size());
    const std::string part = shape.substr(at, end - at);
    int64_t number = 0;
    const bool digits = parse_integer(part, &number);
    if (part.empty() || (digits && number < 0)) fail_usage("'" + argument + "': expected " + kForm);
    dims.push_back(digits ? Dim(number) : Dim::symbol(part));
    at = end + 1;
  }
  options.input_shapes[name] = std::move(dims);
}

void add_dim(ImportOptions& options, const std::string& argument) {
  const char* const kForm = "NAME=VALUE or NAME=LOW..HIGH with 0 <= LOW <= HIGH";
  const auto [name, text] = split_argument(argument, kForm);
  graph::SymbolBounds bounds;
  const size_t dots = text.find("..");
  const bool good = dots == std::string::npos
                        ? parse_integer(text, &bounds.low) && parse_integer(text, &bounds.high)
                        : parse_integer(Text(text).substr(0, dots), &bounds.low) &&
                              parse_integer(Text(text).substr(dots + 2), &bounds.high);
  if (!good || bounds.low < 0 || bounds.high < bounds.low)
    fail_usage("'" + argument + "': expected " + kForm);
  options.dims[name] = bounds;
}

void add_input_type(ImportOptions& options, const std::string& argument) {
  const auto [name, type] = split_argument(argument, "NAME=TYPE, as in ids=i64");
  for (int i = 1; i <= int(DType::kBool); i++)
    if (type == dtype_name(DType(i))) return void(options.input_types[name] = DType(i));
  fail_usage("'" + argument + "': expected a type such as f32, f16, i64, i32, u8 or bool");
}

void add_argument(ImportOptions& options, const std::string& argument) {
  const auto [name, value] = split_argument(argument, "NAME=VALUE, as in sr=16000");
  options.arguments[name] = value;
}

void set_exact_to(ImportOptions& options, const std::string& argument) {
  for (const ExactTo to :
       {ExactTo::kDefault, ExactTo::kLitert, ExactTo::kBuiltin, ExactTo::kTflm, ExactTo::kOnnx}) {
    if (argument != exact_to_name(to)) continue;
    options.exact_to = to;
    return;
  }
  fail_usage("--exact-to " + argument + ": expected litert, builtin, tflm or onnx");
}
const char* exact_to_name(ExactTo to) {
  switch (to) {
    case ExactTo::kDefault: return "";
    case ExactTo::kLitert: return "litert";
    case ExactTo::kBuiltin: return "builtin";
    case ExactTo::kTflm: return "tflm";
    case ExactTo::kOnnx: return "onnx";
  }
  return "";
}

}  // namespace ingot::importer
