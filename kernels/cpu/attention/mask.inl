// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/attention/mask.inl - the mask of one query over one block of keys, as floats to add.
#pragma once
#include "kernels/cpu/gemm/tile.inl"
#include "runtime/op/attention_blocks.h"

namespace ingot::cpu {
namespace {

/// A mask operand broadcast to [B, heads, Tq, Tk]: elements between neighbours of each dimension, 0
/// where it is broadcast.
struct MaskView {
  const void* elements = nullptr;  // null: no mask
  bool is_bool = false;
  int64_t stride[4] = {};

  /// That of batch b alone; `joined`: of the batches from b on, each of which is a query.
  MaskView from_batch(int64_t b, bool joined) const {
    MaskView m = *this;
    if (elements)
      m.elements = static_cast<const uint8_t*>(elements) + b * stride[0] * (is_bool ? 1 : 4);
    m.stride[0] = 0;
    if (joined) m.stride[2] = stride[0];
    return m;
  }
};

inline MaskView mask_view(const TensorView* mask) {
  MaskView m;
  if (!mask) return m;
  m.elements = mask->data, m.is_bool = mask->dtype == DType::kBool;
  int64_t step = mask->row_stride;
  for (int i = 0; i < mask->rank; i++) {
    const int64_t extent = mask->dims[mask->rank - 1 - i];
    if (extent > 1) m.stride[3 - i] = i == 0 ? 1 : step;
    if (i > 0) step *= extent;
  }
  return m;
}

/// Rows of one mask, made where they do not lie in memory as floats. One a thread; `room` holds a
/// block of keys.
struct MaskRows {
  MaskView mask;
  float* room = nullptr;
  float hidden = -__builtin_inff();  // for a key that a bool hides
  const void* made_from = nullptr;   // what `room` holds or was looked through,
  // and how much of it: queries of causal order do not all read as many keys
  int64_t made_count = 0;
  bool adds = true;  // one of these numbers is not zero

  /// `count` numbers to add to the scores of query i from key j on, or null where there is nothing
  /// to add: rows that queries share are looked through for that.
  const float* row(int64_t b, int64_t h, int64_t i, int64_t j, int64_t count) {
    if (!mask.elements) return nullptr;
    const int64_t at =
        b * mask.stride[0] + h * mask.stride[1] + i * mask.stride[2] + j * mask.stride[3];
    if (!mask.is_bool && mask.stride[3] == 1) {
      const float* row = static_cast<const float*>(mask.elements) + at;
      if (mask.stride[2] != 0) return row;
      if (row == made_from && count <= made_count) return adds ? row : nullptr;
      made_from = row, made_count = count;
      return note_zeros(row) ? row : nullptr;
    }
    const void* from =
        mask.is_bool ? static_cast<const void*>(static_cast<const uint8_t*>(mask.elements) + at)
                     : static_cast<const void*>(static_cast<const float*>(mask.elements) + at);
    if (from == made_from && count <= made_count) return adds ? room : nullptr;
    made_from = from, made_count = count;
    if (mask.is_bool) {
      const auto* seen = static_cast<const uint8_t*>(from);
      for (int64_t k = 0; k < count; k++) room[k] = seen[k * mask.stride[3]] ? 0.0f : hidden;
    } else {
      const float x = *static_cast<const float*>(from);
      for (int64_t k = 0; k < count; k++) room[k] = x;
    }
    return note_zeros(room) ? room : nullptr;
  }

 private:
  /// A zero that is added changes at most the sign of a zero, which exponentials do not see.
  bool note_zeros(const float* row) {
    int64_t zeros = 0;
    while (zeros < made_count && row[zeros] == 0) zeros++;
    return adds = zeros < made_count;
  }
};

}  // namespace
}  // namespace ingot::cpu
