// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/reduce.cpp - reductions over any set of dimensions, arg-reductions over one.
#include "runtime/op/reduce.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

/// Calls fn(offset in x) for every element that is reduced into the output at `kept`, which has x's
/// rank.
template <class Fn>
void for_each_reduced(const TensorView& x, uint32_t axes, const int64_t* kept, Fn fn) {
  int64_t dims[kMaxRank] = {};
  for (int i = 0; i < x.rank; i++) dims[i] = (axes >> i & 1) ? int64_t{x.dims[i]} : 1;
  for_each_index(dims, x.rank, [&](const int64_t* index) {
    int64_t at[kMaxRank];
    for (int i = 0; i < x.rank; i++) at[i] = kept[i] + index[i];
    fn(offset_of(x, at));
  });
}

double reduce_real(ReduceKind kind, const TensorView& x, uint32_t axes, const int64_t* kept) {
  double sum = 0, product = 1, top = -INFINITY, bottom = INFINITY, count = 0;
  for_each_reduced(x, axes, kept, [&](int64_t at) {
    const double v = read(x, at);
    switch (kind) {
      case ReduceKind::kL1: sum += std::fabs(v); break;
      case ReduceKind::kL2:
      case ReduceKind::kSumSquare: sum += v * v; break;
      default: sum += v; break;
    }
    product *= v;
    top = top > v || std::isnan(top) ? top : v;
    bottom = bottom < v || std::isnan(bottom) ? bottom : v;
    count++;
  });
  switch (kind) {
    case ReduceKind::kMean: return sum / count;
    case ReduceKind::kMax: return top;
    case ReduceKind::kMin: return bottom;
    case ReduceKind::kProd: return product;
    case ReduceKind::kL2: return std::sqrt(sum);
    case ReduceKind::kLogSum: return std::log(sum);
    case ReduceKind::kLogSumExp: {
      double exponentials = 0;
      if (std::isinf(top)) top = 0;  // the sum says infinity, or NaN
      for_each_reduced(x, axes, kept,
                       [&](int64_t at) { exponentials += std::exp(read(x, at) - top); });
      return top + std::log(exponentials);
    }
    default: return sum;
  }
}

/// The extreme values of an integer type: what an empty max or min gives.
int64_t smallest_of(DType t) {
  switch (t) {
    case DType::kI8: return INT8_MIN;
    case DType::kI16: return INT16_MIN;
    case DType::kI32: return INT32_MIN;
    case DType::kI64: return INT64_MIN;
    default: return 0;
  }
}
int64_t largest_of(DType t) {
  switch (t) {
    case DType::kI8: return INT8_MAX;
    case DType::kU8: return UINT8_MAX;
    case DType::kI16: return INT16_MAX;
    case DType::kU16: return UINT16_MAX;
    case DType::kI32: return INT32_MAX;
    case DType::kU32: return UINT32_MAX;
    case DType::kU64: return -1;
    case DType::kBool: return 1;
    default: return INT64_MAX;
  }
}

int64_t reduce_whole(ReduceKind kind, const TensorView& x, uint32_t axes, const int64_t* kept) {
  const bool is_unsigned = x.dtype == DType::kU64;
  uint64_t sum = 0, product = 1;
  int64_t top = smallest_of(x.dtype), bottom = largest_of(x.dtype), count = 0;
  for_each_reduced(x, axes, kept, [&](int64_t at) {
    const int64_t v = read_integer(x, at);
    const auto less = [&](int64_t a, int64_t b) {
      return is_unsigned ? uint64_t(a) < uint64_t(b) : a < b;
    };
    switch (kind) {
      case ReduceKind::kL1: sum += !is_unsigned && v < 0 ? 0 - uint64_t(v) : uint64_t(v); break;
      case ReduceKind::kL2:
      case ReduceKind::kSumSquare: sum += uint64_t(v) * uint64_t(v); break;
      default: sum += uint64_t(v); break;
    }
    product *= uint64_t(v);
    if (less(top, v)) top = v;
    if (less(v, bottom)) bottom = v;
    count++;
  });
  switch (kind) {
    case ReduceKind::kMean:
      return count == 0 ? 0 : is_unsigned ? int64_t(sum / uint64_t(count)) : int64_t(sum) / count;
    case ReduceKind::kMax: return top;
    case ReduceKind::kMin: return bottom;
    case ReduceKind::kProd: return int64_t(product);
    case ReduceKind::kL2: return int64_t(std::sqrt(double(sum)));
    default: return int64_t(sum);
  }
}

/// Calls fn(coordinates in x with 0 where reduced, number of the output) for every output.
template <class Fn>
void for_each_output(const TensorView& x, uint32_t axes, Fn fn) {
  int64_t dims[kMaxRank] = {}, n = 0;
  for (int i = 0; i < x.rank; i++) dims[i] = (axes >> i & 1) ? 1 : int64_t{x.dims[i]};
  for_each_index(dims, x.rank, [&](const int64_t* kept) { fn(kept, n++); });
}

}  // namespace

Status reduce(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const ReduceAttributes& t = a.as<ReduceAttributes>();
  for_each_output(x, t.axes, [&](const int64_t* kept, int64_t n) {
    if (is_integer(x.dtype))
      write_integer(y, n, reduce_whole(t.kind, x, t.axes, kept));
    else
      write(y, n, reduce_real(t.kind, x, t.axes, kept));
  });
  return {};
}

Status arg_reduce(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const ArgReduceAttributes& t = a.as<ArgReduceAttributes>();
  for_each_output(x, 1u << t.axis, [&](const int64_t* kept, int64_t n) {
    int64_t best = 0, best_at = -1, j = 0;
    for_each_reduced(x, 1u << t.axis, kept, [&](int64_t at) {
      bool better = best_at < 0, equal = false;
      if (best_at >= 0) {
        const double v = read(x, at), b = read(x, best_at);
        better = t.largest ? v > b : v < b;
        equal = v == b;
        if (x.dtype == DType::kI64) {
          const int64_t iv = read_integer(x, at), ib = read_integer(x, best_at);
          better = t.largest ? iv > ib : iv < ib, equal = iv == ib;
        } else if (x.dtype == DType::kU64) {
          const uint64_t iv = uint64_t(read_integer(x, at)),
                         ib = uint64_t(read_integer(x, best_at));
          better = t.largest ? iv > ib : iv < ib, equal = iv == ib;
        }
      }
      if (better || (equal && t.select_last)) best = j, best_at = at;
      j++;
    });
    write_integer(y, n, best);
  });
  return {};
}

}  // namespace ingot::cpu::oracle
