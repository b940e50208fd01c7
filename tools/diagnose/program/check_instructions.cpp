// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/program/check_instructions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/op/elementwise.h"
#include "tools/graph/tensor_math.h"

namespace ingot::cli {
namespace {

using compare::Measure;
using compare::Tensor;

/// What one operation may lose on its operands, as a part of them: what compare allows, too.
constexpr double kRounding = 1e-6;
constexpr int kDraws = 8;  // all up, all down, and signs at random

bool is_small_integer(DType t) {
  return t == DType::kU8 || t == DType::kI8 || t == DType::kU16 || t == DType::kI16 ||
         t == DType::kI32;
}

/// Whether it makes whole numbers of floats: a type of integers, or a function with steps inside.
bool rounds(OpCode op, const OpArguments& a, DType made) {
  if (is_small_integer(made)) return true;
  if (op != OpCode::kElementwise) return false;
  const auto& attributes = a.as<ElementwiseAttributes>();
  return std::any_of(
      attributes.steps, attributes.steps + attributes.step_count, [](const ElementwiseStep& step) {
        return step.op == ElementwiseOp::kRound || step.op == ElementwiseOp::kFloor ||
               step.op == ElementwiseOp::kCeil || step.op == ElementwiseOp::kTrunc;
      });
}

/// Operands with memory of their own, in the layout of the run.
class Operands {
 public:
  explicit Operands(const OpArguments& from) : arguments_(from) {
    copy(from.inputs, from.input_count, &inputs_);
    copy(from.outputs, from.output_count, &outputs_);
    arguments_.inputs = inputs_.data();
    arguments_.outputs = outputs_.data();
  }
  const OpArguments& arguments() const { return arguments_; }
  const std::vector<TensorView>& inputs() const { return inputs_; }

 private:
  void copy(const TensorView* views, uint16_t count, std::vector<TensorView>* to) {
    to->assign(views, views + count);
    for (TensorView& view : *to) {
      uint64_t bytes = 0;
      if (!view.present() || !view.data || !storage_bytes(view, &bytes)) continue;
      memory_.emplace_back((bytes + 63) / 64 * 64 / sizeof(Block));
      if (bytes) memcpy(memory_.back().data(), view.data, bytes);
      view.data = memory_.back().data();
    }
  }
  struct alignas(64) Block {
    char bytes[64];
  };
  OpArguments arguments_;
  std::vector<TensorView> inputs_, outputs_;
  std::vector<std::vector<Block>> memory_;
};

/// Elements as numbers, row by row.
Tensor numbers_of(const TensorView& view) {
  host::Array array;
  array.dtype = view.dtype;
  const int64_t size = dtype_bytes(view.dtype), length = view.row_length(), rows = view.rows();
  for (int i = 0; i < view.rank; i++) array.dims.push_back(view.dims[i]);
  array.bytes.resize(size_t(view.elements() * size));
  for (int64_t r = 0; view.elements() && r < rows; r++)
    memcpy(array.bytes.data() + r * length * size,
           view.as<const char>() + r * view.row_stride * size, size_t(length * size));
  return compare::to_tensor(array);
}

bool has_floats(const OpArguments& a) {
  return std::any_of(a.inputs, a.inputs + a.input_count, [](const TensorView& view) {
    return view.present() && view.packing == Packing::kDense && graph::is_floating(view.dtype);
  });
}

/// Sums that come near the largest f32 may overflow on the way, in one order and not in another:
/// there an element that is no finite number says nothing.
void pass_over_overflow(const Tensor& expected, Tensor* found) {
  constexpr double kNear = 3.4e38 / 256;
  if (compare::magnitude(expected) < kNear) return;
  for (size_t i = 0; i < expected.at.size() && i < found->at.size(); i++)
    if (!std::isfinite(found->at[i]) && std::isfinite(expected.at[i]))
      found->at[i] = expected.at[i];
}

/// Every float of the operands moved by a rounding, up or down.
template <class Sign>
void move_operands(const Operands& operands, Sign sign) {
  for (const TensorView& view : operands.inputs()) {
    uint64_t bytes = 0;
    if (view.dtype != DType::kF32 || !view.data || !storage_bytes(view, &bytes)) continue;
    float* const numbers = view.as<float>();
    for (uint64_t i = 0; i < bytes / sizeof(float); i++)
      numbers[i] = float(double(numbers[i]) * (1 + sign() * kRounding));
  }
}

/// The least and the most that the naive kernel gives for operands within a rounding.
struct Range {
  Tensor least, most;
};
Range range_of(const KernelEntry& naive, const OpArguments& before, const Team& team, uint16_t o,
               const Tensor& expected) {
  Range range{expected, expected};
  std::mt19937 random(1);
  for (int draw = 0; draw < kDraws; draw++) {
    const Operands moved(before);
    move_operands(moved, [&] { return draw < 2 ? 1 - 2 * draw : int(random() % 2) * 2 - 1; });
    if (!naive.run(moved.arguments(), team).ok()) continue;
    const Tensor found = numbers_of(moved.arguments().outputs[o]);
    for (size_t i = 0; i < found.at.size(); i++) {
      range.least.at[i] = std::min(range.least.at[i], found.at[i]);
      range.most.at[i] = std::max(range.most.at[i], found.at[i]);
    }
  }
  return range;
}

}  // namespace

InstructionChecker::InstructionChecker(const ingot_kernel_table* chosen,
                                       const ingot_kernel_table* naive)
    : naive_(reinterpret_cast<const KernelTable*>(naive)),
      hook_(chosen, [this](const KernelEntry& entry, const OpArguments& arguments,
                           const Team& team) { return check(entry, arguments, team); }) {}

Status InstructionChecker::check(const KernelEntry& entry, const OpArguments& arguments,
                                 const Team& team) {
  const uint64_t call = result_.calls++;
  if (result_.wrong) return entry.run(arguments, team);
  const Operands before(arguments), own(arguments);
  const KernelEntry* const naive = find_kernel(*naive_, entry.op, arguments);
  const Status status = entry.run(arguments, team);
  if (!naive || !status.ok()) return status;
  const Status expected_status = naive->run(own.arguments(), team);
  for (uint16_t o = 0; o < arguments.output_count; o++) {
    const TensorView& view = arguments.outputs[o];
    if (!view.present() || view.packing != Packing::kDense) continue;
    const bool is_rounding =
        has_floats(before.arguments()) && rounds(entry.op, arguments, view.dtype);
    result_.rounds_floats |= is_rounding;
    Tensor found = numbers_of(view);
    const Tensor expected = numbers_of(own.arguments().outputs[o]);
    if (graph::is_floating(view.dtype)) pass_over_overflow(expected, &found);
    double most = 0;
    for (const TensorView& input : before.inputs())
      if (input.dtype == DType::kF32 && input.data && input.packing == Packing::kDense)
        most = std::max(most, compare::magnitude(numbers_of(input)));
    Measure m = compare::measure(expected, found, view.dtype, {}, most * kRounding);
    if (!m.passed && m.same_dims && is_rounding) {
      const Range range = range_of(*naive, before.arguments(), team, o, expected);
      Tensor nearest = found;
      for (size_t i = 0; i < found.at.size(); i++)
        nearest.at[i] = std::clamp(found.at[i], range.least.at[i], range.most.at[i]);
      const Measure beyond = compare::measure(nearest, found, view.dtype, {}, most * kRounding);
      if (beyond.passed) result_.rounded_otherwise += m.differing;
      m.passed = beyond.passed;
    }
    if (m.passed && expected_status.ok()) continue;
    result_.wrong = {call, entry.name, o, m, expected.dims};
    break;
  }
  return status;
}

}  // namespace ingot::cli
