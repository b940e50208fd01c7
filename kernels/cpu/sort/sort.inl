// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/sort/sort.inl - TopK by a heap of the k best indices, CumSum by one chain. Contract:
// runtime/op/sort.h.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "kernels/cpu/elementwise/convert.inl"
#include "runtime/op/sort.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// The elements of one line along the axis.
template <class T>
struct Line {
  const char* base;
  DType dtype;
  int64_t step_bytes;
  bool largest;

  T at(int64_t i) const {
    T element;
    if (dtype == dtype_of<T>())
      std::memcpy(&element, base + i * step_bytes, sizeof(T));
    else
      load_block<T>(dtype, base + i * step_bytes, 1, &element);
    return element;
  }
  /// Total order, NaN above all numbers; equal ones by the lower index.
  bool before(int64_t i, int64_t j) const {
    const T a = at(i), b = at(j);
    const bool up = a > b || (a != a && b == b), down = b > a || (b != b && a == a);
    if (up || down) return largest ? up : down;
    return i < j;
  }
};

/// Sinks heap[i]; the root is the worst of the k best.
template <class T>
void sink(const Line<T>& line, int64_t* heap, int64_t i, int64_t n) {
  for (;;) {
    int64_t worst = i;
    for (int64_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
      if (line.before(heap[worst], heap[child])) worst = child;
    if (worst == i) return;
    const int64_t moved = heap[i];
    heap[i] = heap[worst];
    heap[worst] = moved;
    i = worst;
  }
}

template <class T>
void topk_line(const Line<T>& line, int64_t n, int64_t k, int64_t* heap) {
  for (int64_t i = 0; i < k; i++) heap[i] = i;
  for (int64_t i = k / 2; i-- > 0;) sink(line, heap, i, k);
  for (int64_t i = k; i < n; i++) {
    if (!line.before(i, heap[0])) continue;
    heap[0] = i;
    sink(line, heap, 0, k);
  }
  for (int64_t end = k - 1; end > 0; end--) {  // best first
    const int64_t moved = heap[0];
    heap[0] = heap[end];
    heap[end] = moved;
    sink(line, heap, 0, end);
  }
}

template <class V>
Status topk(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &values = a.outputs[0], &indices = a.outputs[1];
  const TopKAttributes& t = a.as<TopKAttributes>();
  const int axis = int(t.axis);
  const int64_t n = x.dims[axis], k = values.dims[axis], bytes = dtype_bytes(x.dtype);
  if (values.elements() == 0) return {};
  const int64_t inner = stride_of(x, axis), lines = x.elements() / n;
  int64_t* heap = static_cast<int64_t*>(team.scratch);
  const Part mine = part_of(team, lines, 1, most_of(1, 512 / n));
  for (int64_t l = mine.begin; l < mine.end; l++) {
    const int64_t outer = l / inner, column = l % inner;
    const char* base = x.as<const char>() + (outer * n * inner + column) * bytes;
    const auto run = [&](auto zero) {
      topk_line(Line<decltype(zero)>{base, x.dtype, inner * bytes, t.largest}, n, k, heap);
    };
    switch (x.dtype) {
      case DType::kF32:
      case DType::kF16:
      case DType::kBF16: run(0.0f); break;
      case DType::kF64: run(0.0); break;
      case DType::kU64: run(uint64_t{0}); break;
      default: run(int64_t{0}); break;
    }
    for (int64_t i = 0; i < k; i++) {
      const int64_t to = (outer * k + i) * inner + column;
      std::memcpy(values.as<char>() + to * bytes, base + heap[i] * inner * bytes, size_t(bytes));
      indices.as<int64_t>()[to] = heap[i];
    }
  }
  return {};
}

template <class T>
void cumsum_line(const TensorView& x, const TensorView& y, int64_t at, int64_t n, int64_t stride,
                 const CumSumAttributes& t) {
  const int64_t bytes = dtype_bytes(x.dtype);
  T sum = T(0);
  for (int64_t i = 0; i < n; i++) {
    const int64_t offset = (at + (t.reverse ? n - 1 - i : i) * stride) * bytes;
    T element;
    load_block<T>(x.dtype, x.as<const char>() + offset, 1, &element);
    T next;
    if constexpr (T(0.5) == T(0))
      next = T(uint64_t(sum) + uint64_t(element));
    else
      next = sum + element;
    store_block<T>(y.dtype, t.exclusive ? &sum : &next, 1, y.as<char>() + offset);
    sum = next;
  }
}

template <class V>
Status cumsum(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const CumSumAttributes& t = a.as<CumSumAttributes>();
  const int axis = int(t.axis);
  const int64_t n = x.dims[axis], inner = stride_of(x, axis);
  if (x.elements() == 0) return {};
  const Part mine = part_of(team, x.elements() / n, 1, most_of(1, 1024 / n));
  for (int64_t l = mine.begin; l < mine.end; l++) {
    const int64_t at = l / inner * n * inner + l % inner;
    switch (x.dtype) {
      case DType::kF32:
      case DType::kF16:
      case DType::kBF16: cumsum_line<float>(x, y, at, n, inner, t); break;
      case DType::kF64: cumsum_line<double>(x, y, at, n, inner, t); break;
      default: cumsum_line<uint64_t>(x, y, at, n, inner, t); break;
    }
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
