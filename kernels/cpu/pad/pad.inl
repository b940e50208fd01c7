// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/pad/pad.inl - Pad: row by row of the output, filled, or copied with its two ends.
// Contract: runtime/op/pad.h.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "kernels/cpu/elementwise/convert.inl"
#include "runtime/op/pad.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// Source position for output position `at`; -1 where a constant goes.
inline int64_t pad_source(PadMode mode, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  switch (mode) {
    case PadMode::kConstant: return -1;
    case PadMode::kReflect: return at < 0 ? -at : 2 * (extent - 1) - at;
    case PadMode::kEdge: return at < 0 ? 0 : extent - 1;
    case PadMode::kWrap: return at < 0 ? at + extent : at - extent;
  }
  return -1;
}

inline void fill_elements(char* to, const char* element, int64_t n, int64_t bytes) {
  if (n <= 0) return;
  bool uniform = true;
  for (int64_t i = 1; i < bytes; i++) uniform = uniform && element[i] == element[0];
  if (uniform)
    std::memset(to, element[0], size_t(n * bytes));
  else
    move_elements(element, to, n, 0, 1, bytes);
}

template <class V>
Status pad(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const PadAttributes& t = a.as<PadAttributes>();
  const int64_t bytes = dtype_bytes(x.dtype);
  char element[8] = {};
  if (const TensorView* value = a.optional(1))
    std::memcpy(element, value->data, size_t(bytes));
  else
    store_block<float>(x.dtype, &t.value, 1, element);
  const int last = x.rank - 1;
  const int64_t length = y.row_length(), extent = x.row_length(),
                before = x.rank ? t.before[last] : 0;
  // Output columns [left, right) are copied straight.
  const int64_t left = least_of(most_of(before, 0), length),
                right = most_of(left, least_of(length, before + extent));
  if (length == 0) return {};
  const Part mine = part_of(team, y.rows(), 1, most_of(1, 16384 / (length * bytes)));
  for (int64_t row = mine.begin; row < mine.end; row++) {
    int64_t rest = row, source = 0, step = 1;
    for (int i = last - 1; i >= 0 && source >= 0; i--) {
      const int64_t at = pad_source(t.mode, rest % y.dims[i] - t.before[i], x.dims[i]);
      rest /= y.dims[i];
      source = at < 0 ? -1 : source + at * step;
      step *= x.dims[i];
    }
    char* to = y.as<char>() + row * y.row_stride * bytes;
    if (source < 0) {
      fill_elements(to, element, length, bytes);
      continue;
    }
    const char* from = x.as<const char>() + source * x.row_stride * bytes;
    if (right > left)
      std::memcpy(to + left * bytes, from + (left - before) * bytes,
                  size_t((right - left) * bytes));
    if (t.mode == PadMode::kConstant) {
      fill_elements(to, element, left, bytes);
      fill_elements(to + right * bytes, element, length - right, bytes);
      continue;
    }
    const auto place = [&](int64_t j) {
      std::memcpy(to + j * bytes, from + pad_source(t.mode, j - before, extent) * bytes,
                  size_t(bytes));
    };
    for (int64_t j = 0; j < left; j++) place(j);
    for (int64_t j = right; j < length; j++) place(j);
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
