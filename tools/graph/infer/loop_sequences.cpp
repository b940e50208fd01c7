// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/loop_sequences.cpp - sequences that a Loop carries. Where each iteration
// appends one tensor and nothing in the body looks at them, the tensors are rows of an output.
#include <algorithm>

#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

size_t count_uses(const Graph& graph, ValueId id) {
  size_t uses = size_t(std::count(graph.outputs.begin(), graph.outputs.end(), id));
  for (const Node& node : graph.nodes) {
    uses += size_t(std::count(node.inputs.begin(), node.inputs.end(), id));
    for (const auto& [key, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attribute))
        uses += count_uses(**inner, id);
  }
  return uses;
}

template <class T>
void erase_at(std::vector<T>& from, size_t at) {
  from.erase(from.begin() + std::ptrdiff_t(at));
}

}  // namespace

void Inference::refuse_sequence(ValueId id) const {
  if (sequence(id))
    throw Refusal{"", "an operand is a sequence, which exists during conversion alone",
                  "export it so that the tensors of the sequence are passed one by one"};
}

std::vector<Inference::AppendedSequence> Inference::take_sequences(Node& loop) {
  std::vector<AppendedSequence> taken;
  const std::shared_ptr<Graph> body = loop.op == op::Loop ? loop.subgraph(attr::body) : nullptr;
  // its counts are checked where the loop is read
  if (!body || loop.inputs.size() < 2 || body->inputs.size() != loop.inputs.size() ||
      body->outputs.size() + 1 < loop.inputs.size())
    return taken;
  loop.outputs.resize(body->outputs.size() - 1, kAbsent);
  for (size_t carried = loop.inputs.size() - 2; carried-- > 0;) {
    const Sequence* const before = sequence(loop.inputs[carried + 2]);
    if (!before) continue;
    const ValueId inner = body->inputs[carried + 2], next = body->outputs[carried + 1];
    const auto insert = std::find_if(body->nodes.begin(), body->nodes.end(), [&](const Node& node) {
      return node.op == op::SequenceInsert && node.inputs.size() == 2 && node.inputs[0] == inner &&
             !node.outputs.empty() && node.outputs[0] == next;
    });
    if (insert == body->nodes.end() || count_uses(*body, inner) != 1 ||
        count_uses(*body, next) != 1 || before->rows != kAbsent)
      throw Refusal{"", "it carries a sequence to which it does more than append one tensor",
                    "export it so that it stacks rows (a scan output), or carries tensors"};
    const ValueId rows = model.add_value(loop.name + "/rows" + std::to_string(model.values.size()));
    taken.push_back({*before, loop.outputs[carried], rows});
    body->outputs.push_back(insert->inputs[1]);
    loop.outputs.push_back(rows);
    body->nodes.erase(insert);
    erase_at(loop.inputs, carried + 2);
    erase_at(loop.outputs, carried);
    erase_at(body->inputs, carried + 2);
    erase_at(body->outputs, carried + 1);
  }
  return taken;
}

void Inference::place_sequence(const AppendedSequence& appended) {
  if (appended.result == kAbsent) return;
  Value& mark = model.values[size_t(appended.result)];  // as NodeContext::make_sequence()
  mark.dtype = DType::kU8;
  mark.dims.clear();
  mark.shape_known = true;
  set_sequence(appended.result, {appended.before.tensors, resolve(appended.rows)});
}

}  // namespace ingot::graph
