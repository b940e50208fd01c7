// SPDX-License-Identifier: Apache-2.0
// Where values are permuted and where not, so that as few bytes as possible are transposed. For one
// permutation at a time every node that can work either way is a vertex, every Transpose that would
// be needed between two of them an edge with its cost, and the answer is a minimum cut: exact, not
// greedy. Repeated over the permutations that occur until nothing gets cheaper.
#include <algorithm>
#include <set>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/common/transposes.h"
#include "tools/compile/passes/layout/flip.h"
#include "tools/compile/passes/layout/max_flow.h"

namespace ingot::passes {
namespace {

constexpr double kPerTranspose = 4096;  // elements that one Transpose is worth whatever its size
constexpr int kMaxSweeps = 64, kMaxRounds = 12;
// Every flip is a gain, but where permutations do not cancel in pairs a flip may gain one Transpose
// alone. So many times the whole graph is looked at, and more often where it is small.
constexpr uint64_t kLeastLooks = 128, kLookedNodes = uint64_t{1} << 19;
// more for one that keeps two nodes apart that could become one
constexpr double kBetweenPartners = 64;

double transpose_cost(const Dims& dims, const Integers& perm) {
  return moves_only_units(dims, perm) ? 1 : kPerTranspose + estimated_elements(dims);
}

class Flipper {
 public:
  /// A permutation that is its own inverse has two readings of a Transpose by it: what it makes is
  /// permuted, or what it reads should be. `made` chooses the first.
  Flipper(Editor& e, Integers perm, bool made)
      : e_(e),
        perm_(std::move(perm)),
        back_(inverse(perm_)),
        own_inverse_(perm_ == back_),
        made_(made) {}

  /// Nodes that were flipped; 0 when leaving all as it is costs no more.
  uint32_t run() {
    nodes_ = e_.nodes();
    for (Node* node : nodes_)
      if (can_flip(e_, *node, perm_)) vertex_[node] = cut_.add_vertex();
    if (vertex_.empty()) return 0;
    for (ValueId id : values()) add_value(id);
    if (cut_.solve() >= cost_of_plain_ - 0.5) return 0;
    uint32_t changed = 0;
    for (Node* node : nodes_)
      if (vertex_.count(node) && cut_.on_sink_side(vertex_[node]))
        flip(*node), e_.drop_unread_constants(), changed++;
    return changed;
  }

 private:
  // All that nodes read or make and the graph gives, in the order of the table of values.
  std::vector<ValueId> values() const {
    std::vector<ValueId> all = e_.graph.outputs;
    for (Node* node : nodes_) {
      all.insert(all.end(), node->inputs.begin(), node->inputs.end());
      all.insert(all.end(), node->outputs.begin(), node->outputs.end());
      for (Graph* inner : branches(*node)) read_inside(*inner, &all);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    all.erase(all.begin(), std::lower_bound(all.begin(), all.end(), 0));
    return all;
  }
  static void read_inside(Graph& graph, std::vector<ValueId>* all) {
    for (Node& node : graph.nodes) {
      all->insert(all->end(), node.inputs.begin(), node.inputs.end());
      for (Graph* inner : branches(node)) read_inside(*inner, all);
    }
    all->insert(all->end(), graph.outputs.begin(), graph.outputs.end());
  }

  // The dims that `id` has where it takes part: 1 in front of what broadcasts.
  Dims full_dims(ValueId id) const {
    Dims dims = e_.dims(id);
    if (dims.size() < perm_.size()) dims.insert(dims.begin(), perm_.size() - dims.size(), Dim(1));
    return dims;
  }

  // For a permutation that is its own inverse: by the side of the Transpose that cannot be flipped,
  // or as the caller chose.
  bool makes(const Node& node) const {
    if (!vertex_.count(e_.producer(node.inputs[0]))) return true;
    bool readers = false;
    for (Node* reader : e_.readers(node.outputs[0])) readers |= vertex_.count(reader) != 0;
    return readers && made_;
  }

  // What a Transpose is to this permutation. One by another merges with whatever is put before or
  // behind it, at no cost; one that moves nothing in memory would then begin to. Costs are never
  // taken lower than they turn out, so that every flip is a gain.
  enum class Meaning { kDoes, kUndoes, kMerges, kReshapes };
  Meaning meaning_of(const Node& node) const {
    Integers perm = node.integers(attr::perm);
    if (perm == perm_ && (!own_inverse_ || makes(node))) return Meaning::kDoes;
    if (perm == back_) return Meaning::kUndoes;
    return moves_only_units(e_.dims(node.inputs[0]), perm) ? Meaning::kReshapes : Meaning::kMerges;
  }

  double cost(ValueId id) const {
    return transpose_cost(full_dims(id), back_) + (between_partners(id) ? kBetweenPartners : 0);
  }

  // Made by something that takes an Elementwise into its store and read by one, or zeros for a
  // window; a Transpose on the way is looked through.
  bool between_partners(ValueId id) const {
    Node* maker = e_.producer(id);
    if (maker && maker->op == op::Transpose) maker = e_.producer(maker->inputs[0]);
    if (!maker) return false;
    std::vector<Node*> readers = e_.readers(id);
    for (size_t i = 0; i < readers.size(); i++)
      if (readers[i]->op == op::Transpose)
        for (Node* next : e_.readers(readers[i]->outputs[0]))
          if (next->op != op::Transpose) readers.push_back(next);
    for (Node* reader : readers) {
      if (stores(maker) && reader->op == op::Elementwise) return true;
      bool loads = reader->op == op::Conv2d || reader->op == op::Pool2d || reader->op == op::Linear;
      if (loads && (maker->op == op::Pad || maker->op == op::Elementwise)) return true;
    }
    return false;
  }

  // Adds what `id` costs when its readers and its producer disagree.
  void add_value(ValueId id) {
    if (e_.constant(id) || (!e_.reader_count(id) && !e_.is_output(id)) ||
        e_.rank(id) > perm_.size())
      return;
    double c = cost(id);
    std::set<int> readers;
    bool plain_reader = e_.is_output(id), flipped_reader = false;
    for (Node* node : e_.readers(id)) {
      if (node->op == op::Transpose && e_.rank(id) == perm_.size()) {
        Meaning meaning = meaning_of(*node);
        flipped_reader |= meaning == Meaning::kUndoes;
        plain_reader |= meaning == Meaning::kDoes || meaning == Meaning::kReshapes;
        continue;
      }
      bool takes_part = false;
      for (size_t i = 0; i < node->inputs.size(); i++)
        takes_part |= node->inputs[i] == id && vertex_.count(node) &&
                      is_flipped_operand(e_, *node, i, perm_.size());
      if (takes_part)
        readers.insert(vertex_[node]);
      else
        plain_reader = true;
    }
    bool either_way = false;
    int made = producer_vertex(id, either_way);
    bool some_plain = plain_reader || !readers.empty();  // when nothing is flipped
    if (either_way              ? flipped_reader && some_plain
        : made == MinCut::kSink ? some_plain
                                : flipped_reader)
      cost_of_plain_ += c;
    any_reader(readers, flipped_reader, made, c, true);
    any_reader(readers, plain_reader, made, c, false);
  }

  // either_way: made by a Transpose that merges with one behind it, so it can be had in either
  // order for the same cost.
  int producer_vertex(ValueId id, bool& either_way) {
    Node* node = e_.producer(id);
    if (!node) return MinCut::kSource;
    if (vertex_.count(node)) return vertex_[node];
    if (node->op != op::Transpose || e_.rank(id) != perm_.size()) return MinCut::kSource;
    Meaning meaning = meaning_of(*node);
    if (meaning == Meaning::kDoes) return MinCut::kSink;
    either_way = meaning == Meaning::kMerges;
    return either_way ? cut_.add_vertex() : MinCut::kSource;
  }

  // c is due when the producer is on one side and any reader on the other.
  void any_reader(const std::set<int>& readers, bool fixed, int made, double c, bool flipped) {
    if (fixed) {
      if (flipped)
        cut_.add_edge(made, MinCut::kSink, c);
      else
        cut_.add_edge(MinCut::kSource, made, c);
      return;
    }
    if (readers.empty()) return;
    int any = cut_.add_vertex();
    for (int reader : readers) {
      if (flipped)
        cut_.add_edge(any, reader, MinCut::kForbidden);
      else
        cut_.add_edge(reader, any, MinCut::kForbidden);
    }
    if (flipped)
      cut_.add_edge(made, any, c);
    else
      cut_.add_edge(any, made, c);
  }

  ValueId flipped(ValueId id, const Node& reader) {
    auto [at, fresh] = flipped_.emplace(id, kAbsent);
    if (!fresh) return at->second;
    Dims dims = full_dims(id);
    ValueId result;
    const Constant* constant = e_.constant(id);
    if (constant && constant->bytes) {
      std::vector<int64_t> wide(perm_.size() - constant->dims.size(), 1);
      wide.insert(wide.end(), constant->dims.begin(), constant->dims.end());
      result = e_.new_constant(e_.value(id).name, permuted(with_dims(*constant, wide), back_));
    } else {
      ValueId full = e_.reshape(id, dims, reader);
      result = e_.transpose(full, back_, reader);
    }
    if (result != id) mark(result, id);
    return flipped_[id] = result;
  }

  void mark(ValueId to, ValueId from) {
    if (back_ == to_channels_last(perm_.size()) && perm_.size() > 2)
      e_.value(to).layout = "NHWC";
    else if (perm_ == to_channels_last(perm_.size()))
      e_.value(to).layout = "";
    else
      e_.value(to).layout = e_.value(from).layout;
  }

  void flip(Node& node) {
    std::vector<ValueId> inputs = node.inputs;
    for (size_t i = 0; i < inputs.size(); i++) {
      bool scalar = inputs[i] >= 0 && node.op == op::Elementwise && e_.rank(inputs[i]) == 0;
      if (is_flipped_operand(e_, node, i, perm_.size()) && !scalar)
        inputs[i] = flipped(inputs[i], node);
    }
    if (node.op == op::Conv2d) {
      Constant turned = permuted(*e_.constant(inputs[1]), {0, 2, 1, 3});
      inputs[1] = e_.new_constant(e_.value(inputs[1]).name, std::move(turned));
    }
    e_.set_inputs(node, std::move(inputs));
    flip_attributes(node, perm_);
    std::vector<ValueId> outputs = node.outputs, plain = node.outputs;
    for (ValueId& id : outputs) {
      if (id < 0) continue;
      ValueId inner = e_.new_value(e_.value(id).name + "/permuted", e_.value(id).dtype,
                                   permuted(e_.dims(id), back_));
      mark(inner, id);
      flipped_[id] = inner;
      id = inner;
    }
    e_.set_outputs(node, outputs);
    for (size_t i = 0; i < plain.size(); i++)
      if (plain[i] >= 0)
        e_.add(op::Transpose, {outputs[i]}, {plain[i]}, node, {{attr::perm, perm_}});
  }

  Editor& e_;
  Integers perm_, back_;
  bool own_inverse_, made_;
  std::vector<Node*> nodes_;
  std::map<const Node*, int> vertex_;
  std::map<ValueId, ValueId> flipped_;
  MinCut cut_;
  double cost_of_plain_ = 0;
};

std::vector<Integers> permutations(const Editor& e) {
  std::vector<Integers> found;
  std::set<Integers> seen;
  for (Node* node : e.nodes()) {
    if (node->op != op::Transpose) continue;
    for (const Integers& perm : {node->integers(attr::perm), inverse(node->integers(attr::perm))})
      if (seen.insert(perm).second) found.push_back(perm);
  }
  return found;
}

/// How often the whole graph may still be looked at.
class Looks {
 public:
  explicit Looks(const Editor& e)
      : left_(std::max(kLeastLooks, kLookedNodes / std::max<size_t>(e.nodes().size(), 1))) {}
  bool take() { return left_ != 0 && left_-- != 0; }
  bool spent() const { return left_ == 0; }

 private:
  uint64_t left_;
};

uint32_t cut_until_stable(Editor& e, Looks& looks, Remarks& remarks) {
  uint32_t changed = 0;
  bool again = true;
  for (int sweep = 0; again && sweep < kMaxSweeps; sweep++) {
    again = false;
    for (const Integers& perm : permutations(e)) {
      if (!looks.take()) return changed;
      uint32_t flips = Flipper(e, perm, true).run();
      if (!flips && perm == inverse(perm)) flips = Flipper(e, perm, false).run();
      if (!flips) continue;
      again = true;
      changed += flips;
      merge_equal(e, remarks);  // a value transposed twice must cost once
      simplify(e, remarks);
    }
  }
  return changed;
}

double total_cost(const Editor& e) {
  double total = 0;
  for (Node* node : e.nodes())
    if (node->op == op::Transpose)
      total += transpose_cost(e.dims(node->inputs[0]), node->integers(attr::perm));
  return total;
}

}  // namespace

uint32_t choose_layout(Editor& e, Remarks& remarks) {
  simplify(e, remarks);
  uint32_t changed = 0;
  // Moving transposes across reshapes costs and gains nothing by itself, but brings them to where a
  // cut can take them away: from below and from above in turn, as long as that helps.
  double best = total_cost(e);
  Looks looks(e);
  for (int round = 0, idle = 0; round < kMaxRounds && idle < 2; round++) {
    if (round % 2 == 0)
      while (looks.take() && push_transposes_down(e)) simplify(e, remarks);
    else
      while (looks.take() && pull_transposes_up(e, true)) simplify(e, remarks);
    changed += cut_until_stable(e, looks, remarks);
    double now = total_cost(e);
    idle = now < best ? 0 : idle + 1;
    best = std::min(best, now);
  }
  while (looks.take() && push_transposes_down(e)) simplify(e, remarks);
  changed += cut_until_stable(e, looks, remarks) + pull_transposes_up(e, false);
  if (looks.spent())
    remarks.push_back(
        "the search for the best layout was cut short: the graph is too large for all of it");
  merge_equal(e, remarks);
  changed += drop_unit_transposes(e);
  simplify(e, remarks);
  return changed;
}

}  // namespace ingot::passes
