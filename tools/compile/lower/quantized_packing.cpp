// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/lower/quantized_packing.h"

#include <cstring>
#include <stdexcept>

#include "runtime/base/checked_math.h"
#include "runtime/op/tensor.h"
#include "tools/files/spill_file.h"

namespace ingot {

std::vector<uint8_t> pack_panels16x4(std::span<const int8_t> dense, std::span<const int64_t> dims) {
  TensorType type;
  type.dtype = DType::kI8;
  type.packing = Packing::kPanels16x4;
  type.rank = uint8_t(dims.size() <= kMaxRank ? dims.size() : 0);
  int64_t elements = 1;
  for (size_t i = 0; i < type.rank; i++) type.dims[i] = dims[i], elements *= dims[i];
  uint64_t bytes = 0;
  if (!storage_bytes(type, &bytes) || elements != int64_t(dense.size()))
    throw std::invalid_argument("pack_panels16x4: these dims are not those of the weights");
  const bool image = dims.size() == 4;
  const int64_t outputs = dims[0], rows = image ? dims[1] : 1,
                run = image ? dims[2] * dims[3] : dims[1], groups = ceil_div(run, 4);
  std::vector<uint8_t> panels;
  panels.reserve(size_t(bytes));
  for (int64_t o = 0; o < outputs; o++) {
    if (o % kPanel == 0) panels.resize(panels.size() + size_t(rows * groups * kPanel * 4));
    uint8_t* const panel = panels.data() + o / kPanel * rows * groups * kPanel * 4;
    for (int64_t r = 0; r < rows; r++)
      for (int64_t i = 0; i < run; i++)
        panel[((r * groups + i / 4) * kPanel + o % kPanel) * 4 + i % 4] =
            uint8_t(dense[size_t((o * rows + r) * run + i)]);
    host::note_touched(uint64_t(rows * run) * 2);
  }
  return panels;
}

std::vector<uint8_t> pack_panels16(std::span<const int8_t> dense, int64_t outputs, int64_t k) {
  std::vector<uint8_t> panels(size_t(round_up(outputs, kPanel) * k));
  for (int64_t o = 0; o < outputs; o++) {
    for (int64_t i = 0; i < k; i++)
      panels[size_t((o / kPanel * k + i) * kPanel + o % kPanel)] =
          uint8_t(dense[size_t(o * k + i)]);
    host::note_touched(uint64_t(k) * 2);
  }
  return panels;
}

std::vector<int8_t> pair_nibbles(std::span<const int8_t> numbers, int64_t k) {
  std::vector<int8_t> bytes;
  bytes.reserve(numbers.size() / 2 + 1);
  for (size_t row = 0; row < numbers.size(); row += size_t(k))
    for (int64_t i = 0; i < k; i += 2) {
      const int8_t low = numbers[row + size_t(i)],
                   high = i + 1 < k ? numbers[row + size_t(i) + 1] : 0;
      if (low < -8 || low > 7 || high < -8 || high > 7)
        throw std::invalid_argument("pair_nibbles: a number takes more than 4 bits");
      bytes.push_back(int8_t(uint8_t(low & 15) | uint8_t(high & 15) << 4));
    }
  return bytes;
}

std::vector<uint8_t> pack_depthwise16(std::span<const int8_t> dense, int64_t channels,
                                      int64_t taps) {
  const int64_t padded = round_up(channels, kPanel);
  std::vector<uint8_t> rows(size_t(taps * padded));
  for (int64_t c = 0; c < channels; c++)
    for (int64_t t = 0; t < taps; t++)
      rows[size_t(t * padded + c)] = uint8_t(dense[size_t(c * taps + t)]);
  return rows;
}

std::vector<uint8_t> pack_channels(std::span<const std::span<const uint8_t>> rows) {
  std::vector<uint8_t> padded;
  for (const std::span<const uint8_t> row : rows) {
    padded.insert(padded.end(), row.begin(), row.end());
    padded.resize(size_t(round_up(int64_t(padded.size()), kPanel * 4)));
  }
  return padded;
}

}  // namespace ingot
