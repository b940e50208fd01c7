// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/latent_tensors.h"

#include <cstring>

#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"
#include "tools/import/decoder/transposed.h"

namespace ingot::decoder {
namespace {

/// Rows [begin, begin + count) of each head, whatever their bytes mean.
SourceTensor rows_of_heads(const SourceTensor& all, int64_t heads, int64_t begin, int64_t count) {
  const auto of_head = uint64_t(all.dims[0] / heads), row = all.bytes.size / uint64_t(all.dims[0]);
  const uint64_t size = uint64_t(count) * row;
  host::charge_memory(uint64_t(heads) * size);
  const auto made =
      std::make_shared<std::vector<uint8_t>>(host::zero_bytes(uint64_t(heads) * size));
  for (uint64_t h = 0; h < uint64_t(heads); h++)
    std::memcpy(made->data() + h * size, all.bytes.data + (h * of_head + uint64_t(begin)) * row,
                size);
  host::note_touched(2 * made->size());
  SourceTensor rows = all;
  rows.dims = {heads, count, all.dims[1]};
  rows.bytes = {made, made->data(), made->size()};
  return rows;
}

}  // namespace

SourceTensor keys_of_heads(const TensorSource& source, const SourceTensor& all, int64_t heads,
                           const LatentNumbers& latent) {
  check_numbers(source, all);
  SourceTensor rows = rows_of_heads(all, heads, 0, latent.own);
  if (rows.block) rows = widened(source, std::move(rows));
  return transposed(rows, {heads, latent.rank, latent.own}, latent.own);
}

SourceTensor values_of_heads(const SourceTensor& all, int64_t heads, const LatentNumbers& latent) {
  return rows_of_heads(all, heads, latent.own, latent.value);
}

}  // namespace ingot::decoder
