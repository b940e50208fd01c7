// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/reduce/reduce_wide.inl - Reduce of every type but f32, and ArgReduce: one element at
// a time in the same order, f16 and bf16 in float, whole numbers in 64 bits that wrap.
#pragma once
#include <type_traits>

#include "kernels/cpu/reduce/reduce.inl"
#include "kernels/cpu/reduce/wide_fold.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

/// One output whose first element is `at`.
template <class T>
T fold_wide(const WideFold<T>& fold, const ReducePlan& p, const TensorView& x, int64_t at) {
  const int64_t bytes = dtype_bytes(x.dtype);
  const char* base = x.as<const char>() + at * bytes;
  if (p.positions == 0) return fold.start;
  if (!p.last_reduced) {
    T sum = fold.start;
    for_each_position(p.reduced, [&](int64_t offset) {
      T element;
      load_block<T>(x.dtype, base + offset * bytes, 1, &element);
      sum = fold.step(sum, element);
    });
    return sum;
  }
  T lanes[kPanel];
  for (T& lane : lanes) lane = fold.start;
  for_each_position(p.reduced, [&](int64_t offset) {
    for (int64_t i = 0; i < p.length; i += kPanel) {
      T elements[kPanel];
      const int64_t n = least_of(kPanel, p.length - i);
      load_block<T>(x.dtype, base + (offset + i) * bytes, n, elements);
      for (int64_t k = 0; k < n; k++) lanes[k] = fold.step(lanes[k], elements[k]);
    }
  });
  for (int half = kPanel / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++) lanes[k] = fold.join(lanes[k], lanes[k + half]);
  return lanes[0];
}

/// Sums of whole numbers down the columns of rows, outputs [mine).
inline void sum_columns(const ReducePlan& p, const OpArguments& a, Part mine) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const int64_t bytes = dtype_bytes(x.dtype);
  constexpr int64_t kColumns = 64;
  int64_t sums[kColumns], loaded[kColumns];
  for (int64_t i = mine.begin, n = 0; i < mine.end; i += n) {
    const int64_t column = i % p.length;
    n = least_of(kColumns, least_of(p.length - column, mine.end - i));
    const char* const from =
        x.as<const char>() + (kept_offset(p.kept, i / p.length) + column) * bytes;
    std::memset(sums, 0, sizeof sums);
    for_each_position(p.reduced, [&](int64_t offset) {
      const int64_t* row = reinterpret_cast<const int64_t*>(from + offset * bytes);
      if (x.dtype != DType::kI64)
        load_block<int64_t>(x.dtype, from + offset * bytes, n, loaded), row = loaded;
      fill_each(n, sums,
                [&sums, row](int64_t k) { return WideFold<int64_t>::add(sums[k], row[k]); });
    });
    store_block<int64_t>(y.dtype, sums, n, y.as<char>() + i * dtype_bytes(y.dtype));
  }
}

template <class T>
void reduce_wide(const ReducePlan& p, const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const ReduceKind kind = a.as<ReduceAttributes>().kind;
  const int64_t columns = p.last_reduced ? 1 : p.length,
                count = p.positions * (p.last_reduced ? p.length : 1);
  const Part mine = part_of(team, p.outputs * columns, 16, most_of(1, 4096 / most_of(1, count)));
  if constexpr (dtype_of<T>() == DType::kI64)
    if (kind == ReduceKind::kSum && !p.last_reduced && p.positions > 0)
      return sum_columns(p, a, mine);
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const int64_t at = kept_offset(p.kept, i / columns) + i % columns;
    WideFold<T> fold(kind, x.dtype);
    if constexpr (WideFold<T>::kReal) {
      if (kind == ReduceKind::kLogSumExp) {
        const T top = fold_wide(WideFold<T>(ReduceKind::kMax, x.dtype), p, x, at);
        fold.shift = fabs(double(top)) < __builtin_inf() ? top : T(0);
      }
    }
    const T result = fold.finish(fold_wide(fold, p, x, at), count);
    store_block<T>(y.dtype, &result, 1, y.as<char>() + i * dtype_bytes(y.dtype));
  }
}

template <class V>
Status reduce(const OpArguments& a, const Team& team) {
  const TensorView& x = a.inputs[0];
  const ReducePlan p = make_reduce_plan(x, a.as<ReduceAttributes>().axes);
  if (a.outputs[0].elements() == 0) return {};
  switch (x.dtype) {
    case DType::kF32:
      if (p.positions == 0)
        reduce_wide<float>(p, a, team);  // nothing to read: the start values
      else
        reduce_f32<V>(p, a, team);
      break;
    case DType::kF16:
    case DType::kBF16: reduce_wide<float>(p, a, team); break;
    case DType::kF64: reduce_wide<double>(p, a, team); break;
    case DType::kU64: reduce_wide<uint64_t>(p, a, team); break;
    default: reduce_wide<int64_t>(p, a, team); break;
  }
  return {};
}

/// Elements compare as T; they are stored as Element, or as `dtype` says where that is void.
template <class T, class Element = T>
int64_t best_index(const TensorView& x, int64_t at, int64_t n, int64_t stride,
                   const ArgReduceAttributes& t) {
  const int64_t bytes = dtype_bytes(x.dtype);
  const char* p = x.as<const char>() + at * bytes;
  const auto element_at = [&](int64_t i) {
    if constexpr (std::is_void_v<Element>) {
      T element;
      load_block<T>(x.dtype, p + i * stride * bytes, 1, &element);
      return element;
    } else {
      Element element;
      std::memcpy(&element, p + i * stride * int64_t(sizeof element), sizeof element);
      return T(element);
    }
  };
  T best = element_at(0);
  int64_t index = 0;
  for (int64_t i = 1; i < n; i++) {
    const T element = element_at(i);
    const bool better = t.largest ? element > best : element < best;
    if (better || (t.select_last && element == best)) best = element, index = i;
  }
  return index;
}

/// The same of bytes without a branch, which would be guessed wrong: the place goes behind the
/// element, so that the largest of both is the answer. @pre n <= 65536
template <class Element>
int64_t best_byte(const TensorView& x, int64_t at, int64_t n, int64_t stride,
                  const ArgReduceAttributes& t) {
  constexpr int32_t kPlaces = 65536;
  const Element* const p = x.as<const Element>() + at;
  const int32_t turned = t.largest ? 0 : -1, backwards = t.select_last ? 0 : kPlaces - 1;
  int32_t best = INT32_MIN;
  for (int32_t i = 0; i < int32_t(n); i++) {
    const int32_t key = (int32_t(p[i * stride]) ^ turned) * kPlaces + (i ^ backwards);
    best = key > best ? key : best;
  }
  return (best & (kPlaces - 1)) ^ backwards;
}
template <class Element>
int64_t best_of_bytes(const TensorView& x, int64_t at, int64_t n, int64_t stride,
                      const ArgReduceAttributes& t) {
  return n <= 65536 ? best_byte<Element>(x, at, n, stride, t)
                    : best_index<int32_t, Element>(x, at, n, stride, t);
}

template <class V>
Status arg_reduce(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const ArgReduceAttributes& t = a.as<ArgReduceAttributes>();
  if (y.elements() == 0) return {};
  const int axis = int(t.axis);
  const int64_t n = x.dims[axis], stride = stride_of(x, axis);
  Move kept;
  for (int i = 0; i < x.rank; i++)
    if (i != axis) kept.push(x.dims[i], stride_of(x, i), 1);
  const Part mine = part_of(team, y.elements(), 1, most_of(1, 4096 / n));
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const int64_t at = kept_offset(kept, i);
    int64_t index = 0;
    switch (x.dtype) {
      case DType::kF32: index = best_index<float>(x, at, n, stride, t); break;
      case DType::kF16:
      case DType::kBF16: index = best_index<float, void>(x, at, n, stride, t); break;
      case DType::kF64: index = best_index<double>(x, at, n, stride, t); break;
      case DType::kU64: index = best_index<uint64_t>(x, at, n, stride, t); break;
      case DType::kI64: index = best_index<int64_t>(x, at, n, stride, t); break;
      case DType::kU8: index = best_of_bytes<uint8_t>(x, at, n, stride, t); break;
      case DType::kI8: index = best_of_bytes<int8_t>(x, at, n, stride, t); break;
      default: index = best_index<int64_t, void>(x, at, n, stride, t); break;
    }
    store_block<int64_t>(y.dtype, &index, 1, y.as<char>() + i * dtype_bytes(y.dtype));
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
