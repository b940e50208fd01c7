// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/quantized_softmax.cpp - softmax of rows of integers by a table of
// exponentials.
#include "runtime/op/quantized_softmax.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "kernels/cpu/oracle/rescale.h"

namespace ingot::cpu::oracle {
namespace {

/// One row, and the exponential of each of its elements. What is of the whole row is found first:
/// the output may lie where the row does.
struct Row {
  const TensorView& table;
  const uint8_t* x;
  int top = 0;
  float real_sum = 0;
  double fixed_sum = 0;
  Row(const TensorView& exponentials, const uint8_t* from, int64_t n)
      : table(exponentials), x(from) {
    for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
    const bool in_floats = table.dtype == DType::kF32;
    for (int64_t i = 0; i < n; i++)
      in_floats ? void(real_sum += real(i)) : void(fixed_sum += rounded_up(fixed(i), 1, 12));
  }
  float real(int64_t i) const { return table.as<const float>()[255 - top + x[i]]; }
  double fixed(int64_t i) const {
    const int32_t e = table.as<const int32_t>()[255 - top + x[i]];
    return e > 0 ? e : 0;
  }
};

double real_step(const QuantizedSoftmaxAttributes& t, const Row& row, int64_t i) {
  const float reciprocal = 1.0f / (row.real_sum * t.scale), p = row.real(i) * reciprocal;
  // as limits do: what is no number is above them
  const float within = p == p ? float(limited(double(p), -65536, 65536)) : 65536.0f;
  return t.add_half ? double(std::trunc(within + 0.5f)) : double(std::round(within));
}

double fixed_step(const Row& row, int64_t i, int bits) {
  const double sum = limited(row.fixed_sum, 524288, 2147483647);
  int exponent;  // sum is 2^19 * m * 2^exponent, 1 <= m < 2
  const double m = 2 * std::frexp(sum / 524288, &exponent);
  exponent -= 1;
  const double half = std::ldexp(m, 30);  // of m, in Q0.31
  double x = 1515870810 + rounded_up(half, -1010580540, 31);
  for (int k = 0; k < 3; k++) x += 4 * rounded_up(x, 536870912 - rounded_up(half, x, 31), 31);
  const double p = rounded_up(limited_i32(2 * x), row.fixed(i), 31);
  return std::floor(std::ldexp(p, -(exponent + 31 - bits)) + 0.5);
}

/// The same of 16-bit numbers.
struct Int16Row {
  const int16_t *table, *x;
  int top = -32768;
  double sum = 0;
  Int16Row(const int16_t* exponentials, const int16_t* from, int64_t n)
      : table(exponentials), x(from) {
    for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
    for (int64_t i = 0; i < n; i++) sum += exponential(i);
  }
  double exponential(int64_t i) const { return std::max<int>(table[65535 - top + x[i]], 0); }
};

double int16_step(const Int16Row& row, int64_t i) {
  int bits;
  const double sum = limited(row.sum, 2, 2147483647);
  const double unit = std::frexp(sum, &bits);  // 1/2 <= unit < 1
  const double m = limited(rounded_up(std::ldexp(unit, 31), 1, 14), 65536, 131071) - 65536;
  const int16_t* const line = row.table + kInt16Exponentials + int64_t(m) / 128;
  const double r = line[0] + rounded_up(line[1] - line[0], double(int64_t(m) % 128), 7);
  const int16_t kept = int16_t(uint16_t(int64_t(r)));
  return limited(rounded_up(row.exponential(i), kept, bits - 1), 0, 32767);
}

}  // namespace

Status quantized_softmax(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const QuantizedSoftmaxAttributes& t = a.as<QuantizedSoftmaxAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const bool bytes = y.dtype == DType::kU8;
  const int64_t n = x.row_length();
  for_each_index(y, [&](const int64_t* at) {
    if (at[y.rank - 1] != 0) return;
    if (x.dtype == DType::kI16) {
      const Int16Row row(a.inputs[1].as<const int16_t>(), x.as<const int16_t>() + offset_of(x, at),
                         n);
      for (int64_t i = 0; i < n; i++)
        write_integer(y, offset_of(y, at) + i, int64_t(int16_step(row, i)));
      return;
    }
    const Row row(a.inputs[1], x.as<const uint8_t>() + offset_of(x, at), n);
    for (int64_t i = 0; i < n; i++) {
      const double step = a.inputs[1].dtype == DType::kF32 ? real_step(t, row, i)
                                                           : fixed_step(row, i, bytes ? 8 : 16);
      const double q = limited(step + t.y_zero, bytes ? 0 : -32768, bytes ? 255 : 32767);
      write_integer(y, offset_of(y, at) + i, int64_t(q));
    }
  });
  return {};
}

}  // namespace ingot::cpu::oracle
