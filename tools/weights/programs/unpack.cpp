// SPDX-License-Identifier: Apache-2.0
#include "tools/weights/programs/unpack.h"

#include <cstring>

#include "runtime/base/checked_math.h"
#include "runtime/op/block_linear.h"
#include "tools/files/spill_file.h"

namespace ingot::weights {

bool can_unpack(Packing packing) {
  return packing != Packing::kWinogradF43 && packing != Packing::kBlocks32;
}

bool may_be_halves(DType dtype, Packing packing, std::vector<int64_t>* dims) {
  if (packing != Packing::kBlocks32 || dtype != DType::kU8 || dims->size() != 2 ||
      dims->back() % block_format(BlockType::kF16).bytes)
    return false;
  dims->back() /= 2;
  return true;
}

std::vector<uint8_t> unpack(Packing packing, const std::vector<int64_t>& dims,
                            const uint8_t* packed, uint64_t bytes, size_t element) {
  std::vector<uint8_t> dense;
  if (packing == Packing::kDense) {
    dense.reserve(size_t(bytes));
    host::append_weights(dense, packed, size_t(bytes));
    return dense;
  }
  int64_t elements = 1;
  for (const int64_t d : dims) elements *= d;
  dense.reserve(size_t(elements) * element);
  const int64_t first = dims.empty() ? 1 : dims[0], rest = first ? elements / first : 0;
  const int64_t padded = round_up(first, kPanel);
  const int64_t runs = packing == Packing::kPanels16x4 && dims.size() == 4 ? dims[1] : 1;
  const int64_t run = runs ? rest / runs : 0, groups = ceil_div(run, 4);
  for (int64_t o = 0; o < first; o++) {
    dense.resize(dense.size() + size_t(rest) * element);
    for (int64_t i = 0; i < rest; i++) {
      int64_t from = o;  // vector16
      if (packing == Packing::kPanels16) from = (o / kPanel * rest + i) * kPanel + o % kPanel;
      if (packing == Packing::kBlocks32)
        from = (o / block_weights::kOutputs * rest + i) * block_weights::kOutputs +
               o % block_weights::kOutputs;
      if (packing == Packing::kDepthwise16) from = i * padded + o;
      if (packing == Packing::kPanels16x4)
        from = (((o / kPanel * runs + i / run) * groups + i % run / 4) * kPanel + o % kPanel) * 4 +
               i % run % 4;
      std::memcpy(dense.data() + size_t(o * rest + i) * element, packed + size_t(from) * element,
                  element);
    }
    host::note_touched(uint64_t(rest) * 2 * element);
  }
  return dense;
}

}  // namespace ingot::weights
