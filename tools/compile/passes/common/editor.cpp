// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/common/editor.h"

#include <algorithm>
#include <exception>
#include <queue>
#include <set>

#include "tools/compile/passes/common/source_order.h"
#include "tools/files/work_budget.h"
#include "tools/graph/data_dependent.h"

namespace ingot::passes {
namespace {

void collect_inner(const Graph& graph, std::set<ValueId>& made) {
  for (ValueId id : graph.inputs) made.insert(id);
  for (const Node& node : graph.nodes) {
    if (node.dead) continue;
    for (ValueId id : node.outputs) made.insert(id);
    for (Graph* inner : branches(const_cast<Node&>(node))) collect_inner(*inner, made);
  }
}

// Visits every operand inside a branch, nested ones too, that is not in `made`.
template <class Visit>
void visit_outer_reads(const Model& model, Graph& graph, const std::set<ValueId>& made,
                       Visit& visit) {
  for (Node& node : graph.nodes) {
    if (node.dead) continue;
    for (ValueId& id : node.inputs)
      if (id >= 0 && !made.count(id)) visit(id);
    for (ValueId id : graph::resolvers_of(model, node))
      if (!made.count(id)) visit(id);
    for (Graph* inner : branches(node)) visit_outer_reads(model, *inner, made, visit);
  }
  for (ValueId& id : graph.outputs)
    if (id >= 0 && !made.count(id)) visit(id);
}

// Calls `visit` for every value read by the branches of an If but made outside them; visit may
// change it.
template <class Visit>
void visit_captures(Model& model, Node& node, Visit visit) {
  if (node.op != op::If && node.op != op::Loop && node.op != op::Scan) return;
  for (Graph* branch : branches(node)) {
    std::set<ValueId> made;
    collect_inner(*branch, made);
    auto unless_constant = [&](ValueId& id) {
      if (!model.constant(id)) visit(id);
    };
    visit_outer_reads(model, *branch, made, unless_constant);
  }
}

}  // namespace

std::vector<Graph*> branches(Node& node) {
  std::vector<Graph*> found;
  for (auto& [key, attribute] : node.attributes)
    if (auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute))
      found.push_back(graph->get());
  return found;
}

std::vector<Graph*> graphs_inside_out(Graph& graph) {
  std::vector<Graph*> found;
  for (Node& node : graph.nodes)
    for (Graph* inner : branches(node))
      for (Graph* each : graphs_inside_out(*inner)) found.push_back(each);
  found.push_back(&graph);
  return found;
}

Editor::Editor(Model& model_, Graph& graph_) : model(model_), graph(graph_) {
  for (size_t i = 0; i < graph.outputs.size(); i++) output_places_[graph.outputs[i]].push_back(i);
  inputs_.insert(graph.inputs.begin(), graph.inputs.end());
  ports_walked_ = graph.outputs.size() + graph.inputs.size();
  uint64_t place = 0;
  for (Node& node : graph.nodes) {
    if (node.dead) continue;
    entries_.push_back({std::make_unique<Node>(std::move(node)), place++});
    Node& moved = *entries_.back().node;
    place_[&moved] = entries_.back().place;
    shares_values_ = shares_values_ || !branches(moved).empty() || &graph != &model.graph;
    index(moved, true);
  }
  graph.nodes.clear();
}

void Editor::index(Node& node, bool add) {
  is_sorted_ = false;
  auto note = [&](ValueId id) {
    if (id < 0) return;
    if (add)
      readers_[id].list.push_back(&node);
    else
      readers_[id].remove(&node);
    if (!add && !shares_values_ && model.constant(id)) lost_.push_back(id);
  };
  host::charge_work(1 + node.inputs.size() + node.outputs.size());
  for (ValueId id : node.inputs) note(id);
  for (ValueId id : graph::resolvers_of(model, node)) note(id);
  visit_captures(model, node, [&](ValueId& id) { note(id); });
  for (ValueId id : node.outputs) {
    if (id < 0) continue;
    Node*& maker = producer_[id];
    maker = add ? &node : maker == &node ? nullptr : maker;
  }
}

void Editor::drop_unread_constants() {
  for (const ValueId id : lost_) {
    if (reader_count(id) || is_output(id) || is_input(id)) continue;
    value(id).constant.reset();
    value(id).shape_known = false;
  }
  lost_.clear();
}

void Editor::Readers::remove(const Node* node) {
  constexpr size_t kSmall = 32;
  if (list.size() <= kSmall && gone_count == 0) {
    if (const auto at = std::find(list.begin(), list.end(), node); at != list.end()) list.erase(at);
    return;
  }
  gone[node]++;
  if (++gone_count > list.size() / 2 + kSmall) sweep();
}

void Editor::Readers::sweep() {
  if (gone_count == 0) return;
  host::charge_work(list.size());
  const auto is_gone = [&](const Node* node) {
    const auto found = gone.find(node);
    if (found == gone.end() || found->second == 0) return false;
    found->second--;
    return true;
  };
  list.erase(std::remove_if(list.begin(), list.end(), is_gone), list.end());
  gone.clear();
  gone_count = 0;
}

void Editor::bury_dead() const {
  const auto lives = [](const Entry& entry) { return !entry.node->dead; };
  const auto dead = std::stable_partition(entries_.begin(), entries_.end(), lives);
  buried_.insert(buried_.end(), std::make_move_iterator(dead),
                 std::make_move_iterator(entries_.end()));
  entries_.erase(dead, entries_.end());
}

const std::vector<size_t>& Editor::sorted() const {
  if (is_sorted_) return order_;
  bury_dead();
  std::unordered_map<const Node*, size_t> position;
  position.reserve(entries_.size());
  for (size_t i = 0; i < entries_.size(); i++) position[entries_[i].node.get()] = i;
  std::vector<size_t> missing(entries_.size(), 0);
  std::vector<std::vector<size_t>> followers(entries_.size());
  using Key = std::pair<uint64_t, size_t>;
  std::priority_queue<Key, std::vector<Key>, std::greater<Key>> ready;
  uint64_t work = 0;
  for (size_t i = 0; i < entries_.size(); i++) {
    Node& node = *entries_[i].node;
    auto need = [&](ValueId id) {
      work++;
      Node* const maker = producer(id);
      if (!maker) return;
      followers[position.at(maker)].push_back(i);
      missing[i]++;
    };
    for (ValueId id : node.inputs) need(id);
    for (ValueId id : graph::resolvers_of(model, node)) need(id);
    visit_captures(model, node, [&](ValueId& id) { need(id); });
    if (!missing[i]) ready.push({entries_[i].place, i});
  }
  host::charge_work(work + entries_.size());
  order_.clear();
  while (!ready.empty()) {
    size_t i = ready.top().second;
    ready.pop();
    order_.push_back(i);
    for (size_t next : followers[i])
      if (!--missing[next]) ready.push({entries_[next].place, next});
  }
  if (order_.size() != entries_.size())
    graph::fail_internal("passes: a rewrite made the graph cyclic; please report this model");
  is_sorted_ = true;
  return order_;
}

std::vector<Node*> Editor::nodes() const {
  std::vector<Node*> result;
  for (size_t i : sorted()) result.push_back(entries_[i].node.get());
  host::charge_work(result.size());
  return result;
}

Node* Editor::producer(ValueId id) const {
  const auto found = id < 0 ? producer_.end() : producer_.find(id);
  return found == producer_.end() ? nullptr : found->second;
}

Node* Editor::producer_if(ValueId id, graph::Operator op) const {
  Node* node = producer(id);
  return node && node->op == op ? node : nullptr;
}

size_t Editor::reader_count(ValueId id) const {
  const auto found = readers_.find(id);
  if (found == readers_.end()) return 0;
  Readers& all = found->second;
  // Nobody asks whether there are three or four. Fewer are counted, in a list that is then short as
  // well.
  constexpr size_t kMany = 3;
  if (all.list.size() >= all.gone_count + kMany) return all.list.size() - all.gone_count;
  all.sweep();
  return all.list.size();
}

const std::vector<Node*>& Editor::readers(ValueId id) const {
  static const std::vector<Node*> kNobody;
  const auto found = readers_.find(id);
  if (found == readers_.end()) return kNobody;
  found->second.sweep();
  return found->second.list;
}

void Editor::set_graph_input(size_t place, ValueId id) {
  const ValueId before = graph.inputs[place];
  graph.inputs[place] = id;
  inputs_.erase(before);
  inputs_.insert(id);
  ports_walked_++;
}

void Editor::set_graph_output(size_t place, ValueId id) {
  const auto before = output_places_.find(graph.outputs[place]);
  std::erase(before->second, place);
  ports_walked_ += before->second.size() + 1;
  if (before->second.empty()) output_places_.erase(before);
  graph.outputs[place] = id;
  output_places_[id].push_back(place);
}

ValueId Editor::new_value(const std::string& name, DType dtype, Dims dims) {
  ValueId id = model.add_value(name, dtype);
  value(id).dims = std::move(dims);
  value(id).shape_known = true;
  return id;
}

ValueId Editor::new_constant(const std::string& name, Constant constant) {
  Dims dims(constant.dims.begin(), constant.dims.end());
  DType dtype = constant.dtype;
  ValueId id = model.add_constant(name, std::move(constant));
  value(id).dtype = dtype;
  value(id).dims = std::move(dims);
  value(id).shape_known = true;
  return id;
}

uint64_t Editor::place_of(const Node& node) const {
  auto at = place_.find(&node);
  return at == place_.end() ? entries_.size() + buried_.size() : at->second;
}

Node& Editor::add(graph::Operator op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
                  const Node& from, Attributes attributes) {
  auto node = std::make_unique<Node>();
  node->op = op;
  node->name = from.name;
  node->sources = from.sources;
  node->inputs = std::move(inputs);
  node->outputs = std::move(outputs);
  node->attributes = std::move(attributes);
  entries_.push_back({std::move(node), place_of(from)});
  Node& added = *entries_.back().node;
  place_[&added] = entries_.back().place;
  index(added, true);
  relate_to_source(model, added);
  return added;
}

ValueId Editor::emit(graph::Operator op, std::vector<ValueId> inputs, DType dtype, Dims dims,
                     const Node& from, Attributes attributes) {
  std::string base =
      !from.outputs.empty() && from.outputs[0] >= 0 ? value(from.outputs[0]).name : from.name;
  ValueId out = new_value(base + "/" + text(op), dtype, std::move(dims));
  add(op, std::move(inputs), {out}, from, std::move(attributes));
  return out;
}

ValueId Editor::transpose(ValueId x, const Integers& perm, const Node& from) {
  if (is_identity(perm)) return x;
  return emit(op::Transpose, {x}, value(x).dtype, permuted(dims(x), perm), from,
              {{attr::perm, perm}});
}

ValueId Editor::reshape(ValueId x, Dims to, const Node& from) {
  if (same(dims(x), to)) return x;
  return emit(op::Reshape, {x}, value(x).dtype, std::move(to), from);
}

void Editor::set_input(Node& node, size_t at, ValueId id) {
  std::vector<ValueId> inputs = node.inputs;
  inputs[at] = id;
  set_inputs(node, std::move(inputs));
}

void Editor::set_inputs(Node& node, std::vector<ValueId> inputs) {
  index(node, false);
  node.inputs = std::move(inputs);
  index(node, true);
}

void Editor::set_outputs(Node& node, std::vector<ValueId> outputs) {
  index(node, false);
  node.outputs = std::move(outputs);
  index(node, true);
}

void Editor::kill(Node& node) {
  if (node.dead) return;
  index(node, false);
  node.dead = true;
}

void Editor::replace_reads(ValueId from, ValueId to) {
  if (from == to) return;
  is_sorted_ = false;
  // Only what changes is indexed anew: one reader may have thousands of other operands.
  const std::vector<Node*> readers = this->readers(from);
  readers_.erase(from);
  std::vector<Node*>& gained = readers_[to].list;
  std::set<Node*> done;
  for (Node* node : readers) {
    if (!done.insert(node).second) continue;
    host::charge_work(1 + node->inputs.size());
    for (ValueId& id : node->inputs)
      if (id == from) id = to, gained.push_back(node);
    for (ValueId id : graph::resolvers_of(model, *node))
      if (id == from) gained.push_back(node);
    visit_captures(model, *node, [&](ValueId& id) {
      if (id != from) return;
      id = to;
      if (!model.constant(to)) gained.push_back(node);
    });
  }
  if (resolved_by_.empty())
    for (const auto& [name, symbol] : model.data_dependent) resolved_by_[symbol.by].push_back(name);
  if (const auto found = resolved_by_.find(from); found != resolved_by_.end()) {
    const std::vector<std::string> names = std::move(found->second);
    resolved_by_.erase(found);
    for (const std::string& name : names) {
      model.data_dependent.at(name).by = to;
      resolved_by_[to].push_back(name);
    }
  }
}

bool Editor::bypass(Node& node, ValueId x) {
  ValueId y = node.outputs[0];
  if (is_output(y) && &graph == &model.graph) {
    Node* maker = producer(x);
    if (!maker || is_output(x)) return false;
    kill(node);
    std::vector<ValueId> outputs = maker->outputs;
    std::replace(outputs.begin(), outputs.end(), x, y);
    set_outputs(*maker, std::move(outputs));
    replace_reads(x, y);
    inherit_sources(*maker, node);
    return true;
  }
  kill(node);
  replace_reads(y, x);
  if (const auto places = output_places_.find(y); places != output_places_.end())
    for (const size_t place : std::vector<size_t>(places->second)) set_graph_output(place, x);
  if (Node* maker = producer(x)) inherit_sources(*maker, node);
  return true;
}

std::unordered_set<uint32_t>& Editor::sources_of(const Node& node) {
  std::unordered_set<uint32_t>& known = long_sources_[&node];
  if (known.size() != node.sources.size()) {
    host::charge_work(node.sources.size());
    known = {node.sources.begin(), node.sources.end()};
  }
  return known;
}

void Editor::merge_sources(Node& into, const Node& from) {
  constexpr size_t kSmall = 16, kMaxLent = 1024;
  size_t readers = 0;
  for (ValueId id : from.outputs)
    readers += from.dead || id < 0 ? 0 : reader_count(id) + is_output(id);
  size_t left = readers <= 1 ? from.sources.size() : kMaxLent;
  for (uint32_t source : from.sources) {
    if (left-- == 0) return;
    host::charge_work(1);
    if (into.sources.size() < kSmall) {
      if (std::find(into.sources.begin(), into.sources.end(), source) == into.sources.end())
        into.sources.push_back(source);
    } else if (sources_of(into).insert(source).second) {
      into.sources.push_back(source);
    }
  }
}

// The same for a node that is gone: the longer list is kept and the shorter one put in front of it,
// so that a chain of nodes that go one after another hands on what it gathered.
void Editor::inherit_sources(Node& into, Node& gone) {
  if (gone.sources.size() <= into.sources.size()) return merge_sources(into, gone);
  std::unordered_set<uint32_t> known = std::move(sources_of(gone));
  long_sources_.erase(&gone);
  std::vector<uint32_t> all = std::move(gone.sources);
  for (uint32_t source : into.sources)
    if (!known.insert(source).second) all.erase(std::find(all.begin(), all.end(), source));
  host::charge_work(into.sources.size());
  all.insert(all.begin(), into.sources.begin(), into.sources.end());
  into.sources = std::move(all);
  long_sources_[&into] = std::move(known);
  gone.sources.clear();
}

void Editor::commit() {
  // An error that leaves a pass takes the model with it: putting its nodes in order is work, which
  // may be refused again, and a second error in a destructor would end the program.
  if (committed_ || std::uncaught_exceptions() > 0) return;
  committed_ = true;
  drop_unread_constants();
  for (size_t i : sorted()) graph.nodes.push_back(std::move(*entries_[i].node));
}

Integers inverse(const Integers& perm) {
  Integers result(perm.size());
  for (size_t i = 0; i < perm.size(); i++) result[size_t(perm[i])] = int64_t(i);
  return result;
}

Dims permuted(const Dims& dims, const Integers& perm) {
  Dims result;
  for (int64_t p : perm) result.push_back(dims[size_t(p)]);
  return result;
}

Integers to_channels_last(size_t rank) {
  Integers perm = {0};
  for (size_t i = 2; i < rank; i++) perm.push_back(int64_t(i));
  perm.push_back(1);
  return perm;
}

bool is_identity(const Integers& perm) {
  for (size_t i = 0; i < perm.size(); i++)
    if (perm[i] != int64_t(i)) return false;
  return true;
}

bool same(const Dims& a, const Dims& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

Dim elements(const Dims& dims) {
  Dim n = 1;
  for (const Dim& d : dims) n = n * d;
  return n;
}

double estimated_elements(const Dims& dims) {
  double n = 1;
  for (const Dim& d : dims) {
    std::map<std::string, int64_t> bindings;
    for (const std::string& name : d.symbols()) bindings[name] = 32;
    n *= double(std::max<int64_t>(1, d.evaluate(bindings)));
  }
  return n;
}

}  // namespace ingot::passes
