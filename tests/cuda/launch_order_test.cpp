// SPDX-License-Identifier: Apache-2.0
// Which launches wait for which (runtime/device/gpu/launch_order.h), and what a graph makes of it:
// branches side by side, kernels that start early; the fake driver runs nodes in the order that is
// farthest from the program's.
#include "runtime/device/gpu/launch_order.h"

#include <doctest/doctest.h>

#include <set>

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/gpu.h"
#include "tests/cuda/session_answers.h"

using namespace ingot;
using namespace ingot::test;

namespace {

void* node_of(size_t i) { return reinterpret_cast<void*>(i + 1); }
size_t index_of(const LaunchOrder::Launch& l) { return reinterpret_cast<size_t>(l.node) - 1; }

/// Launches with their ranges, and all that each waits for, through others too.
struct Graph {
  std::vector<std::vector<LaunchAccess::Range>> ranges;
  std::vector<std::set<size_t>> before;
  size_t edges = 0, unordered = 0;

  void add(LaunchOrder& order, const std::vector<LaunchAccess::Range>& touches, bool all = false) {
    LaunchAccess touched = all ? LaunchAccess() : LaunchAccess::nothing();
    for (const LaunchAccess::Range& r : touches)
      touched.add(reinterpret_cast<void*>(r.begin), r.end - r.begin, r.writes);
    LaunchOrder::Waits waits;
    order.wait(touched, &waits);
    std::set<size_t> mine;
    for (uint32_t i = 0; i < waits.count; i++) {
      const size_t other = index_of(waits.launches[i]);
      CHECK_MESSAGE(!mine.count(other), "waits for " << other << " through another");
      mine.insert(before[other].begin(), before[other].end());
      mine.insert(other);
      edges++;
    }
    order.add({node_of(ranges.size()), true});
    for (size_t other = 0; other < ranges.size(); other++) {
      unordered += !mine.count(other);
      if (!all && !meet(ranges[other], touches)) continue;
      CHECK_MESSAGE(mine.count(other), ranges.size() << " does not wait for " << other);
    }
    ranges.push_back(touches);
    before.push_back(mine);
  }
  static bool meet(const std::vector<LaunchAccess::Range>& a,
                   const std::vector<LaunchAccess::Range>& b) {
    for (const LaunchAccess::Range& x : a)
      for (const LaunchAccess::Range& y : b)
        if ((x.writes || y.writes) && x.begin < y.end && y.begin < x.end) return true;
    return false;
  }
};

uint32_t draw(uint32_t* seed, uint32_t below) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % below;
}

/// y = -x + |x|
convert::FileSpec two_branches(int64_t count) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {count}));
  const int32_t a = p.add_value(activation("a", {count})),
                b = p.add_value(activation("b", {count}));
  const int32_t y = p.add_value(output("y", {count}));
  p.add_instruction(step(ElementwiseOp::kNeg), {x}, {a});
  p.add_instruction(step(ElementwiseOp::kAbs), {x}, {b});
  p.add_instruction(step(ElementwiseOp::kAdd), {a, b}, {y});
  add_ports(&file);
  return file;
}

std::string graphs() {
  const char* const use = std::getenv("INGOT_CUDA_GRAPHS");
  return use ? use : std::getenv("INGOT_CUDA_SERIAL") ? "serial" : "full";
}
bool is_serial() { return graphs() != "full" && graphs() != "ordered"; }
bool starts_early() {
  const char* version = std::getenv("FAKE_CUDA_VERSION");
  return graphs() == "full" && (!version || std::atoi(version) >= 12030);
}

}  // namespace

TEST_CASE("launch order: what touches the same bytes keeps its order, the rest does not wait") {
  uint32_t seed = 7;
  for (int round = 0; round < 40; round++) {
    CAPTURE(round);
    LaunchOrder order;
    Graph graph;
    for (int i = 0; i < 120; i++) {
      std::vector<LaunchAccess::Range> touches;
      const uint32_t count = 1 + draw(&seed, round % 2 ? 3 : 9);
      for (uint32_t k = 0; k < count; k++) {
        const uintptr_t begin = 1 + draw(&seed, 400);
        touches.push_back({begin, begin + 1 + draw(&seed, 12), draw(&seed, 3) == 0});
      }
      graph.add(order, touches, draw(&seed, 50) == 0);
    }
    CHECK(graph.unordered > 100);
  }
}

TEST_CASE("launch order: more than it has room for waits for all, and all for it") {
  LaunchOrder order;
  Graph graph;
  for (uintptr_t i = 0; i < LaunchOrder::kMaxLaunches; i++)
    graph.add(order, {{64 * i + 64, 64 * i + 128, true}});
  CHECK(graph.edges == 0);
  graph.add(order, {{1 << 20, 2 << 20, true}});
  CHECK(graph.edges == LaunchOrder::kMaxLaunches);
  graph.add(order, {{3 << 20, 4 << 20, true}});
  CHECK(graph.edges == LaunchOrder::kMaxLaunches + 1);

  LaunchAccess most = LaunchAccess::nothing();
  for (uintptr_t i = 0; i < LaunchAccess::kMaxRanges; i++)
    most.add(reinterpret_cast<void*>(64 * i + 64), 64, false);
  CHECK(!most.is_all());
  most.add(reinterpret_cast<void*>(uintptr_t{8}), 0, true);
  CHECK(!most.is_all());
  most.add(reinterpret_cast<void*>(uintptr_t{8}), 8, true);
  CHECK(most.is_all());
  LaunchAccess beyond = LaunchAccess::nothing();
  beyond.add(reinterpret_cast<void*>(UINTPTR_MAX - 7), 16, true);
  CHECK(beyond.is_all());
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "launch order: a graph has branches, and kernels start early where they wait for one") {
  FileBytes bytes(two_branches(3000));
  Model model = open_bytes_or_fail(bytes, scalar());
  Session cpu = make(model, on("cpu"));
  write(cpu.input(0), ramp(3000));
  REQUIRE(cpu.run().ok());
  const FakeCuda before = fake_cuda();
  Session gpu = make(model, on("cuda"));
  write(gpu.input(0), ramp(3000));
  REQUIRE(gpu.run().ok());
  CHECK(read<float>(gpu.output(0)) == read<float>(cpu.output(0)));
  // input, one way, the other, their sum, output: the sum alone waits for two
  CHECK(fake_cuda().kernels - before.kernels == 5);
  CHECK(fake_cuda().branches - before.branches == (is_serial() ? 0 : 1));
  CHECK(fake_cuda().plain - before.plain == (graphs() == "none" ? 5 : 0));
  CHECK((fake_cuda().execs == before.execs) == (graphs() == "none"));
  CHECK(fake_cuda().early - before.early == (starts_early() ? 3 : 0));
}

TEST_CASE_FIXTURE(
    FakeDriverCase,
    "launch order: shared memory of a function stays what its greediest launch wants") {
  Device device;
  device.interface = &cuda::kCudaDevice;
  device.name = cuda::kGpuNames[0];
  ErrorDetail detail;
  cuda::Gpu gpu{};
  REQUIRE(cuda::hold_gpu(device, &gpu, &detail).ok());
  {
    const cuda::Current current(gpu.context);
    cuda::Function function = nullptr;
    const uint16_t kernel = ingot_cuda_kernel_set.copy_in;
    REQUIRE(cuda::find_function(gpu, device, kernel, &function, &detail).ok());
    cuda::Graph graph = nullptr;
    REQUIRE(cuda::driver().cuGraphCreate(&graph, 0) == 0);
    std::vector<uint8_t> bytes(ingot_cuda_kernel_set.kernels[kernel].params_bytes);
    void* params[] = {bytes.data()};
    for (const uint32_t shared : {100u << 10, 60u << 10, 1000u}) {  // of one graph
      CHECK(cuda::allow_shared(function, shared) == 0);
      cuda::KernelNodeParams node = {};
      node.function = function, node.params = params, node.shared_bytes = shared;
      node.grid_x = node.grid_y = node.grid_z = node.block_y = node.block_z = 1;
      node.block_x = ingot_cuda_kernel_set.kernels[kernel].threads;
      cuda::GraphNode added = nullptr;
      CHECK(cuda::driver().cuGraphAddKernelNode(&added, graph, nullptr, 0, &node) == 0);
    }
    cuda::GraphExec exec = nullptr;
    CHECK(cuda::driver().cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
    if (exec) CHECK(cuda::driver().cuGraphExecDestroy(exec) == 0);
    CHECK(cuda::driver().cuGraphDestroy(graph) == 0);
  }
  cuda::drop_gpu(gpu);
}
