// SPDX-License-Identifier: Apache-2.0
// Any bytes as the weights of an .ingot file, hashes brought up to date: tensors that are read
// whole, or a Failure, never anything else.
#include <vector>

#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/mend_hashes.h"
#include "tools/files/failure.h"
#include "tools/weights/programs/read_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  ingot::fuzz::mend(bytes.data(), bytes.size());
  const ingot::fuzz::MemoryFile file(bytes.data(), bytes.size());
  ingot::checkpoint::ReadLimits limits;
  limits.entries = 1 << 16;
  try {
    ingot::fuzz::read_all(ingot::weights::read_ingot_weights(file.path(), limits));
  } catch (const ingot::host::Failure& failure) {
    if (failure.exit() == ingot::host::Exit::kInternal) abort();
  }
  return 0;
}
