// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/world.h - what the fake driver knows: memory, what is alive, work on
// streams; and how every call begins.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/emulate/emulated_kernels.h"
#include "kernels/cuda/emulate/emulator.h"
#include "runtime/device/gpu/kernel_set.h"
#include "tests/cuda/fake_driver/fake_driver.h"
#include "tests/cuda/fake_driver/fake_machine.h"
#include "tests/cuda/fake_driver/handles.h"
#include "tests/cuda/fake_driver/hostile.h"

extern "C" const ingot::GpuKernelSet ingot_cuda_kernel_set;

namespace ingot::cuda {

constexpr Result kOk = 0;

struct Memory {
  uint64_t bytes = 0;
  ContextT* context = nullptr;
  void* block = nullptr;  // of the heap
};

struct World {
  FakeCuda control = {};
  std::recursive_mutex lock;
  pid_t process = 0;                 // that called cuInit
  ContextT contexts[16];             // the primary ones
  std::set<ContextT*> own_contexts;  // of cuCtxCreate_v2
  std::map<uint64_t, Memory> device, pinned;
  std::set<void*> modules, streams, events, graphs, execs;
  std::map<std::pair<ModuleT*, std::string>, std::unique_ptr<FunctionT>> functions;
  std::vector<std::unique_ptr<GraphNodeT>> nodes;
  const GraphExecT* running = nullptr;
  uint64_t handles = 0;              // of conditions, made so far
  uint64_t now = 0, graphs_run = 0;  // nanoseconds of the pretended clock
  std::vector<uint64_t> kernel_runs = std::vector<uint64_t>(ingot_cuda_kernel_set.kernels.size);

  World() {
    if (const char* fault = std::getenv("FAKE_CUDA_FAIL"))
      if (std::sscanf(fault, "%lu:%d", &control.fail_at_call, &control.fail_code) != 2)
        control.fail_at_call = 0;
    emulate::set_order(uint32_t(number("FAKE_CUDA_ORDER", 0)));
  }
  ~World() {
    const char* path = std::getenv("FAKE_CUDA_REPORT");
    std::FILE* file = path ? std::fopen(path, "w") : nullptr;
    if (!file) return;
    const FakeCuda& c = control;
    std::fprintf(file,
                 "calls %lu\nallocations %lu\nbytes %lu\npinned %lu\ncontexts %lu\nmodules "
                 "%lu\nstreams %lu\nevents %lu\ngraphs "
                 "%lu\n"
                 "execs %lu\nlaunches %lu\nwaits %lu\nuploads %lu\ndownloads %lu\nkernels "
                 "%lu\nmost_bytes %lu\nmisuses %lu\n",
                 c.calls, c.allocations, c.bytes, c.pinned, c.contexts, c.modules, c.streams,
                 c.events, c.graphs, c.execs, c.launches, c.waits, c.uploads, c.downloads,
                 c.kernels, c.most_bytes, c.misuses);
    for (size_t i = 0; i < kernel_runs.size(); i++)
      if (kernel_runs[i])
        std::fprintf(file, "kernel:%s %lu\n", ingot_cuda_kernel_set.kernels[i].name,
                     kernel_runs[i]);
    std::fclose(file);
  }
};
inline World& world() {
  static World it;
  return it;
}
inline thread_local std::vector<ContextT*> current;
inline thread_local bool refused_context =
    false;  // the last push failed: calls without a context are no fault of the caller
inline thread_local bool in_host_function = false;

inline Result misuse(const char* what) {
  world().control.misuses++;
  std::fprintf(stderr, "fake CUDA driver: %s: %s\n", world().control.last_call, what);
  return kInvalidHandle;
}

/// Lives as long as an entry point runs.
struct Marked {
  const long call = world().control.mark_call;
  Marked() {
    if (call) syscall(call, 1);
  }
  ~Marked() {
    if (call) syscall(call, 0);
  }
};

inline void do_some();
inline void drop_all();

/// Counts a call; the result that it must give, or kOk.
inline Result enter(const char* name) {
  FakeCuda& c = world().control;
  c.calls++;
  std::snprintf(c.last_call, sizeof c.last_call, "%s", name);
  if (in_host_function) return misuse("from a host function"), kNotPermitted;
  if (world().process != getpid() && std::strcmp(name, "cuDriverGetVersion") != 0)
    return kNotInitialized;  // in the child of a fork as well, where cuInit says so too
  if (c.sticky) return c.sticky;
  do_some();
  if (!c.fail_at_call || --c.fail_at_call) return kOk;
  if (c.fail_code >= 700) {
    c.sticky = c.fail_code;
    drop_all();
  }
  return c.fail_code;
}

inline bool is_alive(ContextT* context) {
  const ContextT* primary = world().contexts;
  if (context >= primary && context < primary + 16) return context->references > 0;
  return world().own_contexts.count(context) > 0;
}
inline size_t bytes_of(int device) {
  return size_t(number_of("FAKE_CUDA_MIB", device, 4096)) << 20;
}
inline size_t free_bytes_of(int device) {
  size_t used = 0;
  for (const auto& [address, memory] : world().device)
    if (memory.context->device == device) used += memory.bytes;
  return bytes_of(device) - used;
}

inline bool holds(const std::map<uint64_t, Memory>& memory, uint64_t at, uint64_t bytes) {
  auto it = memory.upper_bound(at);
  if (it == memory.begin()) return false;
  --it;
  return at - it->first <= it->second.bytes && bytes <= it->second.bytes - (at - it->first);
}

inline Result allocate(std::map<uint64_t, Memory>& memory, size_t bytes, uint64_t* out) {
  // Not aligned_alloc: the process may have another allocator, and mimalloc 2.0.9 aligns to less
  // than 256 bytes when asked for them.
  void* block = bytes && bytes < SIZE_MAX - 256 ? std::malloc(bytes + 255) : nullptr;
  if (!block) return bytes ? Result(kResultOutOfMemory) : Result(kInvalidValue);
  *out = (uint64_t(reinterpret_cast<uintptr_t>(block)) + 255) & ~uint64_t{255};
  std::memset(reinterpret_cast<void*>(uintptr_t(*out)), 0xfb, bytes);
  memory[*out] = {bytes, current.empty() ? nullptr : current.back(), block};
  return kOk;
}

template <class T>
Result destroy(std::set<void*>& alive, T* handle, uint64_t* count) {
  if (!alive.erase(handle)) return misuse("a handle that is not alive");
  delete handle;
  --*count;
  return kOk;
}
template <class T>
T* create(std::set<void*>& alive, uint64_t* count) {
  T* made = new T;
  alive.insert(made);
  ++*count;
  return made;
}

inline bool is_blocked(const StreamT& s) {
  return s.work.front().event && s.work.front().event->reached < s.work.front().turn;
}
inline void do_first(StreamT* s) {
  const Work work = std::move(s->work.front());
  s->work.pop_front();
  world().control.queued--;
  if (work.act) work.act();
}
/// Everything on the stream, and on others what it waits for and no more.
inline void drain(StreamT* s, const EventT* until = nullptr, uint64_t turn = 0) {
  while (!s->work.empty() && !(until && until->reached >= turn)) {
    if (is_blocked(*s))
      drain(s->work.front().event->stream, s->work.front().event, s->work.front().turn);
    do_first(s);
  }
}
inline void drain_all() {
  for (void* s : world().streams) drain(static_cast<StreamT*>(s));
}
/// After an error of the device nothing that is queued is done.
inline void drop_all() {
  for (void* stream : world().streams) {
    StreamT* s = static_cast<StreamT*>(stream);
    world().control.queued -= s->work.size();
    s->work.clear();
  }
  for (void* event : world().events)
    static_cast<EventT*>(event)->reached = static_cast<EventT*>(event)->recorded;
}
inline void do_some() {
  static uint32_t state = 0;
  if (world().control.order < kRandom) return;
  if (!state) state = world().control.order * 2654435761u | 1;
  std::vector<StreamT*> ready;
  for (int i = 0; i < 3; i++) {
    ready.clear();
    for (void* stream : world().streams)
      if (!static_cast<StreamT*>(stream)->work.empty() &&
          !is_blocked(*static_cast<StreamT*>(stream)))
        ready.push_back(static_cast<StreamT*>(stream));
    state = state * 1664525u + 1013904223u;
    if (ready.empty() || (state >> 16) % 3 == 0) return;
    do_first(ready[(state >> 20) % ready.size()]);
  }
}
inline void queue(StreamT* stream, std::function<void()> act) {
  if (world().control.order == kAtOnce && stream->work.empty()) return act();
  stream->work.push_back({nullptr, 0, std::move(act)});
  world().control.queued++;
}
inline bool is_dropped(const char* name) {
  return world().control.drop_call && std::strcmp(world().control.drop_call, name) == 0;
}

/// Nanoseconds of a launch, see fake_driver.h; `kernel` as in FAKE_CUDA_TIMES. Allocates nothing:
/// runs are watched for that.
inline uint64_t duration_of(const char* kernel) {
  constexpr uint64_t kOtherwise = 1'000'000;
  const char* text = world().control.times ? world().control.times : std::getenv("FAKE_CUDA_TIMES");
  const size_t length = std::strlen(kernel);
  for (; text && *text; text = std::strchr(text, ','), text = text ? text + 1 : nullptr)
    if (std::strncmp(text, kernel, length) == 0 && text[length] == '=')
      return std::strtoull(text + length + 1, nullptr, 10);
  return kOtherwise;
}

void run_conditional(const ConditionalNode& node);

inline void run_node(const Node& node) {
  if (node.conditional) return run_conditional(*node.conditional);
  if (node.event) {
    node.event->reached = ++node.event->recorded;
    node.event->time = world().now;
    return;
  }
  GpuLaunch launch = node.launch;
  launch.params = node.params.data();
  world().control.kernels++;
  if (node.test)
    return emulate::launch({launch.grid_x, launch.grid_y, launch.grid_z}, node.test->threads,
                           launch.shared_bytes, node.test->run, launch.params);
  const char* const name = ingot_cuda_kernel_set.kernels[size_t(node.kernel)].name;
  hang_in(name);
  world().now += duration_of(name + std::strlen("ingot_"));
  world().kernel_runs[size_t(node.kernel)]++;
  if (!is_wrong(name)) (void)emulate::run_launch(launch);
}

/// False where a node waits for one that is not there, or for one twice.
inline bool set_before(const GraphT& graph, const GraphNode* before, size_t count, Node* node) {
  for (size_t i = 0; i < count; i++) {
    if (before[i]->graph != &graph || before[i]->index >= graph.nodes.size()) return false;
    for (const size_t other : node->before)
      if (other == before[i]->index) return false;
    node->before.push_back(before[i]->index);
  }
  return true;
}
inline GraphNode add_node(Graph graph, Node node) {
  graph->nodes.push_back(std::move(node));
  world().nodes.push_back(std::make_unique<GraphNodeT>());
  world().nodes.back()->graph = graph, world().nodes.back()->index = graph->nodes.size() - 1;
  return world().nodes.back().get();
}
/// In which order an executable graph runs its nodes: of those that wait for nothing more the one
/// that was added last, which is far from the order of the program. A dependency that says less
/// than it has to changes a result, as a race on hardware would.
inline std::vector<size_t> running_order(const GraphT& graph) {
  const size_t count = graph.nodes.size();
  std::vector<size_t> waits(count), order;
  std::vector<std::vector<size_t>> behind(count);
  for (size_t n = 0; n < count; n++) {
    if (graph.nodes[n].is_early && races()) continue;
    waits[n] = graph.nodes[n].before.size();
    for (const size_t before : graph.nodes[n].before) behind[before].push_back(n);
  }
  std::set<size_t> ready;
  for (size_t n = 0; n < count; n++)
    if (!waits[n]) ready.insert(n);
  while (!ready.empty()) {
    const size_t n = *ready.rbegin();
    ready.erase(n);
    order.push_back(n);
    for (const size_t next : behind[n])
      if (!--waits[next]) ready.insert(next);
  }
  return order;
}

}  // namespace ingot::cuda

using namespace ingot::cuda;
using ingot::GpuKernel;

#define ENTER(name)                                               \
  const Marked marked;                                            \
  const std::lock_guard<std::recursive_mutex> hold(world().lock); \
  if (const Result injected = enter(#name)) return injected
// What gives something back does so even when it must fail, as after an error of an earlier launch.
#define ENTER_TO_RELEASE(name)                                    \
  const Marked marked;                                            \
  const std::lock_guard<std::recursive_mutex> hold(world().lock); \
  const Result injected = enter(#name)
#define ENTER_WITH_CONTEXT(name)           \
  ENTER(name);                             \
  if (!current.empty() && refused_context) \
    return misuse(                         \
        "in the context before one that was \
  refused");                               \
  if (current.empty())                     \
  return refused_context ? kInvalidContext \
                         : (misuse("no context is     \
  current"),                               \
                            kInvalidContext)
#define ENTER_TO_RELEASE_WITH_CONTEXT(name) \
  ENTER_TO_RELEASE(name);                   \
  if (current.empty() && !refused_context) misuse("no context is current")
#define CHECK_DEVICE(device) \
  if (device < 0 || size_t(device) >= visible().size()) return kInvalidDevice
// A stream that is alive, in the context that is current.
#define CHECK_STREAM(stream)                                                       \
  if (!world().streams.count(stream)) return misuse("a stream that is not alive"); \
  if ((stream)->context != current.back())                                         \
  return misuse("a stream of another context than the current one")
