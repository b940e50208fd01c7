// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/common/elementwise.h - steps of an Elementwise node as structs, and the
// short ways to make one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/compile/passes/common/editor.h"
#include "tools/graph/elementwise_steps.h"

namespace ingot::passes {

using Op = ElementwiseOp;

using graph::Step;

std::vector<Step> steps_of(const Node& node);
void set_steps(Node& node, const std::vector<Step>& steps);
Attributes elementwise(const std::vector<Step>& steps, const std::string& compute);
/// "f32", "i64", "f64" or "u64": what holds every value of `dtype`.
const char* compute_type(DType dtype);
const char* compute_name(ComputeType type);
/// The dtype that a compute type is: "f32" is kF32.
DType compute_dtype(const std::string& compute);

/// The only step of a single-step Elementwise node, else nothing.
std::optional<Step> only_step(const Node& node);
/// One step of one operand (and numbers), reading register 0.
bool is_unary(const Node& node);

/// Convolutions and Linear: they have weights and an epilogue.
bool has_weights(const Node& node);
/// It takes an Elementwise behind it into its store.
bool stores(const Node* node);

}  // namespace ingot::passes
