// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/graphs.cpp - entry points: graphs; conditional.cpp has those of
// conditional nodes.
#include "runtime/device/gpu/service_kernels.h"
#include "tests/cuda/fake_driver/conditional.h"
#include "tests/cuda/fake_driver/world.h"

namespace {

/// Whether a kernel that decides reads memory of the host whenever it runs.
bool reads_over_the_bus(const ingot::DecideParams& p) {
  const auto is_pinned = [](const volatile void* at) {
    return at && holds(world().pinned, uint64_t(reinterpret_cast<uintptr_t>(at)), 1);
  };
  return is_pinned(p.fault) || is_pinned(p.trip) || is_pinned(p.taken[0]) ||
         is_pinned(p.taken[1]) || is_pinned(p.condition) || is_pinned(p.count);
}

constexpr const char* kWrongWait = "a node that waits for one of another graph, or twice for one";

/// A launch may ask for no more shared memory than its function is allowed now, whatever it was
/// allowed when the node was added.
bool is_allowed_shared(const GraphT& graph) {
  for (const Node& node : graph.nodes) {
    if (node.function && node.launch.shared_bytes > node.function->most_shared) return false;
    if (!node.conditional) continue;
    for (const auto& body : node.conditional->bodies)
      if (!is_allowed_shared(*body)) return false;
  }
  return true;
}

/// What is wrong with a launch, in a graph or by itself; else `added` is what runs.
Result describe_launch(const KernelNodeParams& p, Node* added) {
  const TestKernel* test = p.function->test;
  const GpuKernel* kernel =
      test ? nullptr : &ingot_cuda_kernel_set.kernels[size_t(p.function->kernel)];
  const uint32_t threads = test ? test->threads : kernel->threads;
  const uint32_t params_bytes = test ? test->params_bytes : kernel->params_bytes;
  if (!p.grid_x || !p.grid_y || !p.grid_z || p.grid_x > INT32_MAX || p.grid_y > 65535 ||
      p.grid_z > 65535 || p.shared_bytes > p.function->most_shared || p.extra)
    return kInvalidValue;
  if (p.block_x != threads || p.block_y != 1 || p.block_z != 1) return kInvalidValue;
  added->function = p.function;
  added->kernel = p.function->kernel;
  added->test = test;
  added->launch.kernel = test ? uint16_t{0} : uint16_t(p.function->kernel);
  added->launch.grid_x = p.grid_x, added->launch.grid_y = p.grid_y, added->launch.grid_z = p.grid_z;
  added->launch.shared_bytes = p.shared_bytes;
  added->launch.params_bytes = decltype(added->launch.params_bytes)(params_bytes);
  const uint8_t* params = static_cast<const uint8_t*>(p.params[0]);
  added->params.assign(params, params + params_bytes);
  return kOk;
}

/// FAKE_CUDA_REFUSES: what this driver's graphs lack, of "early", "branches", "conditions" and
/// "graphs".
bool refuses(const char* what) {
  const char* const text = std::getenv("FAKE_CUDA_REFUSES");
  return text && std::strstr(text, what);
}

/// Bodies are the driver's: nobody adds to them any more.
void set_orders(GraphT* graph) {
  graph->order = running_order(*graph);
  for (size_t n = 1; n < graph->nodes.size(); n++) {
    const std::vector<size_t>& before = graph->nodes[n].before;
    world().control.branches += std::find(before.begin(), before.end(), n - 1) == before.end();
  }
  for (Node& node : graph->nodes)
    if (node.conditional)
      for (const auto& body : node.conditional->bodies) set_orders(body.get());
}

}  // namespace

extern "C" {

Result cuGraphCreate(Graph* graph, unsigned flags) {
  ENTER(cuGraphCreate);
  if (flags) return kInvalidValue;
  *graph = create<GraphT>(world().graphs, &world().control.graphs);
  return kOk;
}
Result cuGraphAddEventRecordNode(GraphNode* node, Graph graph, const GraphNode* before,
                                 size_t count, Event event) {
  ENTER(cuGraphAddEventRecordNode);
  if (!world().graphs.count(graph)) return misuse("a graph that is not alive");
  if (!world().events.count(event)) return misuse("an event that is not alive");
  Node added;
  if (!set_before(*graph, before, count, &added)) return misuse(kWrongWait);
  if (graph->is_body) return misuse("an event inside a conditional node");
  added.event = event;
  *node = add_node(graph, std::move(added));
  return kOk;
}
Result cuGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count,
                            const KernelNodeParams* p) {
  ENTER(cuGraphAddKernelNode);
  if (!world().graphs.count(graph)) return misuse("a graph that is not alive");
  Node added;
  if (!set_before(*graph, before, count, &added)) return misuse(kWrongWait);
  if (current.empty() || p->function->context != current.back())
    return misuse("a function of another context than the current one");
  if (const Result result = describe_launch(*p, &added)) return result;
  if (graph->is_in_loop && !added.test && added.kernel == ingot_cuda_kernel_set.decide) {
    ingot::DecideParams decides;
    std::memcpy(&decides, added.params.data(), sizeof decides);
    world().control.bus_words += reads_over_the_bus(decides);
  }
  *node = add_node(graph, std::move(added));
  return kOk;
}
Result cuGraphAddDependencies_v2(Graph graph, const GraphNode* from, const GraphNode* to,
                                 const EdgeData* edges, size_t count) {
  ENTER(cuGraphAddDependencies_v2);
  if (number("FAKE_CUDA_VERSION", 13000) < 12030) return kInvalidValue;
  if (!world().graphs.count(graph)) return misuse("a graph that is not alive");
  for (size_t i = 0; i < count; i++) {
    if (to[i]->graph != graph || from[i]->graph != graph) return misuse(kWrongWait);
    Node& node = graph->nodes[to[i]->index];
    const EdgeData& edge = edges[i];
    for (const unsigned char byte : edge.reserved)
      if (byte) return kInvalidValue;
    if (edge.from_port != 1 || edge.to_port != 0 || edge.type != 1) return kInvalidValue;
    if (!node.function || !graph->nodes[from[i]->index].function || graph->is_body)
      return misuse("an early start that is not between two kernels of a plain graph");
    if (current.empty()) return misuse("no context is current");
    const int sm = int(number_of("FAKE_CUDA_SM", current.back()->device, 0));
    if (sm && sm < 90) return misuse("an early start on an architecture that has none");
    if (!node.before.empty() || from[i]->index >= to[i]->index)
      return misuse("an early start of a kernel that waits for others, too");
    node.before.push_back(from[i]->index);
    node.is_early = true;
    world().control.early++;
  }
  return kOk;
}
Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  ENTER_WITH_CONTEXT(cuGraphInstantiateWithFlags);
  if (!world().graphs.count(graph)) return misuse("a graph that is not alive");
  if (const Result result = check_conditions(graph)) return result;
  if (!is_allowed_shared(*graph)) return kInvalidValue;
  if (refuses("graphs")) return kNotPermitted;
  for (size_t n = 1; n < graph->nodes.size(); n++) {
    const std::vector<size_t>& before = graph->nodes[n].before;
    if ((refuses("early") && graph->nodes[n].is_early) ||
        (refuses("branches") && std::find(before.begin(), before.end(), n - 1) == before.end()) ||
        (refuses("conditions") && graph->nodes[n].conditional))
      return kNotPermitted;
  }
  *exec = create<GraphExecT>(world().execs, &world().control.execs);
  (*exec)->graph = *graph;
  set_orders(&(*exec)->graph);
  collect_conditions((*exec)->graph, &(*exec)->conditions);
  return kOk;
}
Result cuGraphUpload(GraphExec exec, Stream stream) {
  ENTER_WITH_CONTEXT(cuGraphUpload);
  CHECK_STREAM(stream);
  return world().execs.count(exec) ? kOk : misuse("a graph that is not alive");
}
Result cuGraphLaunch(GraphExec exec, Stream stream) {
  ENTER_WITH_CONTEXT(cuGraphLaunch);
  CHECK_STREAM(stream);
  if (!world().execs.count(exec)) return misuse("a graph that is not alive");
  if (!all_run_in(exec->graph, stream->context))
    return misuse(
        "a kernel of another context than the stream's, or of a module that is not loaded");
  if (!is_allowed_shared(exec->graph)) return kInvalidValue;
  world().control.launches++;
  queue(stream, [exec] {
    const uint64_t began = world().now;
    world().running = exec;
    for (const auto& condition : exec->conditions)
      if (condition->is_assigned) condition->value = condition->initial;
    for (const size_t n : exec->graph.order) run_node(exec->graph.nodes[n]);
    world().running = nullptr;
    const long noise = number("FAKE_CUDA_NOISE", 0);
    if (noise > 0 && ++world().graphs_run % uint64_t(noise) == 0)
      world().now += 9 * (world().now - began);
  });
  return kOk;
}
Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      Stream stream, void** params, void** extra) {
  ENTER_WITH_CONTEXT(cuLaunchKernel);
  CHECK_STREAM(stream);
  if (function->context != stream->context)
    return misuse("a function of another context than the stream's");
  auto node = std::make_shared<Node>();
  if (const Result result = describe_launch({function, grid_x, grid_y, grid_z, block_x, block_y,
                                             block_z, shared_bytes, params, extra},
                                            node.get()))
    return result;
  world().control.plain++;
  queue(stream, [node] { run_node(*node); });
  return kOk;
}
Result cuGraphExecDestroy(GraphExec exec) {
  ENTER_TO_RELEASE_WITH_CONTEXT(cuGraphExecDestroy);
  drain_all();
  const Result result = destroy(world().execs, exec, &world().control.execs);
  return result ? result : injected;
}
Result cuGraphDestroy(Graph graph) {
  ENTER_TO_RELEASE(cuGraphDestroy);
  if (world().graphs.count(graph)) {
    if (graph->is_body) return misuse("a graph that is the body of a node");
    forget_bodies(*graph);
  }
  const Result result = destroy(world().graphs, graph, &world().control.graphs);
  return result ? result : injected;
}

}  // extern "C"
