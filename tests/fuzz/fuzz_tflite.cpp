// SPDX-License-Identifier: Apache-2.0
// Any bytes as a TFLite model: tensors that are read whole, or a Failure, never anything else.
#include "tests/fuzz/memory_file.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ingot::fuzz::MemoryFile file(data, size);
  ingot::checkpoint::ReadLimits limits;
  limits.entries = 1 << 16;
  try {
    ingot::fuzz::read_all(ingot::checkpoint::read_tflite(file.path(), limits));
  } catch (const ingot::host::Failure& failure) {
    if (failure.exit() == ingot::host::Exit::kInternal) abort();
  }
  return 0;
}
