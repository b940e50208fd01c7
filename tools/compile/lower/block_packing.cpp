// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/lower/block_packing.h"

#include <stdexcept>

#include "runtime/base/checked_math.h"

namespace ingot {
namespace {

/// Where a block of one output has its parts, as GGUF defines them.
struct Parts {
  int d, scales, codes, high;  // bytes; scales: of types of 256; high: bits above those at `codes`
};
constexpr Parts parts_of(BlockType type) {
  switch (type) {
    case BlockType::kQ4_0:
    case BlockType::kQ8_0:
    case BlockType::kIQ4_NL: return {0, 0, 2, 0};
    case BlockType::kQ4_1: return {0, 0, 4, 0};
    case BlockType::kQ5_0: return {0, 0, 6, 2};
    case BlockType::kQ5_1: return {0, 0, 8, 4};
    case BlockType::kQ4_K: return {0, 4, 16, 0};
    case BlockType::kQ5_K: return {0, 4, 48, 16};
    case BlockType::kQ6_K: return {208, 192, 0, 128};
    case BlockType::kQ2_K: return {80, 0, 16, 0};
    case BlockType::kQ3_K: return {108, 96, 32, 0};
    case BlockType::kIQ4_XS: return {0, 2, 8, 0};
    case BlockType::kMXFP4: return {0, 0, 1, 0};
    case BlockType::kF16:
    case BlockType::kBF16: return {};
  }
  return {};
}

/// Moves bits of a block of one output into its panel's block, or back. Both begin as zeros.
template <class Source, class Panel>
struct Mover {
  BlockType type;
  Source* block;
  Panel* panel;
  int lane;
  BlockFormat f = block_format(type);
  Parts at = parts_of(type);
  block_weights::BlockHeader header = block_weights::block_header(f);

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

  /// Six bits of sub-block j, at these places of the block, of s, or of m that lies `apart` behind.
  void six_bits(int j, int low, int low_shift, int high, int high_shift, bool of_minima) const {
    const int half = f.subs() / 2, low_apart = of_minima ? header.minima_apart : 0,
              high_apart = of_minima ? header.high_minima_apart : 0;
    bits(low, low_shift, header.scales + low_apart + j % half * 32 + lane, j / half * 4, 4);
    bits(high, high_shift, header.high + high_apart + j / 4 * 32 + lane, j % 4 * 2, 2);
  }
  void scale(int j) const {
    const int s = at.scales;
    if (f.scales == BlockScales::kBytes || f.scales == BlockScales::kNibbles) {
      bytes(s + j, header.scales + j * 32 + lane, 1);
    } else if (type == BlockType::kQ3_K) {
      six_bits(j, s + j % 8, j / 8 * 4, s + 8 + j % 4, j / 4 * 2, false);
    } else if (type == BlockType::kIQ4_XS) {
      six_bits(j, s + 2 + j / 2, j % 2 * 4, s + j / 4, j % 4 * 2, false);
    } else if (j < 4) {
      six_bits(j, s + j, 0, s + j, 4, false), six_bits(j, s + j + 4, 0, s + j + 4, 4, true);
    } else {
      six_bits(j, s + j + 4, 0, s + j - 4, 6, false), six_bits(j, s + j + 4, 4, s + j, 6, true);
    }
  }
  void code(int k) const {
    const int group = k % 32 / 4, half = lane / 16, own = lane % 16 * 4 + k % 4;
    const int to = f.header_bytes() + k / 32 * f.code_bytes(), low = to + (f.bits % 2 ? 128 : 0),
              crumb = (group / 4 * 2 + half) * 64 + own,
              nibble = low + (group % 4 * 2 + half) * 64 + own;
    if (f.bits == 8) return bytes(at.codes + k, to + (group * 2 + half) * 64 + own, 1);
    if (f.bits < 4)
      bits(at.codes + k / 128 * 32 + k % 32, k % 128 / 32 * 2, low + crumb, group % 4 * 2, 2);
    else if (f.bits == 6)
      bits(at.codes + k / 128 * 64 + k % 64, k % 128 / 64 * 4, nibble, group / 4 * 4, 4);
    else if (f.scales == BlockScales::kSixBits && f.has_min)  // q4_k, q5_k
      bits(at.codes + k / 64 * 32 + k % 32, k % 64 / 32 * 4, nibble, group / 4 * 4, 4);
    else
      bits(at.codes + k / 32 * 16 + k % 16, k % 32 / 16 * 4, nibble, group / 4 * 4, 4);
    const int bit = to + (group * 2 + half) * 8 + own / 8;
    if (f.bits % 2 && f.is_super()) bits(at.high + k % 32, k / 32, bit, own % 8, 1);
    if (f.bits % 2 && !f.is_super()) bits(at.high + k / 8, k % 8, bit, own % 8, 1);
    if (f.bits == 6)
      bits(at.high + k / 128 * 32 + k % 32, k % 128 / 32 * 2, to + 512 + crumb, group % 4 * 2, 2);
  }
  void move() const {
    if (f.is_float()) {
      for (int k = 0; k < f.unit; k++) bytes(2 * k, 2 * (k * 32 + lane), 2);
      return;
    }
    if (f.scales == BlockScales::kExponent)
      bytes(at.d, lane, 1);
    else
      bytes(at.d, 2 * lane, 2);
    if (f.has_min) bytes(at.d + 2, 64 + 2 * lane, 2);
    for (int j = 0; j < f.subs() && f.is_super(); j++) scale(j);
    for (int k = 0; k < f.unit; k++) code(k);
  }
};

template <class Source, class Panel>
void move_all(BlockType type, Source* rows, int64_t outputs, int64_t row_bytes, Panel* panels) {
  const BlockFormat f = block_format(type);
  const int64_t units = row_bytes / f.bytes;
  for (int64_t o = 0; o < outputs; o++)
    for (int64_t unit = 0; unit < units; unit++)
      Mover<Source, Panel>{type, rows + o * row_bytes + unit * f.bytes,
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
