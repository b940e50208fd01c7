// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/ternary.h"

#include <cmath>
#include <cstring>

#include "tools/files/half.h"
#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"

namespace ingot::decoder {
namespace {

constexpr uint32_t kTernaryKept = 10, kTq1 = 34, kTq2 = 35;
constexpr uint64_t kTernaryBytes = 84;

/// One block.
void put_ternary(const TernaryScale& scale, const uint8_t* codes, uint8_t* block) {
  uint8_t *const groups = block, *const crumbs = block + 16, *const halves = block + 80;
  std::memset(groups, scale.factor * 0x11, 16);  // a scale and a minimum, which are equal
  std::memset(crumbs, 0, 64);
  for (int i = 0; i < kTernaryUnit; i++) {
    uint8_t& four = crumbs[i / 128 * 32 + i % 32];
    four = uint8_t(four | codes[i] << i % 128 / 32 * 2);
  }
  halves[0] = halves[2] = uint8_t(scale.d), halves[1] = halves[3] = uint8_t(scale.d >> 8);
}

}  // namespace

bool TernaryScale::find(float scale) {
  constexpr int kMaxFactor = 15;
  float least = INFINITY;
  for (int f = 1; f <= kMaxFactor; f++) {
    const uint16_t half = host::narrow_f16(scale / float(f));
    const float apart = std::fabs(host::widen_f16(half) * float(f) - scale);
    if (apart < least) least = apart, d = half, factor = f;
  }
  return least <= std::fabs(scale) * 0x1p-12f;
}

SourceTensor in_known_blocks(SourceTensor tensor) {
  if (!tensor.block || (tensor.block->type != kTq1 && tensor.block->type != kTq2)) return tensor;
  const checkpoint::GgufBlock& from = *tensor.block;
  const uint64_t blocks = tensor.bytes.size / from.bytes;
  host::charge_memory(blocks * kTernaryBytes);
  host::charge_work(blocks * kTernaryUnit);
  const auto made =
      std::make_shared<std::vector<uint8_t>>(host::zero_bytes(blocks * kTernaryBytes));
  const uint8_t* at = tensor.bytes.data;
  for (uint64_t i = 0; i < blocks; i++, at += from.bytes) {
    uint8_t whole[66], codes[kTernaryUnit];
    float numbers[kTernaryUnit];
    std::memcpy(whole, at, from.bytes);
    const TernaryScale own = {uint16_t(whole[from.bytes - 2] | whole[from.bytes - 1] << 8), 1};
    const uint16_t one = host::narrow_f16(1);
    whole[from.bytes - 2] = uint8_t(one), whole[from.bytes - 1] = uint8_t(one >> 8);
    from.decode(whole, numbers);
    for (int k = 0; k < kTernaryUnit; k++) codes[k] = uint8_t(int(numbers[k]) + 1);
    put_ternary(own, codes, made->data() + i * kTernaryBytes);
  }
  host::note_touched(tensor.bytes.size + made->size());
  tensor.block = checkpoint::find_gguf_block(kTernaryKept);
  tensor.bytes = {made, made->data(), made->size()};
  return tensor;
}

SourceTensor ternary_matrix(const std::string& name, int64_t rows, int64_t columns,
                            const TernaryScale& scale, const TernaryCodes& codes) {
  const uint64_t blocks = uint64_t(rows) * uint64_t(columns / kTernaryUnit);
  host::charge_memory(blocks * kTernaryBytes);
  host::charge_work(blocks * kTernaryUnit);
  const auto made =
      std::make_shared<std::vector<uint8_t>>(host::zero_bytes(blocks * kTernaryBytes));
  uint8_t* to = made->data();
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < columns; column += kTernaryUnit, to += kTernaryBytes) {
      uint8_t own[kTernaryUnit];
      codes(row, column, own);
      put_ternary(scale, own, to);
    }
  host::note_touched(made->size());
  return {name,
          {rows, columns},
          checkpoint::find_gguf_block(kTernaryKept),
          checkpoint::ElementType::kF32,
          {made, made->data(), made->size()}};
}

}  // namespace ingot::decoder
