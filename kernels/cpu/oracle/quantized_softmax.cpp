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

/// One row, and the exponential of each of its elements.
struct Row {
  const TensorView& table;
  const uint8_t* x;
  int64_t n;
  int top = 0;
  Row(const TensorView& exponentials, const uint8_t* from, int64_t count)
      : table(exponentials), x(from), n(count) {
    for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
  }
  float real(int64_t i) const { return table.as<const float>()[255 - top + x[i]]; }
  double fixed(int64_t i) const {
    const int32_t e = table.as<const int32_t>()[255 - top + x[i]];
    return e > 0 ? e : 0;
  }
};

double real_step(const QuantizedSoftmaxAttributes& t, const Row& row, int64_t i) {
  float sum = 0;
  for (int64_t k = 0; k < row.n; k++) sum += row.real(k);
  const float reciprocal = 1.0f / (sum * t.scale), p = row.real(i) * reciprocal;
  // as limits do: what is no number is above them
  const float within = p == p ? float(limited(double(p), -65536, 65536)) : 65536.0f;
  return t.add_half ? double(std::trunc(within + 0.5f)) : double(std::round(within));
}

double fixed_step(const Row& row, int64_t i, int bits) {
  double sum = 0;
  for (int64_t k = 0; k < row.n; k++) sum += rounded_up(row.fixed(k), 1, 12);
  sum = limited(sum, 524288, 2147483647);
  int exponent;  // sum is 2^19 * m * 2^exponent, 1 <= m < 2
  const double m = 2 * std::frexp(sum / 524288, &exponent);
  exponent -= 1;
  const double half = std::ldexp(m, 30);  // of m, in Q0.31
  double x = 1515870810 + rounded_up(half, -1010580540, 31);
  for (int k = 0; k < 3; k++) x += 4 * rounded_up(x, 536870912 - rounded_up(half, x, 31), 31);
  const double p = rounded_up(limited_i32(2 * x), row.fixed(i), 31);
  return std::floor(std::ldexp(p, -(exponent + 31 - bits)) + 0.5);
}

/// Element i of a row of n 16-bit numbers.
double word_step(const int16_t* table, const int16_t* x, int64_t n, int64_t i) {
  int top = -32768;
  for (int64_t k = 0; k < n; k++) top = x[k] > top ? x[k] : top;
  const auto e = [&](int64_t k) { return double(std::max<int>(table[65535 - top + x[k]], 0)); };
  double sum = 0;
  for (int64_t k = 0; k < n; k++) sum += e(k);
  int bits;
  sum = limited(sum, 2, 2147483647);
  const double unit = std::frexp(sum, &bits);  // 1/2 <= unit < 1
  const double m = limited(rounded_up(std::ldexp(unit, 31), 1, 14), 65536, 131071) - 65536;
  const int16_t* const line = table + kWordExponentials + int64_t(m) / 128;
  const double r = line[0] + rounded_up(line[1] - line[0], double(int64_t(m) % 128), 7);
  const int16_t kept = int16_t(uint16_t(int64_t(r)));
  return limited(rounded_up(e(i), kept, bits - 1), 0, 32767);
}

}  // namespace

Status quantized_softmax(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const QuantizedSoftmaxAttributes& t = a.as<QuantizedSoftmaxAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const bool bytes = y.dtype == DType::kU8;
  for_each_index(y, [&](const int64_t* at) {
    const int64_t i = at[y.rank - 1];
    if (x.dtype == DType::kI16)
      return write_integer(
          y, offset_of(y, at),
          int64_t(word_step(a.inputs[1].as<const int16_t>(),
                            x.as<const int16_t>() + offset_of(x, at) - i, x.row_length(), i)));
    const Row row(a.inputs[1], x.as<const uint8_t>() + offset_of(x, at) - i, x.row_length());
    const double step = a.inputs[1].dtype == DType::kF32 ? real_step(t, row, i)
                                                         : fixed_step(row, i, bytes ? 8 : 16);
    const double q = limited(step + t.y_zero, bytes ? 0 : -32768, bytes ? 255 : 32767);
    write_integer(y, offset_of(y, at), int64_t(q));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
