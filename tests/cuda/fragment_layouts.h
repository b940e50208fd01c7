// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fragment_layouts.h - where the elements of mma.sync lie in the registers of a warp, as
// the PTX ISA states it.
#pragma once

namespace ingot::test {

/// Element i of a lane's fragment; i counts elements in their registers, lowest bits first.
struct Place {
  int row, column;
};

/// One shape of mma.sync, in the words of the PTX ISA: groupID = lane >> 2, threadID_in_group =
/// lane % 4.
struct Layout {
  const char* name;
  int k;
  Place (*a)(int lane, int i);  // row, k
  Place (*b)(int lane, int i);  // k, column
};
inline Place place_d(int lane, int i) {
  return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)};
}

inline constexpr Layout kM16N8K16 = {
    "m16n8k16", 16,
    [](int lane, int i) {
      const int row = (i < 2 || (i >= 4 && i < 6)) ? lane >> 2 : (lane >> 2) + 8;
      return Place{row, i < 4 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8};
    },
    [](int lane, int i) {
      return Place{i < 2 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8, lane >> 2};
    }};
inline constexpr Layout kM16N8K8Half = {
    "m16n8k8 of 16 bits", 8,
    [](int lane, int i) {
      return Place{i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)};
    },
    [](int lane, int i) {
      return Place{lane % 4 * 2 + i, lane >> 2};
    }};
inline constexpr Layout kM16N8K8 = {
    "m16n8k8 of tf32", 8,
    [](int lane, int i) {
      return Place{i == 0 || i == 2 ? lane >> 2 : (lane >> 2) + 8, i < 2 ? lane % 4 : lane % 4 + 4};
    },
    [](int lane, int i) {
      return Place{i == 0 ? lane % 4 : lane % 4 + 4, lane >> 2};
    }};
inline constexpr Layout kM16N8K32 = {
    "m16n8k32", 32,
    [](int lane, int i) {
      const int row = (i < 4 || (i >= 8 && i < 12)) ? lane >> 2 : (lane >> 2) + 8;
      return Place{row, i < 8 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16};
    },
    [](int lane, int i) {
      return Place{i < 4 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16, lane >> 2};
    }};
inline constexpr Layout kM16N8K16Bytes = {
    "m16n8k16 of bytes", 16,
    [](int lane, int i) {
      return Place{i < 4 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 4 + (i & 3)};
    },
    [](int lane, int i) {
      return Place{lane % 4 * 4 + i, lane >> 2};
    }};

}  // namespace ingot::test
