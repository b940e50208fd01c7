// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_custom.cpp - operators that a plugin has.
#include "tools/graph/custom_node.h"
#include "tools/import/onnx/call.h"
#include "tools/plugins/plugins.h"

namespace ingot::onnx {
namespace {

std::vector<double> numbers_of(const graph::Constant& constant) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < constant.elements(); i++)
    numbers.push_back(constant.dtype == DType::kF64 ? constant.as<double>()[i]
                                                    : double(constant.as<float>()[i]));
  return numbers;
}

/// Of a tensor its numbers in a row, where they are integers of 32 or 64 bits, or floats.
bool read_numbers(Call& call, const Tensor& tensor, graph::Attribute* to) {
  const graph::Constant constant =
      read_tensor(tensor, std::string(tensor.name), call.translator().external());
  if (constant.dtype == DType::kF32 || constant.dtype == DType::kF64) {
    *to = numbers_of(constant);
  } else if (constant.dtype == DType::kI64) {
    const int64_t* const from = constant.as<int64_t>();
    *to = std::vector<int64_t>(from, from + constant.elements());
  } else if (constant.dtype == DType::kI32) {
    const int32_t* const from = constant.as<int32_t>();
    *to = std::vector<int64_t>(from, from + constant.elements());
  } else {
    return false;
  }
  return true;
}

}  // namespace

void import_custom(Call& call) {
  std::map<std::string, graph::Attribute> custom;
  for (const Attribute& stated : call.node().attributes) {
    const std::string name(stated.name);
    int32_t type = stated.type;
    if (!stated.reference.empty() && call.scope().arguments) {
      const auto argument = call.scope().arguments->find(stated.reference);
      if (argument != call.scope().arguments->end()) type = argument->second->type;
    }
    const Attribute* const from = call.attribute(stated.name, type);
    if (!from) continue;
    graph::Attribute to;
    switch (type) {
      case kAttributeFloat: to = double(from->f); break;
      case kAttributeInt: to = from->i; break;
      case kAttributeString: to = std::string(from->s); break;
      case kAttributeFloats:
        to = std::vector<double>(from->floats.begin(), from->floats.end());
        break;
      case kAttributeInts: to = from->ints; break;
      case kAttributeTensor:
        if (read_numbers(call, *from->tensor, &to)) break;
        [[fallthrough]];
      default:
        return call.refuse(name,
                           "is of a kind that plugins are not given: they take a text, integers, "
                           "numbers, and tensors of these");
    }
    if (const auto* text = std::get_if<std::string>(&to);
        text && text->find('\0') != std::string::npos)
      return call.refuse(name, "is a text with a zero in it");
    custom[name] = std::move(to);
  }
  graph::Node& made = call.emit(op::Custom);
  made.attributes = {{attr::domain, std::string(call.node().domain)},
                     {attr::operator_name, std::string(call.node().op)}};
  made.custom = std::move(custom);
}

}  // namespace ingot::onnx
