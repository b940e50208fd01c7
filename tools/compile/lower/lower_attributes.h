// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/lower_attributes.h - attributes of core form (tools/compile/passes/README.md)
// to the plain structs of runtime/op.
#pragma once
#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

/// The operator of a core-form node; kNone when the name is not one ("Reshape" has no instruction
/// of its own).
OpCode op_of(graph::Operator op);

/// The attribute struct of a node, by the family of its operator. Slice.starts and Pad.before go to
/// `extents`. `rank` is that of the first operand. If gets its subprograms from the caller. @throws
/// ConversionError(kInternal) for an attribute that core form does not allow, naming node and key.
Attributes attributes_of(const graph::Node& node, size_t rank, Dims* extents);

/// Parts of attributes_of, one per source file.
Attributes spatial_attributes(OpCode op, const graph::Node& node, size_t rank, Dims* extents);
Attributes tensor_attributes(OpCode op, const graph::Node& node, size_t rank, Dims* extents);

CustomAttributes custom_attributes(const graph::Node& node);

/// Value of a schema enum by its spelling; `names` is flatc's null-terminated list, its first entry
/// has the value 0.
int enum_value(const graph::Node& node, graph::AttributeName key, const char* const* names,
               int otherwise);
uint32_t unsigned_value(const graph::Node& node, graph::AttributeName key, int64_t otherwise);
/// `value`, which attribute `key` has.
uint32_t to_unsigned(const graph::Node& node, graph::AttributeName key, int64_t value);
ActivationSpec activation_of(const graph::Node& node);
/// Spelling of an activation; throws like enum_value.
Activation activation_kind(const graph::Node& node, const std::string& spelling);
[[noreturn]] void refuse_attribute(const graph::Node& node, graph::AttributeName key,
                                   const std::string& why);

}  // namespace ingot::convert
