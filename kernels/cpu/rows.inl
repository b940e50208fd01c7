// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/rows.inl - rows of a table from the lists of kernels, each with the decoder of its
// attributes. Constant data: no code runs before main.
#pragma once
#include "runtime/op/decoders.h"

namespace ingot::cpu {
namespace {

template <uint32_t count>
struct Rows {
  static constexpr uint32_t kCount = count;
  KernelEntry rows[count] = {};
};

/// Of lists that each end with an empty row, so that one may be empty.
template <uint32_t... counts>
constexpr Rows<(... + (counts - 1))> rows_of(const KernelEntry (&... lists)[counts]) {
  Rows<(... + (counts - 1))> all;
  uint32_t next = 0;
  const auto append = [&](const KernelEntry* list, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) all.rows[next++] = with_decoder(list[i]);
  };
  (append(lists, counts - 1), ...);
  return all;
}

}  // namespace
}  // namespace ingot::cpu
