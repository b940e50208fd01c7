// SPDX-License-Identifier: Apache-2.0
// tests/cuda/fake_driver/conditional.cpp - entry points: conditional nodes; what a kernel that sets
// a condition does; and running them.
#include "tests/cuda/fake_driver/conditional.h"

#include "tests/cuda/fake_driver/world.h"

namespace ingot::cuda {
namespace {

constexpr Result kNotSupported = 801, kLaunchTimeout = 702;

int version() { return int(number("FAKE_CUDA_VERSION", 13000)); }

/// What cudaGraphSetConditional() is here.
void set_condition(uint64_t handle, bool value) {
  if (is_dropped("cudaGraphSetConditional")) return;
  if (world().running)
    for (const auto& condition : world().running->conditions)
      if (condition->handle == handle) return void(condition->value = value);
  (void)misuse("a kernel sets a condition that is none of its graph");
}

std::shared_ptr<Conditional> find_condition(const GraphT& graph, uint64_t handle) {
  for (const auto& condition : graph.conditions)
    if (condition->handle == handle) return condition;
  return nullptr;
}

void run_body(const GraphT& body) {
  for (const size_t n : body.order)
    if (!world().control.sticky) run_node(body.nodes[n]);
}

}  // namespace

Result check_conditions(GraphT* graph) {
  bool any = !graph->conditions.empty();
  for (const auto& condition : graph->conditions)
    if (!condition->is_placed) return misuse("a condition without a node");
  for (const Node& node : graph->nodes)
    if (node.conditional)
      for (const auto& body : node.conditional->bodies)
        if (const Result result = check_conditions(body.get())) return result;
  if (any && graph->is_instantiated)
    return misuse("a second executable graph of one with conditional nodes");
  graph->is_instantiated = true;
  return kOk;
}

void collect_conditions(const GraphT& graph, std::vector<std::shared_ptr<Conditional>>* out) {
  out->insert(out->end(), graph.conditions.begin(), graph.conditions.end());
  for (const Node& node : graph.nodes)
    if (node.conditional)
      for (const auto& body : node.conditional->bodies) collect_conditions(*body, out);
}

bool all_run_in(const GraphT& graph, const ContextT* context) {
  for (const Node& node : graph.nodes) {
    if (node.function &&
        (node.function->context != context || !world().modules.count(node.function->module)))
      return false;
    if (!node.conditional) continue;
    if (node.conditional->condition->context != context) return false;
    for (const auto& body : node.conditional->bodies)
      if (!all_run_in(*body, context)) return false;
  }
  return true;
}

void forget_bodies(const GraphT& graph) {
  for (const Node& node : graph.nodes)
    if (node.conditional)
      for (const auto& body : node.conditional->bodies) {
        forget_bodies(*body);
        world().graphs.erase(body.get());
      }
}

void run_conditional(const ConditionalNode& node) {
  FakeCuda& control = world().control;
  control.decided++;
  if (node.kind == kConditionalIf) {
    const size_t which = node.condition->value ? 0 : 1;
    if (which < node.bodies.size()) run_body(*node.bodies[which]);
    return;
  }
  const uint64_t most = control.most_rounds ? control.most_rounds : 100'000;
  for (uint64_t round = 0; node.condition->value && !control.sticky; round++) {
    if (round == most) {
      (void)misuse("a loop inside a graph that does not end");
      control.sticky = kLaunchTimeout;
      return;
    }
    run_body(*node.bodies[0]);
  }
}

}  // namespace ingot::cuda

extern "C" {

Result cuGraphConditionalHandleCreate(uint64_t* handle, Graph graph, Context context,
                                      unsigned value, unsigned flags) {
  ENTER_WITH_CONTEXT(cuGraphConditionalHandleCreate);
  if (version() < kConditionalDriver) return kNotSupported;
  if (!world().graphs.count(graph)) return misuse("a graph that is not alive");
  if (!is_alive(context)) return misuse("a context that is not alive");
  if (flags & ~kConditionAssignDefault) return kInvalidValue;
  emulate::conditional_setter = set_condition;
  auto condition = std::make_shared<Conditional>();
  condition->handle = 0xc0de000000000000u + ++world().handles;
  condition->context = context;
  condition->initial = value;
  condition->is_assigned = flags & kConditionAssignDefault;
  graph->conditions.push_back(condition);
  *handle = condition->handle;
  return kOk;
}

Result cuGraphAddNode_v2(GraphNode* node, Graph graph, const GraphNode* before, const void* edges,
                         size_t count, ConditionalNodeParams* p) {
  ENTER_WITH_CONTEXT(cuGraphAddNode_v2);
  if (version() < kConditionalDriver) return kNotSupported;
  if (!world().graphs.count(graph)) return misuse("a graph that is not alive");
  Node added;
  if (!set_before(*graph, before, count, &added))
    return misuse("a node that waits for one of another graph, or twice for one");
  const ConditionalNodeParams zero = {};
  if (edges || p->type != kNodeConditional ||
      std::memcmp(p->reserved, zero.reserved, sizeof zero.reserved) != 0 ||
      std::memcmp(p->padding, zero.padding, sizeof zero.padding) != 0)
    return misuse("parameters of a node that is not conditional, or with bytes that are not zero");
  const bool is_if = p->kind == kConditionalIf;
  if ((!is_if && p->kind != kConditionalWhile) || p->size < 1 ||
      p->size > (is_if && version() >= kElseDriver ? 2u : 1u))
    return kInvalidValue;
  const std::shared_ptr<Conditional> condition = find_condition(*graph, p->handle);
  if (!condition || condition->is_placed)
    return misuse("a condition of another graph, or of another node");
  if (condition->context != p->context)
    return misuse("a node in another context than its condition");
  condition->is_placed = true;
  added.conditional = std::make_shared<ConditionalNode>();
  added.conditional->kind = p->kind;
  added.conditional->condition = condition;
  for (unsigned i = 0; i < p->size; i++) {
    auto body = std::make_shared<GraphT>();
    body->is_body = true;
    body->is_in_loop = graph->is_in_loop || !is_if;
    world().graphs.insert(body.get());
    added.conditional->handed_out.push_back(body.get());
    added.conditional->bodies.push_back(std::move(body));
  }
  p->bodies = added.conditional->handed_out.data();
  *node = add_node(graph, std::move(added));
  return kOk;
}

}  // extern "C"
