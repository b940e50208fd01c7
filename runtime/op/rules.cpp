// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/rules.h"

#include "runtime/base/checked_math.h"

namespace ingot::rules {

#ifndef INGOT_FIRMWARE
bool refuse(Violation* violation, const char* rule, int operand, int64_t expected, int64_t found) {
  if (violation) *violation = {rule, operand, expected, found};
  return false;
}
#endif

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 60;

bool in_mask(uint32_t mask, int i) { return i >= 32 || (mask >> i & 1) != 0; }

bool check_operand(const TensorType& t, int operand, bool may_stride, bool may_pack, Violation* v) {
  if (dtype_bytes(t.dtype) == 0)
    return refuse(v, "operand has a known dtype", operand, 0, int64_t(t.dtype));
  if (t.rank > kMaxRank) return refuse(v, "rank is at most 8", operand, kMaxRank, t.rank);
  if (t.packing != Packing::kDense && !may_pack)
    return refuse(v, "operand is dense", operand, 0, int64_t(t.packing));
  int64_t bytes = dtype_bytes(t.dtype);
  for (int i = 0; i < t.rank; i++) {
    if (t.dims[i] < 0) return refuse(v, "dimension is not negative", operand, 0, t.dims[i]);
    if (i + 1 < t.rank &&
        (!checked_mul(bytes, t.dims[i] > 0 ? int64_t{t.dims[i]} : 1, &bytes) || bytes > kMaxBytes))
      return refuse(v, "tensor is at most 2^60 bytes", operand, kMaxBytes, t.dims[i]);
  }
  if (t.row_stride < (t.rank ? t.row_length() : 0))
    return refuse(v, "row_stride covers the row", operand, t.row_length(), t.row_stride);
  if (!checked_mul(bytes, t.row_stride > 0 ? int64_t{t.row_stride} : 1, &bytes) ||
      bytes > kMaxBytes)
    return refuse(v, "tensor is at most 2^60 bytes", operand, kMaxBytes, t.row_stride);
  if (!may_stride && t.rank > 0 && !t.is_dense())
    return refuse(v, "operand is dense over rows", operand, t.row_length(), t.row_stride);
  return true;
}

}  // namespace

bool check_operands(const OpArguments& a, const OpContract& contract, const OperandRules& which,
                    Violation* v) {
  if (a.input_count < contract.min_inputs)
    return refuse(v, "enough inputs", Violation::kAttribute, contract.min_inputs, a.input_count);
  if (a.input_count > contract.max_inputs)
    return refuse(v, "not too many inputs", Violation::kAttribute, contract.max_inputs,
                  a.input_count);
  if (a.output_count < contract.min_outputs)
    return refuse(v, "enough outputs", Violation::kAttribute, contract.min_outputs, a.output_count);
  if (a.output_count > contract.max_outputs)
    return refuse(v, "not too many outputs", Violation::kAttribute, contract.max_outputs,
                  a.output_count);
  for (int i = 0; i < a.input_count; i++) {
    if (!a.inputs[i].present()) {
      if (in_mask(which.required_inputs, i)) return refuse(v, "required input is present", i);
    } else if (!check_operand(a.inputs[i], i, i < 32 && in_mask(contract.strided_inputs, i),
                              i < 32 && in_mask(which.packed_inputs, i), v)) {
      return false;
    }
  }
  for (int i = 0; i < a.output_count; i++) {
    if (!a.outputs[i].present()) {
      if (in_mask(which.required_outputs, i))
        return refuse(v, "required output is present", output(i));
    } else if (!check_operand(a.outputs[i], output(i),
                              i < 32 && in_mask(contract.strided_outputs, i), false, v)) {
      return false;
    }
  }
  return true;
}

bool broadcasts_to(const TensorType& x, const TensorType& y) {
  if (x.rank > y.rank) return false;
  for (int i = 0; i < x.rank; i++) {
    const int64_t d = x.dims[x.rank - 1 - i];
    if (d != 1 && d != y.dims[y.rank - 1 - i]) return false;
  }
  return true;
}

bool is_reduced(const TensorType& x, uint32_t axes, const TensorType& y) {
  bool kept = y.rank == x.rank;
  for (int i = 0; kept && i < x.rank; i++)
    kept = y.dims[i] == ((axes >> i & 1) ? 1 : int64_t{x.dims[i]});
  if (kept) return true;
  int at = 0;
  for (int i = 0; i < x.rank; i++) {
    if (axes >> i & 1) continue;
    if (at >= y.rank || y.dims[at] != x.dims[i]) return false;
    at++;
  }
  return at == y.rank;
}

bool check_same_dims(const TensorType& x, const TensorType& y, int operand, Violation* v) {
  if (x.rank != y.rank) return refuse(v, "same rank", operand, x.rank, y.rank);
  for (int i = 0; i < x.rank; i++)
    if (x.dims[i] != y.dims[i]) return refuse(v, "same dimensions", operand, x.dims[i], y.dims[i]);
  return true;
}

bool check_same_dtype(const TensorType& x, const TensorType& y, int operand, Violation* v) {
  return x.dtype == y.dtype || refuse(v, "same dtype", operand, int64_t(x.dtype), int64_t(y.dtype));
}

bool overlays(const TensorType& input, const TensorType& output) {
  if (!input.present() || input.packing != Packing::kDense || input.rank != output.rank ||
      dtype_bytes(input.dtype) != dtype_bytes(output.dtype)) {
    return false;
  }
  for (int i = 0; i < input.rank; i++)
    if (input.dims[i] != output.dims[i]) return false;
  return input.row_stride == output.row_stride || (input.is_dense() && output.is_dense());
}

uint32_t in_place_first(const OpArguments& a) {
  return overlays(a.inputs[0], a.outputs[0]) ? 1u : 0u;
}

}  // namespace ingot::rules
