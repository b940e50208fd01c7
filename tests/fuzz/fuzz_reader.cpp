// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of weights: tensors that are read whole, or a Failure, never anything else.
// One target a reader, INGOT_FUZZ_READER; CMakeLists.txt names them.
#include "tests/fuzz/memory_file.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/weights/programs/read_weights.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::MemoryFile file(data, size);
  checkpoint::ReadLimits limits;
  limits.entries = 1 << 16;
  try {
    fuzz::read_all(INGOT_FUZZ_READER(file.path(), limits));
  } catch (const host::Failure& failure) {
    if (failure.exit() == host::Exit::kInternal) abort();
  }
  return 0;
}
