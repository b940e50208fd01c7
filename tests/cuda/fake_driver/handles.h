// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/handles.h - what the fake driver's handles point to.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/cuda/driver.h"
#include "runtime/device/gpu/kernel_set.h"
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
  bool is_timed = false, sleeps = false;
  uint64_t time = 0;  // nanoseconds of the pretended clock
};
/// A condition that a kernel sets.
struct Conditional {
  uint64_t handle = 0;
  ContextT* context = nullptr;
  unsigned value = 0, initial = 0;
  bool is_assigned = false;  // `initial`, at each launch
  bool is_placed = false;    // in a node
};
struct GraphT;
struct ConditionalNode {
  int kind = 0;
  std::shared_ptr<Conditional> condition;
  std::vector<std::shared_ptr<GraphT>> bodies;
  std::vector<GraphT*> handed_out;  // the same, for who adds the node
};
struct Node {
  std::vector<size_t> before;           // nodes that it waits for
  bool is_early = false;                // may start while the one that it waits for runs
  const FunctionT* function = nullptr;  // null: an event, or a condition
  std::shared_ptr<ConditionalNode> conditional;
  int kernel = -1;
  const TestKernel* test = nullptr;
  EventT* event = nullptr;
  GpuLaunch launch;
  std::vector<uint8_t> params;
};
struct GraphT {
  std::vector<Node> nodes;
  std::vector<size_t> order;                             // of an executable one: as nodes are run
  std::vector<std::shared_ptr<Conditional>> conditions;  // made for it
  bool is_body = false, is_in_loop = false, is_instantiated = false;
};
struct GraphNodeT {
  const GraphT* graph = nullptr;
  size_t index = 0;
};
struct GraphExecT {
  GraphT graph;
  std::vector<std::shared_ptr<Conditional>> conditions;  // of bodies too
};

}  // namespace ingot::cuda

/// Memory of somebody else's that counts as the GPU's, in the current context, until it is taken
/// back.
extern "C" ingot::cuda::Result fake_cuda_lend(ingot::cuda::Address at, uint64_t bytes);
extern "C" ingot::cuda::Result fake_cuda_take_back(ingot::cuda::Address at);
