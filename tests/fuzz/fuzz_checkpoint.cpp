// SPDX-License-Identifier: Apache-2.0
// Checkpoints of HDF5 (Keras, JLD2) and BSON (Flux): every byte string ends in tensors or in a
// refusal.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/files/failure.h"

using namespace ingot;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int file = memfd_create("checkpoint", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != ssize_t(size)) return 0;
  try {
    const checkpoint::Checkpoint c =
        checkpoint::read_checkpoint("/proc/self/fd/" + std::to_string(file));
    uint64_t read = 0;
    for (const checkpoint::Tensor& t : c.tensors)
      if ((read += t.bytes()) < (64u << 20)) (void)checkpoint::tensor_bytes(t);
  } catch (const host::Failure&) {
  }
  close(file);
  return 0;
}
