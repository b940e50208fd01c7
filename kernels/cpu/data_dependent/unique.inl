// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/data_dependent/unique.inl - items sorted by a heap of their indices; equal ones then
// lie together, the first of a kind first. Contract: runtime/op/data_dependent.h. One member works.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "kernels/cpu/elementwise/convert.inl"
#include "runtime/op/data_dependent.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// m items: element (o, k) of item i lies at o * m * inner + i * inner + k.
template <class T>
struct Items {
  const TensorView& x;
  int64_t m, outer, inner;

  T element(int64_t at) const {
    T value;
    if (x.dtype == dtype_of<T>())
      std::memcpy(&value, x.as<const char>() + at * int64_t(sizeof(T)), sizeof(T));
    else
      load_block<T>(x.dtype, x.as<const char>() + at * dtype_bytes(x.dtype), 1, &value);
    return value;
  }
  /// Below 0, 0, above 0; NaN equals NaN and is above all numbers.
  int compare(int64_t i, int64_t j) const {
    for (int64_t o = 0; o < outer; o++)
      for (int64_t k = 0; k < inner; k++) {
        const T a = element((o * m + i) * inner + k), b = element((o * m + j) * inner + k);
        if (a > b || (a != a && b == b)) return 1;
        if (b > a || (b != b && a == a)) return -1;
      }
    return 0;
  }
  bool after(int64_t i, int64_t j) const {
    const int c = compare(i, j);
    return c > 0 || (c == 0 && i > j);
  }
};

/// Sorts `order` ascending where after(a, b) says that a comes behind b.
template <class After>
void heap_sort(int64_t* order, int64_t count, After after) {
  const auto sink = [&](int64_t i, int64_t n) {
    for (;;) {
      int64_t last = i;
      for (int64_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
        if (after(order[child], order[last])) last = child;
      if (last == i) return;
      const int64_t moved = order[i];
      order[i] = order[last];
      order[last] = moved;
      i = last;
    }
  };
  for (int64_t i = count / 2; i-- > 0;) sink(i, count);
  for (int64_t end = count - 1; end > 0; end--) {
    const int64_t moved = order[0];
    order[0] = order[end];
    order[end] = moved;
    sink(0, end);
  }
}

struct Kinds {
  int64_t* order;   // items, equal ones together
  int64_t* begin;   // by kind: its first place in `order`
  int64_t* sorted;  // kinds in the order in which they are given
  int64_t n;
};

template <class T>
Kinds find_kinds(const Items<T>& items, bool is_sorted, int64_t* scratch) {
  Kinds kinds{scratch, scratch + items.m, scratch + 2 * items.m, 0};
  for (int64_t i = 0; i < items.m; i++) kinds.order[i] = i;
  heap_sort(kinds.order, items.m, [&](int64_t i, int64_t j) { return items.after(i, j); });
  for (int64_t i = 0; i < items.m; i++)
    if (i == 0 || items.compare(kinds.order[i - 1], kinds.order[i]) != 0)
      kinds.begin[kinds.n++] = i;
  for (int64_t k = 0; k < kinds.n; k++) kinds.sorted[k] = k;
  if (!is_sorted)
    heap_sort(kinds.sorted, kinds.n, [&](int64_t i, int64_t j) {
      return kinds.order[kinds.begin[i]] > kinds.order[kinds.begin[j]];
    });
  return kinds;
}

template <class T>
void unique_of(const OpArguments& a, const Items<T>& items, int64_t* scratch) {
  const Kinds kinds = find_kinds(items, a.as<UniqueAttributes>().sorted, scratch);
  const int64_t n = kinds.n, bytes = dtype_bytes(items.x.dtype) * items.inner;
  *a.outputs[4].as<int64_t>() = n;
  for (int64_t at = 0; at < n; at++) {
    const int64_t kind = kinds.sorted[at], begin = kinds.begin[kind], first = kinds.order[begin];
    const int64_t end = kind + 1 < n ? kinds.begin[kind + 1] : items.m;
    if (a.outputs[0].present())
      for (int64_t o = 0; o < items.outer; o++)
        std::memcpy(a.outputs[0].as<char>() + (o * n + at) * bytes,
                    items.x.template as<const char>() + (o * items.m + first) * bytes,
                    size_t(bytes));
    if (a.outputs[1].present()) a.outputs[1].as<int64_t>()[at] = first;
    if (a.outputs[3].present()) a.outputs[3].as<int64_t>()[at] = end - begin;
    if (!a.outputs[2].present()) continue;
    for (int64_t i = begin; i < end; i++) a.outputs[2].as<int64_t>()[kinds.order[i]] = at;
  }
}

template <class V>
Status unique(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView& x = a.inputs[0];
  const UniqueAttributes& t = a.as<UniqueAttributes>();
  int64_t outer = 1, inner = 1;
  for (int i = 0; !t.flat && i < x.rank; i++)
    (i < int(t.axis) ? outer : inner) *= i == int(t.axis) ? 1 : int64_t{x.dims[i]};
  const int64_t m = t.flat ? x.elements() : int64_t{x.dims[t.axis]};
  int64_t* scratch = static_cast<int64_t*>(team.shared);
  switch (x.dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: unique_of(a, Items<float>{x, m, outer, inner}, scratch); break;
    case DType::kF64: unique_of(a, Items<double>{x, m, outer, inner}, scratch); break;
    case DType::kU64: unique_of(a, Items<uint64_t>{x, m, outer, inner}, scratch); break;
    default: unique_of(a, Items<int64_t>{x, m, outer, inner}, scratch); break;
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
