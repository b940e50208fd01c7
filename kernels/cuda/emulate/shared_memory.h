// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/emulate/shared_memory.h - shared memory of the block that runs. Each block finds a
// pattern in it, as nothing says what a GPU leaves there; what lies behind it must stay as it was;
// and all of it together must fit what every GPU gives a block unasked, or where the launch asks
// for more, what each from sm_80 on gives.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::cuda::emulate {

class SharedMemory {
 public:
  void begin_launch(uint32_t dynamic_bytes);
  void begin_block();
  /// Ends the process where the block wrote behind its dynamic memory.
  void end_block() const;
  void* dynamic();
  /// A variable that the kernel declares: the first thread of a block that comes by finds the
  /// pattern made, the others what is there.
  void declare(void* at, size_t bytes);

 private:
  struct Variable {
    void* at;
    bool is_made;  // in this block
  };
  void* start() const;
  std::vector<unsigned char> memory_;
  uint32_t dynamic_bytes_ = 0;
  size_t bytes_ = 0;  // dynamic and declared
  std::vector<Variable> variables_;
};

/// Extra passes of 32 (or fewer) simultaneous accesses of `bytes` each.
uint64_t bank_conflicts(const void* const* addresses, int count, unsigned bytes);

}  // namespace ingot::cuda::emulate
