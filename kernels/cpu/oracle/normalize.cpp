// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/normalize.cpp - y = (x - mean) / sqrt(variance + epsilon) * scale + bias; rms:
// y = x / sqrt(mean of squares + epsilon).
#include "runtime/op/normalize.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

struct Statistics {
  double mean, inverse;
};

/// Whether the element at `index` shares its statistics with the one at `origin`.
bool same_set(const NormalizeAttributes& t, const TensorType& x, const int64_t* index,
              const int64_t* origin) {
  if (t.kind == NormKind::kLayer || t.kind == NormKind::kRms) {
    for (int i = 0; i < int(t.axis); i++)
      if (index[i] != origin[i]) return false;
    return true;
  }
  const int64_t channels = x.row_length(),
                size = t.kind == NormKind::kGroup ? channels / t.groups : 1;
  return index[0] == origin[0] && index[x.rank - 1] / size == origin[x.rank - 1] / size;
}

Statistics statistics(const NormalizeAttributes& t, const TensorView& x, const int64_t* origin) {
  double sum = 0, squares = 0, count = 0;
  for_each_index(x, [&](const int64_t* index) {
    if (same_set(t, x, index, origin)) sum += read(x, offset_of(x, index)), count++;
  });
  const double mean = t.kind == NormKind::kRms ? 0 : sum / count;
  for_each_index(x, [&](const int64_t* index) {
    if (!same_set(t, x, index, origin)) return;
    const double d = read(x, offset_of(x, index)) - mean;
    squares += d * d;
  });
  return {mean, 1 / std::sqrt(squares / count + double(t.epsilon))};
}

/// Whether the element is the first of its set in row-major order.
bool is_origin(const NormalizeAttributes& t, const TensorType& x, const int64_t* index) {
  const bool rows = t.kind == NormKind::kLayer || t.kind == NormKind::kRms;
  for (int i = rows ? int(t.axis) : 1; i < (rows ? int(x.rank) : x.rank - 1); i++)
    if (index[i] != 0) return false;
  return rows ||
         index[x.rank - 1] % (t.kind == NormKind::kGroup ? x.row_length() / t.groups : 1) == 0;
}

/// Number of the element within what scale and bias cover.
int64_t parameter_of(const NormalizeAttributes& t, const TensorType& x, const int64_t* index) {
  if (t.kind == NormKind::kInstance || t.kind == NormKind::kGroup) return index[x.rank - 1];
  int64_t n = 0;
  for (int i = int(t.axis); i < x.rank; i++) n = n * x.dims[i] + index[i];
  return n;
}

}  // namespace

Status normalize(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const NormalizeAttributes& t = a.as<NormalizeAttributes>();
  const TensorView *scale = a.optional(1), *bias = a.optional(2);
  // Set by set, since y may overwrite x.
  for_each_index(y, [&](const int64_t* origin) {
    if (!is_origin(t, x, origin)) return;
    const Statistics s = statistics(t, x, origin);
    for_each_index(y, [&](const int64_t* index) {
      if (!same_set(t, x, index, origin)) return;
      const int64_t p = parameter_of(t, x, index);
      double value = (read(x, offset_of(x, index)) - s.mean) * s.inverse;
      if (scale) value *= read(*scale, p);
      if (bias) value += read(*bias, p);
      write(y, offset_of(y, index), value);
    });
  });
  return {};
}

}  // namespace ingot::cpu::oracle
