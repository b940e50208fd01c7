// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/packed_parameters.h - weights of quantized layers, which the library
// keeps in objects of its own (torch.classes.quantized). Operators of the namespace quantized take
// such an object where those of tools/import/aten take the tensors and numbers in it.
#pragma once
#include <string>
#include <vector>

#include "tools/import/aten/builder.h"
#include "tools/import/torchscript/objects.h"

namespace ingot::torchscript {

struct PackedParameters : aten::Foreign {
  std::vector<Value> arguments;  // in the place of the object
};

/// From what the class saved as its state; Unreadable where the class is not known.
/// @throws graph::ConversionError(kCorrupt) where the state is not that of its class.
Value packed_parameters(const std::string& type, const Value& state, aten::Builder& builder,
                        const std::string& owner);
/// Operators of the namespace quantized that make such an object: their names end in _prepack.
bool packs_parameters(const std::string& name);
/// What such an operator gives.
Value packed_parameters(std::vector<Value> arguments);
/// Arguments with those of packed parameters in their place; a list of packed cells becomes the
/// list of their tensors and the flag of their steps.
std::vector<Value> unpacked(const std::vector<Value>& arguments);

}  // namespace ingot::torchscript
