// SPDX-License-Identifier: Apache-2.0
// tests/compile/lowered_maker.h - programs in a few lines, for tests of single stages.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tools/compile/program/lowered_program.h"

namespace ingot::convert {

struct LoweredMaker {
  LoweredProgram lowered;
  LoweredMaker() { lowered.subprograms.push_back({"main", {}}); }

  int32_t value(const std::string& name, Dims dims, ValueKind kind = ValueKind::kActivation) {
    LoweredValue v;
    v.name = name;
    v.dtype = DType::kF32;
    v.dims = std::move(dims);
    v.kind = kind;
    const int32_t id = lowered.add(std::move(v));
    PortSpec port;
    port.name = name;
    port.value = id;
    if (kind == ValueKind::kInput) lowered.inputs.push_back(port);
    if (kind == ValueKind::kOutput) lowered.outputs.push_back(port);
    return id;
  }
  int32_t input(const std::string& name, Dims dims) {
    return value(name, std::move(dims), ValueKind::kInput);
  }
  int32_t output(const std::string& name, Dims dims) {
    return value(name, std::move(dims), ValueKind::kOutput);
  }

  LoweredInstruction& add(Attributes attributes, std::vector<int32_t> inputs,
                          std::vector<int32_t> outputs, Dims extents = {}) {
    LoweredInstruction i;
    i.attributes = std::move(attributes);
    i.inputs = std::move(inputs);
    i.outputs = std::move(outputs);
    i.extents = std::move(extents);
    i.node = "n" + std::to_string(lowered.subprograms[0].instructions.size());
    lowered.subprograms[0].instructions.push_back(std::move(i));
    return lowered.subprograms[0].instructions.back();
  }
  /// relu(x), or relu(x + other).
  void relu(int32_t x, int32_t y, int32_t other = -1) {
    ElementwiseAttributes a;
    a.step_count = other < 0 ? 1 : 2;
    if (other >= 0) a.steps[0] = {ElementwiseOp::kAdd, 0, 1, 0, 0, 0};
    a.steps[a.step_count - 1] = {ElementwiseOp::kRelu, uint8_t(other < 0 ? 0 : 2), 0, 0, 0, 0};
    add(a, other < 0 ? std::vector<int32_t>{x} : std::vector<int32_t>{x, other}, {y});
  }
  void reshape(int32_t x, int32_t y) { add(CopyAttributes{}, {x}, {y}); }
  void concat(uint32_t axis, std::vector<int32_t> parts, int32_t y) {
    add(ConcatAttributes{axis}, std::move(parts), {y});
  }
  void slice(int32_t x, int32_t y, Dims starts) {
    SliceAttributes a;
    a.rank = uint32_t(starts.size());
    add(a, {x}, {y}, std::move(starts));
  }
  /// A sum along the last dimension, whose result is written densely only.
  void reduce(int32_t x, int32_t y, uint32_t axes) {
    add(ReduceAttributes{ReduceKind::kSum, axes}, {x}, {y});
  }

  size_t count() const { return lowered.subprograms[0].instructions.size(); }
  OpCode op(size_t i) const { return lowered.subprograms[0].instructions[i].op(); }
  const LoweredValue& at(int32_t id) const { return lowered.at(id); }
};

}  // namespace ingot::convert
