// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/transposed.h"

#include <algorithm>
#include <cstring>

#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"

namespace ingot::decoder {
namespace {

struct Dims3 {
  int64_t matrices, inputs, columns, outputs;
};

/// to[m][o][i] = from[m][i][first + o * step]
template <class T>
void transpose(const uint8_t* from, const Dims3& n, int64_t first, int64_t step, uint8_t* to) {
  constexpr int64_t kTogether = 32;  // outputs, whose rows share the lines of the cache
  for (int64_t m = 0; m < n.matrices; m++)
    for (int64_t begin = 0; begin < n.outputs; begin += kTogether)
      for (int64_t i = 0; i < n.inputs; i++)
        for (int64_t o = begin; o < std::min(n.outputs, begin + kTogether); o++)
          std::memcpy(
              to + ((m * n.outputs + o) * n.inputs + i) * int64_t(sizeof(T)),
              from + ((m * n.inputs + i) * n.columns + first + o * step) * int64_t(sizeof(T)),
              sizeof(T));
}

}  // namespace

SourceTensor transposed(const SourceTensor& from, std::vector<int64_t> dims, int64_t inputs,
                        int64_t first, int64_t step) {
  const uint64_t size = element_bytes(from.element);
  const auto elements = int64_t(from.bytes.size / size);
  const int64_t matrices = elements / inputs / from.dims.back();
  int64_t all = 1;  // at most as many
  for (const int64_t d : dims) all *= d;
  const Dims3 own = {matrices, inputs, from.dims.back(), all / matrices / inputs};
  const uint64_t bytes = uint64_t(all) * size;
  host::charge_memory(bytes);
  host::charge_work(uint64_t(elements));
  const auto made = std::make_shared<std::vector<uint8_t>>(host::zero_bytes(bytes));
  (size == sizeof(uint32_t) ? transpose<uint32_t> : transpose<uint16_t>)(from.bytes.data, own,
                                                                         first, step, made->data());
  host::note_touched(2 * bytes);
  return {from.name, std::move(dims), nullptr, from.element, {made, made->data(), bytes}};
}

}  // namespace ingot::decoder
