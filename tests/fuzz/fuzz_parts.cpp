// SPDX-License-Identifier: Apache-2.0
// Any bytes as a metadata part, as a golden part and as a part of tunings.
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>

#include "runtime/format/golden.h"
#include "runtime/format/metadata.h"
#include "runtime/format/tunings.h"

using namespace ingot;

namespace {

size_t look_at_golden(Span<const uint8_t> part, uint32_t cases) {
  size_t sum = 0;
  for (uint32_t c = 0; c < cases; c++) {
    const GoldenCounts counts = golden_case(part, c);
    for (uint32_t i = 0; i < counts.input_count + counts.output_count; i++) {
      const bool is_input = i < counts.input_count;
      const char* name;
      const TensorView view =
          golden_tensor(part, c, is_input, is_input ? i : i - counts.input_count, &name);
      const size_t bytes = size_t(view.elements()) * size_t(dtype_bytes(view.dtype));
      sum += strlen(name);
      for (size_t k = 0; k < bytes; k++) sum += static_cast<const uint8_t*>(view.data)[k];
      if (view.dtype == DType::kF64 && bytes) sum += *view.as<const double>() > 0;
    }
  }
  return sum;
}

size_t look_at_tunings(Span<const uint8_t> part) {
  size_t sum = size_t(find_tuning(part, {"emulated GPU 0", 0, 4, 0, tuning_dims({})}) + 1);
  for (uint32_t t = 0; t < tuning_count(part); t++)
    for (const uint32_t instruction : {0u, 1u, 7u, 0xffffffffu}) {
      TunedInstruction tuned;
      if (find_tuned(part, t, instruction, &tuned)) sum += strlen(tuned.variant) + tuned.parts;
    }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto* copy = static_cast<uint8_t*>(::operator new(size, std::align_val_t(16)));
  if (size) memcpy(copy, data, size);
  const Span<const uint8_t> part{copy, size};
  ErrorDetail detail;
  uint32_t cases = 0;
  volatile size_t sink = 0;
  if (validate_golden(part, &cases, &detail).ok()) sink = look_at_golden(part, cases);
  if (validate_tunings(part, &detail).ok()) sink = sink + look_at_tunings(part);
  for (const char* key : {"name", "key", "no such key"}) {
    const char* text;
    size_t length;
    if (find_metadata(part, key, &text, &length, &detail).ok()) sink = sink + strlen(text) + length;
  }
  ::operator delete(copy, std::align_val_t(16));
  return 0;
}
