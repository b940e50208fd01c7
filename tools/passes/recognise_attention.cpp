// Products, scale, mask and softmax become one Attention, which reads heads where they lie: [B, T, heads * D] wherever the transposes
// around were only there to make [B, heads, T, D].
#include <cmath>
#include <limits>

#include "tools/passes/attention_match.h"
#include "tools/passes/constants.h"
#include "tools/passes/elementwise.h"
#include "tools/passes/head_views.h"
#include "tools/passes/pass.h"

namespace ingot::passes {
namespace {

class Builder {
 public:
  Builder(Editor& editor, Node& node, AttentionMatch match) : e(editor), from(node), found(std::move(match)) {}

  /// Replaces the pattern; false, and nothing changed, with the reason.
  bool run(std::string* why) {
    if (!shapes(why)) return false;
    Node& last = *found.inside[0];
    const ValueId q = rows_of_heads(e, as_heads(found.q, false), from);
    ValueId k = as_heads(found.k, found.turn_k), v = as_heads(found.v, found.turn_v);
    const std::optional<Ungrouped> k_once = ungrouped(k), v_once = ungrouped(v);
    if (k_once && v_once && k_once->heads == v_once->heads) {
      kv_heads = k_once->heads;
      k = e.reshape(k_once->x, k_once->dims, from), v = e.reshape(v_once->x, v_once->dims, from);
    }
    k = rows_of_heads(e, k, from), v = rows_of_heads(e, v, from);
    std::vector<ValueId> inputs = {q, k, v};
    bool causal = false;
    if (const ValueId mask = one_mask(&causal); mask >= 0) inputs.push_back(mask);
    Attributes a = {{"heads", heads}, {"kv_heads", kv_heads}, {"scale", found.scale}, {"softcap", found.softcap}};
    if (causal) a["causal"] = std::string("top_left");
    e.kill(last);
    Node& made = write(inputs, a);
    retire_all(made);
    return true;
  }

 private:
  Editor& e;
  Node& from;
  AttentionMatch found;
  bool leading_is_heads = false;  // of three dimensions
  int64_t heads = 0, kv_heads = 0;
  Dims y_dims;  // [B, heads, T, D]

  static Dims turned(Dims dims) {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    return dims;
  }
  Dims four(const Dims& dims) const {
    if (dims.size() == 4) return dims;
    if (dims.size() == 2) return {Dim(1), Dim(1), dims[0], dims[1]};
    return leading_is_heads ? Dims{Dim(1), dims[0], dims[1], dims[2]} : Dims{dims[0], Dim(1), dims[1], dims[2]};
  }

  bool shapes(std::string* why) {
    const size_t rank = e.rank(found.q);
    if (rank < 2 || rank > 4 || e.rank(found.k) != rank || e.rank(found.v) != rank || e.rank(found.y) != rank)
      return *why = "its operands have " + std::to_string(rank) + " dimensions, or not equally many", false;
    if (e.constant(found.q) || e.constant(found.k) || e.constant(found.v))
      return *why = "an operand is constant", false;
    leading_is_heads = rank == 3 && e.dims(found.q)[0].is_static();
    const Dims q = four(e.dims(found.q)), k = four(found.turn_k ? turned(e.dims(found.k)) : e.dims(found.k)),
               v = four(found.turn_v ? turned(e.dims(found.v)) : e.dims(found.v));
    y_dims = four(e.dims(found.y));
    if (q[0] != k[0] || q[0] != v[0]) return *why = "its operands have different batches", false;
    if (!q[1].value() || !k[1].value()) return *why = "the number of heads is symbolic", false;
    heads = *q[1].value(), kv_heads = *k[1].value();
    if (v[1] != k[1] || kv_heads == 0 || heads % kv_heads != 0)
      return *why = "its operands have different numbers of heads", false;
    for (const Dim& d : {q[3], v[3]})
      if (d.value() && *d.value() > 4096) return *why = "a head is wider than 4096", false;
    return y_dims[1] == q[1] || (*why = "its operands have different numbers of heads", false);
  }

  ValueId as_heads(ValueId x, bool turn) {
    if (turn) {
      Integers perm;
      for (size_t i = 0; i < e.rank(x); i++) perm.push_back(int64_t(i));
      std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
      x = e.transpose(x, perm, from);
    }
    return e.rank(x) == 4 ? x : e.reshape(x, four(e.dims(x)), from);
  }

  /// Key heads that were repeated for their query heads: [B, kv, 1, T, D] expanded and reshaped to [B, heads, T, D].
  struct Ungrouped {
    ValueId x;
    Dims dims;
    int64_t heads;
  };
  std::optional<Ungrouped> ungrouped(ValueId x) const {
    Node* joined = e.producer_if(x, "Reshape");
    Node* repeated = joined ? e.producer_if(joined->inputs[0], "Elementwise") : nullptr;
    const std::optional<Step> step = repeated ? only_step(*repeated) : std::nullopt;
    if (!step || step->op != Op::kIdentity || repeated->inputs.size() != 1) return std::nullopt;
    const Dims wide = e.dims(repeated->outputs[0]), narrow = e.dims(repeated->inputs[0]), all = e.dims(x);
    if (wide.size() != 5 || narrow.size() != 5 || narrow[2] != Dim(1) || !wide[1].value() || !wide[2].value())
      return std::nullopt;
    for (const size_t i : {0, 1, 3, 4})
      if (narrow[i] != wide[i] || all[i < 2 ? i : i - 1] != (i == 1 ? wide[1] * wide[2] : wide[i])) return std::nullopt;
    return Ungrouped{repeated->inputs[0], {narrow[0], narrow[1], narrow[3], narrow[4]}, *wide[1].value()};
  }

  /// A constant that hides just what lies above the diagonal of a square.
  bool is_causal(ValueId mask, bool additive, bool seen) const {
    const Constant* c = e.constant(mask);
    if (!c || !c->bytes || c->dims.size() < 2) return false;
    const int64_t n = c->dims.back();
    if (c->elements() != n * n || c->dims[c->dims.size() - 2] != n || n < 2) return false;
    const Dims scores = four(found.scores);
    if (scores[2] != Dim(n) || scores[3] != Dim(n)) return false;
    const std::vector<double> all = numbers(*c);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        const double x = all[size_t(i * n + j)];
        const bool visible = additive ? x == 0 : (x != 0) == seen;
        if (visible != (j <= i) || (additive && !visible && x > -1e9)) return false;
      }
    return true;
  }

  static Dims wider(const Dims& a, const Dims& b) {
    Dims all(std::max(a.size(), b.size()), Dim(1));
    for (const Dims* one : {&a, &b})
      for (size_t i = 0; i < one->size(); i++) {
        Dim& to = all[all.size() - one->size() + i];
        if (to == Dim(1)) to = (*one)[i];
      }
    return all;
  }

  /// All masks as one operand, kAbsent for none.
  ValueId one_mask(bool* causal) {
    const auto take = [&](std::vector<ValueId>& masks, bool additive, bool seen) {
      for (size_t i = 0; i < masks.size();)
        if (is_causal(masks[i], additive, seen))
          *causal = true, masks.erase(masks.begin() + long(i));
        else
          i++;
    };
    take(found.additive, true, true), take(found.seen, false, true), take(found.hidden, false, false);
    for (const ValueId mask : found.hidden)
      found.seen.push_back(
          e.emit("Elementwise", {mask}, DType::kBool, e.dims(mask), from, elementwise({{Op::kLogicalNot, 0}}, "i64")));
    if (found.additive.empty() && found.seen.size() == 1) return placed(found.seen[0]);
    ValueId all = graph::kAbsent;
    for (const ValueId mask : found.additive) all = plus(all, mask);
    const float never = -std::numeric_limits<float>::infinity(), zero = 0;
    for (const ValueId mask : found.seen) {
      const ValueId nothing = e.new_constant("visible", graph::make_constant(DType::kF32, {}, &zero)),
                    hidden = e.new_constant("hidden", graph::make_constant(DType::kF32, {}, &never));
      all = plus(all, e.emit("Elementwise", {mask, nothing, hidden}, DType::kF32, e.dims(mask), from,
                             elementwise({{Op::kSelect, 0, 1, 2}}, "f32")));
    }
    return all < 0 ? all : placed(all);
  }
  ValueId plus(ValueId a, ValueId b) {
    if (a < 0) return b;
    return e.emit("Elementwise", {a, b}, DType::kF32, wider(e.dims(a), e.dims(b)), from,
                  elementwise({{Op::kAdd, 0, 1}}, "f32"));
  }
  /// In the order of [B, heads, Tq, Tk].
  ValueId placed(ValueId mask) {
    const Dims dims = e.dims(mask);
    if (found.scores.size() != 3 || leading_is_heads || dims.size() != 3) return mask;
    return e.reshape(mask, {dims[0], Dim(1), dims[1], dims[2]}, from);
  }

  /// The node, with y as rows where a Transpose would make them.
  Node& write(const std::vector<ValueId>& inputs, const Attributes& a) {
    const ValueId y = found.y;
    const Integers perm = e.rank(y) == 4 ? Integers{0, 2, 1, 3} : Integers{1, 0, 2};
    Node* reader = e.read_once(y) ? e.readers(y)[0] : nullptr;
    const bool rows = reader && reader->op == "Transpose" && reader->integers("perm") == perm &&
                      (e.rank(y) == 4 || (e.rank(y) == 3 && leading_is_heads));
    if (rows) {
      const ValueId out = reader->outputs[0];
      const ValueId together =
          e.new_value(e.value(out).name + "/rows", DType::kF32, {y_dims[0], y_dims[2], y_dims[1] * y_dims[3]});
      Node& made = e.add("Attention", inputs, {together}, from, a);
      e.kill(*reader);
      e.merge_sources(made, *reader);
      e.add("Reshape", {together}, {out}, from);
      return made;
    }
    if (e.rank(y) == 4) return e.add("Attention", inputs, {y}, from, a);
    const ValueId wide = e.new_value(e.value(y).name + "/heads", DType::kF32, y_dims);
    Node& made = e.add("Attention", inputs, {wide}, from, a);
    e.add("Reshape", {wide}, {y}, from);
    return made;
  }

  void retire_all(Node& made) {
    for (Node* node : found.inside) {
      e.merge_sources(made, *node);
      if (node->dead) continue;
      bool read = false;
      for (const ValueId id : node->outputs) read |= !e.readers(id).empty() || e.is_output(id);
      if (!read) e.kill(*node);
    }
  }
};

/// The same for an Attention of the source: operands and result as rows where a Transpose makes heads of them.
bool read_rows(Editor& e, Node& node) {
  bool changed = false;
  for (size_t i = 0; i < 3; i++) {
    if (e.rank(node.inputs[i]) != 4) continue;
    const ValueId rows = rows_of_heads(e, node.inputs[i], node);
    if (rows == node.inputs[i]) continue;
    e.set_input(node, i, rows);
    changed = true;
  }
  const ValueId y = node.outputs[0];
  Node* reader = e.rank(y) == 4 && e.read_once(y) ? e.readers(y)[0] : nullptr;
  if (!reader || reader->op != "Transpose" || reader->integers("perm") != Integers{0, 2, 1, 3}) return changed;
  const Dims dims = e.dims(y);
  const ValueId out = reader->outputs[0];
  const ValueId together = e.new_value(e.value(out).name + "/rows", DType::kF32, {dims[0], dims[2], dims[1] * dims[3]});
  e.set_outputs(node, {together});
  e.kill(*reader);
  e.merge_sources(node, *reader);
  e.add("Reshape", {together}, {out}, *reader);
  return true;
}

}  // namespace

uint32_t recognise_attention(Editor& e, Remarks& remarks) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead) continue;
    if (node->op == "Attention" && read_rows(e, *node)) changed++;
    if (node->op != "Softmax") continue;
    AttentionMatch found;
    std::string why;
    const std::string name = node->name;
    if (match_attention(e, *node, &found, &why) && Builder(e, *node, std::move(found)).run(&why))
      changed++;
    else if (!why.empty())
      remarks.push_back("Softmax '" + name + "' with the products around it is no attention: " + why);
  }
  return changed;
}

}  // namespace ingot::passes
