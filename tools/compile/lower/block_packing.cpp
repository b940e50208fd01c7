// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/lower/block_packing.h"

#include <stdexcept>

#include "runtime/base/checked_math.h"

namespace ingot {
namespace {

/// Moves bits of a block of one output into its panel's block, or back. Both begin as zeros.
template <class Source, class Panel>
struct Mover {
  BlockFormat f;
  Source* block;
  Panel* panel;
  int lane;

  void bits(int from, int from_shift, int to, int to_shift, int width) const {
    const int mask = (1 << width) - 1;
    if constexpr (std::is_const_v<Source>)
      panel[to] = uint8_t(panel[to] | (block[from] >> from_shift & mask) << to_shift);
    else
      block[from] = uint8_t(block[from] | (panel[to] >> to_shift & mask) << from_shift);
  }
  void bytes(int from, int to, int count) const {
    for (int i = 0; i < count; i++) bits(from + i, 0, to + i, 0, 8);
  }

  /// s and m of sub-block j of Q4_K and Q5_K, 6 bits each in 12 bytes.
  void six_bits(int j) const {
    constexpr int kScales = 4;
    const int low = j % 4 * 32 + lane, high = j / 4 * 32 + lane, low_at = j / 4 * 4,
              high_at = j % 4 * 2;
    if (j < 4) {
      bits(kScales + j, 0, 128 + low, low_at, 4), bits(kScales + j, 4, 384 + high, high_at, 2);
      bits(kScales + j + 4, 0, 256 + low, low_at, 4);
      bits(kScales + j + 4, 4, 448 + high, high_at, 2);
    } else {
      bits(kScales + j + 4, 0, 128 + low, low_at, 4),
          bits(kScales + j - 4, 6, 384 + high, high_at, 2);
      bits(kScales + j + 4, 4, 256 + low, low_at, 4), bits(kScales + j, 6, 448 + high, high_at, 2);
    }
  }
  void header() const {
    bytes(f.bits == 6 ? 208 : 0, 2 * lane, 2);
    if (f.has_min) bytes(2, 64 + 2 * lane, 2);
    if (!f.is_super()) return;
    for (int j = 0; j < f.unit / f.sub; j++) {
      if (f.bits == 6)
        bytes(192 + j, 64 + j * 32 + lane, 1);
      else
        six_bits(j);
    }
  }
  void code(int k) const {
    const int group = k % 32 / 4, half = lane / 16, at = lane % 16 * 4 + k % 4;
    const int to = f.header_bytes() + k / 32 * f.code_bytes();
    if (f.bits == 8) return bytes(2 + k, to + (group * 2 + half) * 64 + at, 1);
    // where the block's bits are: of the low ones, and of those above
    const int fifths = f.bits != 5 ? 0 : f.is_super() ? 16 : f.has_min ? 4 : 2;
    int low = f.bytes - f.unit / 2 + k % 16, shift = k / 16 * 4;
    if (f.is_super() && f.bits < 6)
      low = f.bytes - 128 + k / 64 * 32 + k % 32, shift = k % 64 / 32 * 4;
    if (f.bits == 6) low = k / 128 * 64 + k % 64, shift = k % 128 / 64 * 4;
    bits(low, shift, to + (f.bits == 5 ? 128 : 0) + (group % 4 * 2 + half) * 64 + at, group / 4 * 4,
         4);
    if (f.bits == 5) {
      const int bit = to + (group * 2 + half) * 8 + at / 8;
      if (f.is_super())
        bits(fifths + k % 32, k / 32, bit, at % 8, 1);
      else
        bits(fifths + k / 8, k % 8, bit, at % 8, 1);
    }
    if (f.bits == 6)
      bits(128 + k / 128 * 32 + k % 32, k % 128 / 32 * 2,
           to + 512 + (group / 4 * 2 + half) * 64 + at, group % 4 * 2, 2);
  }
  void move() const {
    header();
    for (int k = 0; k < f.unit; k++) code(k);
  }
};

template <class Source, class Panel>
void move_all(BlockType type, Source* rows, int64_t outputs, int64_t row_bytes, Panel* panels) {
  const BlockFormat f = block_format(type);
  const int64_t units = row_bytes / f.bytes;
  for (int64_t o = 0; o < outputs; o++)
    for (int64_t unit = 0; unit < units; unit++)
      Mover<Source, Panel>{f, rows + o * row_bytes + unit * f.bytes,
                           panels + (o / 32 * units + unit) * 32 * f.bytes, int(o % 32)}
          .move();
}

/// Bytes of panels; throws where the rows are none of this type.
size_t check_rows(BlockType type, size_t found, int64_t rows, int64_t row_bytes) {
  if (row_bytes % block_format(type).bytes != 0 || found != size_t(rows * row_bytes))
    throw std::invalid_argument("blocks32: these rows are not whole blocks");
  return size_t(round_up(rows, 32) * row_bytes);
}

}  // namespace

std::vector<uint8_t> pack_blocks32(BlockType type, std::span<const uint8_t> rows, int64_t outputs,
                                   int64_t row_bytes) {
  std::vector<uint8_t> panels(check_rows(type, rows.size(), outputs, row_bytes));
  move_all(type, rows.data(), outputs, row_bytes, panels.data());
  return panels;
}

std::vector<uint8_t> unpack_blocks32(BlockType type, std::span<const uint8_t> panels,
                                     int64_t outputs, int64_t row_bytes) {
  check_rows(type, panels.size(), round_up(outputs, 32), row_bytes);
  std::vector<uint8_t> rows(size_t(outputs * row_bytes));
  move_all(type, rows.data(), outputs, row_bytes, panels.data());
  return rows;
}

}  // namespace ingot
