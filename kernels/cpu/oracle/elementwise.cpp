// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/elementwise.cpp - one element at a time through the steps, in double or in
// 64-bit whole numbers.
#include "runtime/op/elementwise.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "runtime/op/scalar_functions.h"

namespace ingot::cpu::oracle {
namespace {

/// Runs the steps on the registers r[0 .. inputs + steps); returns the last.
double run_real(const ElementwiseAttributes& t, int inputs, double* r) {
  for (uint32_t i = 0; i < t.step_count; i++) {
    const ElementwiseStep& s = t.steps[i];
    const int arity = elementwise_arity(s.op);
    const auto get = [&](uint8_t n) { return n == kConstantRegister ? double(s.alpha) : r[n]; };
    double& out = r[inputs + int(i)];
    out = scalar::call(s.op, get(s.a), arity > 1 ? get(s.b) : 0, arity > 2 ? get(s.c) : 0,
                       {double(s.alpha), double(s.beta)});
    if (t.compute == ComputeType::kF32) out = double(float(out));
  }
  return r[inputs + int(t.step_count) - 1];
}

int64_t run_whole(const ElementwiseAttributes& t, int inputs, int64_t* r) {
  const bool is_unsigned = t.compute == ComputeType::kU64;
  for (uint32_t i = 0; i < t.step_count; i++) {
    const ElementwiseStep& s = t.steps[i];
    const int arity = elementwise_arity(s.op);
    const auto get = [&](uint8_t n) {
      return n == kConstantRegister ? truncate(double(s.alpha)) : r[n];
    };
    int64_t& out = r[inputs + int(i)];
    out = scalar::call(s.op, get(s.a), arity > 1 ? get(s.b) : 0, arity > 2 ? get(s.c) : 0,
                       is_unsigned, {double(s.alpha), double(s.beta)});
  }
  return r[inputs + int(t.step_count) - 1];
}

void convert(const TensorView& x, int64_t from, const TensorView& y, int64_t at) {
  if (x.dtype == y.dtype)
    copy_element(y, at, x, from);
  else if (x.dtype == DType::kU64 && !is_integer(y.dtype))
    write(y, at, double(x.as<const uint64_t>()[from]));
  else if (is_integer(x.dtype))
    write_integer(y, at, read_integer(x, from));
  else
    write(y, at, read(x, from));
}

}  // namespace

Status elementwise(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  const TensorView& y = a.outputs[0];
  const bool whole = t.compute == ComputeType::kI64 || t.compute == ComputeType::kU64;
  for_each_index(y, [&](const int64_t* index) {
    double real[kMaxElementwiseInputs + kMaxElementwiseSteps];
    int64_t integer[kMaxElementwiseInputs + kMaxElementwiseSteps];
    const int64_t at = offset_of(y, index);
    for (int i = 0; i < a.input_count; i++) {
      const TensorView& x = a.inputs[i];
      int64_t source[kMaxRank];
      for (int d = 0; d < x.rank; d++) source[d] = x.dims[d] == 1 ? 0 : index[y.rank - x.rank + d];
      const int64_t from = offset_of(x, source);
      if (t.step_count == 0) return convert(x, from, y, at);
      real[i] = read(x, from);
      if (t.compute == ComputeType::kF32) real[i] = double(float(real[i]));
      if (whole) integer[i] = read_integer(x, from);
    }
    if (!whole)
      write(y, at, run_real(t, a.input_count, real));
    else if (t.compute == ComputeType::kU64 && !is_integer(y.dtype))
      write(y, at, double(uint64_t(run_whole(t, a.input_count, integer))));
    else
      write_integer(y, at, run_whole(t, a.input_count, integer));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
