// kernels/cuda/ports/ports_params.h - the descriptor block: where a run's inputs come from and its outputs go to. It lies in pinned
// memory that the GPU reads while it runs, so that binding another buffer changes two words and no graph.
#pragma once
#include <cstdint>

namespace ingot::cuda {

struct PortDescriptor {
  uint64_t address;     // of the GPU: pinned memory of the host, or the caller's device memory
  uint64_t row_stride;  // bytes there
};

/// One port: rows of `row_bytes` between the place in the arena and the one in the descriptor.
struct PortParams {
  const volatile PortDescriptor* descriptor;
  char* home;
  uint64_t home_stride;  // bytes
  uint64_t row_bytes, rows;
};

}  // namespace ingot::cuda
