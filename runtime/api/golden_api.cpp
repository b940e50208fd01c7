// SPDX-License-Identifier: Apache-2.0
// runtime/api/golden_api.cpp - the golden part, read on demand.
#include <new>

#include "runtime/api/translate.h"
#include "runtime/format/golden.h"

using namespace ingot;
using namespace ingot::api;

/// The part's bytes lie behind it in one block.
struct ingot_golden {
  Allocator allocator;
  uint64_t block_bytes;
  Span<const uint8_t> part;
  uint32_t case_count;
};

namespace {

constexpr uint64_t kHead = (sizeof(ingot_golden) + 63) & ~uint64_t{63};

ingot_code tensor_at(const ingot_golden* golden, uint32_t case_index, bool is_input, uint32_t index,
                     const char** out_name, ingot_tensor* out_tensor) {
  if (!golden || !out_name || !out_tensor) return INGOT_INVALID_ARGUMENT;
  if (case_index >= golden->case_count) return INGOT_NOT_FOUND;
  const GoldenCounts counts = golden_case(golden->part, case_index);
  if (index >= (is_input ? counts.input_count : counts.output_count)) return INGOT_NOT_FOUND;
  *out_tensor = tensor_of(golden_tensor(golden->part, case_index, is_input, index, out_name));
  return INGOT_OK;
}

}  // namespace

extern "C" {

ingot_code ingot_golden_open(const ingot_model* model, ingot_golden** out_golden,
                             ingot_error* error) {
  if (!out_golden) return refuse_argument("out_golden is null", error);
  *out_golden = nullptr;
  if (!model) return refuse_argument("model is null", error);
  const OpenModel& m = *unwrap(model);
  if (m.file.golden_part < 0)
    return refuse_argument("golden: the file carries none", error, INGOT_NOT_FOUND);
  if (!m.allocator.allocate) return refuse_argument("golden: the model has no allocator", error);
  const PartEntry part = file_part(m.file, uint32_t(m.file.golden_part));
  ErrorDetail detail;
  uint8_t* block;
  Status status = allocate(m.allocator, kHead + part.bytes, 64, "golden", &block, &detail);
  if (!status.ok()) return report(status, detail, error);
  ingot_golden* golden = new (block)
      ingot_golden{m.allocator, kHead + part.bytes, {block + kHead, size_t(part.bytes)}, 0};
  status = read_part(m.source, m.file, uint32_t(m.file.golden_part),
                     {block + kHead, size_t(part.bytes)}, &detail);
  if (status.ok()) status = validate_golden(golden->part, &golden->case_count, &detail);
  if (!status.ok()) {
    ingot_golden_close(golden);
    return report(status, detail, error);
  }
  *out_golden = golden;
  return INGOT_OK;
}

void ingot_golden_close(ingot_golden* golden) {
  if (!golden) return;
  const Allocator allocator = golden->allocator;
  allocator.release(allocator.user, golden, size_t(golden->block_bytes));
}

uint32_t ingot_golden_case_count(const ingot_golden* golden) {
  return golden ? golden->case_count : 0;
}

ingot_code ingot_golden_case_at(const ingot_golden* golden, uint32_t index,
                                ingot_golden_case* out_case) {
  if (!golden || !out_case) return INGOT_INVALID_ARGUMENT;
  if (index >= golden->case_count) return INGOT_NOT_FOUND;
  const GoldenCounts counts = golden_case(golden->part, index);
  *out_case = {counts.input_count, counts.output_count, counts.rtol, counts.atol};
  return INGOT_OK;
}

ingot_code ingot_golden_input(const ingot_golden* golden, uint32_t case_index, uint32_t index,
                              const char** out_name, ingot_tensor* out_tensor) {
  return tensor_at(golden, case_index, true, index, out_name, out_tensor);
}
ingot_code ingot_golden_output(const ingot_golden* golden, uint32_t case_index, uint32_t index,
                               const char** out_name, ingot_tensor* out_tensor) {
  return tensor_at(golden, case_index, false, index, out_name, out_tensor);
}

}  // extern "C"
