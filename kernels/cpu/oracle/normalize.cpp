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

/// Calls `fn` with the index of each element that shares its statistics with the one at `origin`,
/// the first of them.
template <class Fn>
void for_each_of_set(const NormalizeAttributes& t, const TensorType& x, const int64_t* origin,
                     Fn fn) {
  TensorType set = x;
  if (t.kind == NormKind::kLayer || t.kind == NormKind::kRms) {
    for (int i = 0; i < int(t.axis); i++) set.dims[i] = 1;
  } else {
    set.dims[0] = 1;
    set.dims[x.rank - 1] = t.kind == NormKind::kGroup ? x.row_length() / t.groups : 1;
  }
  for_each_index(set, [&](const int64_t* within) {
    int64_t index[kMaxRank];
    for (int i = 0; i < x.rank; i++) index[i] = origin[i] + within[i];
    fn(static_cast<const int64_t*>(index));
  });
}

Statistics statistics(const NormalizeAttributes& t, const TensorView& x, const int64_t* origin) {
  double sum = 0, squares = 0, count = 0;
  for_each_of_set(t, x, origin,
                  [&](const int64_t* index) { sum += read(x, offset_of(x, index)), count++; });
  const double mean = t.kind == NormKind::kRms ? 0 : sum / count;
  for_each_of_set(t, x, origin, [&](const int64_t* index) {
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
    for_each_of_set(t, x, origin, [&](const int64_t* index) {
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
