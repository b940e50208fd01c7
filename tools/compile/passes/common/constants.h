// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/common/constants.h - reading and rearranging constants during conversion.
// Nothing here changes a constant in place.
#pragma once
#include <optional>
#include <vector>

#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

/// Every element as a double; empty for an empty tensor. Any dtype.
std::vector<double> numbers(const Constant& constant);
/// A one-element constant's number, whatever its rank.
std::optional<double> scalar(const Model& model, ValueId id);
/// True when `id` is a one-element constant within one float rounding of `expected`.
bool is_scalar(const Model& model, ValueId id, double expected);
/// Every element of a constant is the same number: that number.
std::optional<double> uniform(const Constant& constant);

Constant make_f32(std::vector<int64_t> dims, const std::vector<double>& elements);
Constant with_dims(const Constant& constant, std::vector<int64_t> dims);
Constant permuted(const Constant& constant, const Integers& perm);
/// i8 or u8 in the order of `perm`; u8 less 128, as zero points of it must be.
Constant signed_weights(const Constant& integers, const Integers& perm);
/// Broadcast to dims by ONNX's rules. @pre it does broadcast.
Constant broadcast(const Constant& constant, const std::vector<int64_t>& dims);

/// When `id` is a constant that, broadcast against `dims`, varies along the last dimension at most
/// (and does not widen dims): its values along that dimension, `dims.back()` of them. The last
/// dimension must be static.
std::optional<std::vector<double>> per_channel(const Model& model, ValueId id, const Dims& dims);

/// Static dims as numbers; nothing when one is symbolic.
std::optional<std::vector<int64_t>> static_dims(const Dims& dims);

}  // namespace ingot::passes
