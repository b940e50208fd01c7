// tests/cuda/fake_driver/handles.h - what the fake driver's handles point to.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "runtime/device/cuda/driver.h"
#include "runtime/op/gpu_kernel.h"
#include "tests/cuda/fake_driver/test_kernels.h"

namespace ingot::cuda {

constexpr Result kInvalidHandle = 400, kIllegalAddress = 700, kNotPermitted = 800;

struct ContextT {
  int device = 0;
  int references = 0;  // 0: nobody holds it
};
struct ModuleT {
  ContextT* context = nullptr;
  std::string image;
};
struct FunctionT {
  int kernel = -1;                   // of the product
  const TestKernel* test = nullptr;  // else
  ModuleT* module = nullptr;
  ContextT* context = nullptr;
  uint32_t most_shared = 48 << 10;  // dynamic
};
/// Work on a stream: done when `event`, if there is one, has reached `turn`.
struct Work {
  EventT* event = nullptr;
  uint64_t turn = 0;
  std::function<void()> act;
};
struct StreamT {
  ContextT* context = nullptr;
  std::deque<Work> work;
};
struct EventT {
  ContextT* context = nullptr;
  StreamT* stream = nullptr;  // where it was recorded last
  uint64_t recorded = 0, reached = 0;
  bool is_timed = false;
  uint64_t time = 0;  // nanoseconds of the pretended clock
};
struct Node {
  const FunctionT* function = nullptr;  // null: an event
  int kernel = -1;
  const TestKernel* test = nullptr;
  EventT* event = nullptr;
  GpuLaunch launch;
  std::vector<uint8_t> params;
};
struct GraphT {
  std::vector<Node> nodes;
};
struct GraphNodeT {
  size_t index = 0;
};
struct GraphExecT {
  GraphT graph;
};

}  // namespace ingot::cuda

/// Memory of somebody else's that counts as the GPU's, in the current context, until it is taken back.
extern "C" ingot::cuda::Result fake_cuda_lend(ingot::cuda::Address at, uint64_t bytes);
extern "C" ingot::cuda::Result fake_cuda_take_back(ingot::cuda::Address at);
