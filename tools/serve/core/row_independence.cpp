// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/row_independence.h"

#include <algorithm>
#include <cstring>

namespace ingot::serve {
namespace {

/// Inputs whose elements differ, small enough to be an index or a length: of floats fractions, of
/// integers 0 and 1.
void make_request(const ModelPorts& ports, int64_t rows, uint32_t seed, Job* job) {
  for (const ingot_value_type& type : ports.inputs()) {
    InputTensor& input = job->inputs.add();
    input.name = type.name;
    input.dtype = type.dtype;
    input.shape.rank = type.rank;
    for (int32_t d = 0; d < type.rank; d++) {
      const int32_t symbol = type.dim_symbol[d];
      int64_t extent = type.dims[d];
      if (symbol >= 0 && size_t(symbol) < ports.dimensions().size())
        extent = symbol == ports.batch()
                     ? rows
                     : std::max<int64_t>(ports.dimensions()[size_t(symbol)].low, 1);
      else if (symbol == INGOT_DIM_EXPRESSION)
        refuse(Refusal::kUnsupported, "an input's extent is computed");
      input.shape.dims[d] = extent;
    }
    tensor_bytes(type.dtype, input.shape, &input.bytes);
    input.converted.resize(input.bytes);
    const size_t count = input.bytes / std::max<size_t>(ingot_dtype_bytes(type.dtype), 1);
    uint32_t state = seed * 2654435761u + 12345u;
    for (size_t i = 0; i < count; i++) {
      state = state * 1664525u + 1013904223u;
      uint8_t* at = input.converted.data() + i * ingot_dtype_bytes(type.dtype);
      const float fraction = float(state >> 8) / float(1 << 24) - 0.5f;
      const double wide = double(fraction);
      const uint8_t bit = uint8_t(state >> 31);
      switch (type.dtype) {
        case INGOT_F32: memcpy(at, &fraction, 4); break;
        case INGOT_F64: memcpy(at, &wide, 8); break;
        case INGOT_F16:
          at[0] = uint8_t(state >> 16), at[1] = uint8_t(0x38 | (state >> 31 << 7));
          break;
        case INGOT_BF16: memcpy(at, reinterpret_cast<const uint8_t*>(&fraction) + 2, 2); break;
        default: at[0] = bit; break;
      }
    }
    input.data = input.converted.data();
  }
  ports.resolve(job);
}

}  // namespace

bool rows_are_independent(const ModelPorts& ports, BatchSession* session) {
  if (ports.dimensions()[size_t(ports.batch())].low > 1) return false;
  try {
    Job one, other, first, second;
    make_request(ports, 1, 1, &one), make_request(ports, 1, 1, &first);
    make_request(ports, 1, 2, &other), make_request(ports, 1, 2, &second);
    Job *alone[] = {&one, &other}, *together[] = {&first, &second};
    const uint64_t until = ingot_clock_ns() + kTrialNs;
    for (Job* job : {&one, &other, &first, &second}) job->deadline_ns = until;
    session->run(alone, 1);
    if (one.failed) return false;
    session->run(alone + 1, 1), session->run(together, 2);
    for (const Job* job : {&other, &first, &second})
      if (job->failed) return false;
    for (size_t i = 0; i < one.outputs.size(); i++)
      if (one.outputs[i].elements != first.outputs[i].elements ||
          other.outputs[i].elements != second.outputs[i].elements)
        return false;
    return true;
  } catch (const ServeError&) {
    return false;
  }
}

}  // namespace ingot::serve
