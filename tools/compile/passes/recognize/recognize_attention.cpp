// SPDX-License-Identifier: Apache-2.0
// Products, scale, mask and softmax become one Attention, which reads heads where they lie: [B, T,
// heads * D] wherever the transposes around were only there to make [B, heads, T, D].
#include <cmath>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/recognize/attention_match.h"
#include "tools/compile/passes/recognize/head_views.h"

namespace ingot::passes {
namespace {

class Builder {
 public:
  Builder(Editor& editor, Node& node, AttentionMatch match)
      : e(editor), from(node), found(std::move(match)) {}

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
    const bool causal = take_causal();
    const char* empty_rows = "zero";
    if (const ValueId mask = one_mask(&empty_rows); mask >= 0) inputs.push_back(mask);
    Attributes a = {{attr::heads, heads},
                    {attr::kv_heads, kv_heads},
                    {attr::scale, found.scale},
                    {attr::softcap, found.softcap}};
    if (causal) a[attr::causal] = std::string("top_left");
    if (std::string(empty_rows) != "zero") a[attr::empty_rows] = std::string(empty_rows);
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
    return leading_is_heads ? Dims{Dim(1), dims[0], dims[1], dims[2]}
                            : Dims{dims[0], Dim(1), dims[1], dims[2]};
  }

  bool shapes(std::string* why) {
    const size_t rank = e.rank(found.q);
    if (rank < 2 || rank > 4 || e.rank(found.k) != rank || e.rank(found.v) != rank ||
        e.rank(found.y) != rank)
      return *why =
                 "its operands have " + std::to_string(rank) + " dimensions, or not equally many",
             false;
    if (e.constant(found.q) || e.constant(found.k) || e.constant(found.v))
      return *why = "an operand is constant", false;
    leading_is_heads = rank == 3 && e.dims(found.q)[0].is_static();
    const Dims q = four(e.dims(found.q)),
               k = four(found.turn_k ? turned(e.dims(found.k)) : e.dims(found.k)),
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

  /// Key heads that were repeated for their query heads: [B, kv, 1, T, D] expanded and reshaped to
  /// [B, heads, T, D].
  struct Ungrouped {
    ValueId x;
    Dims dims;
    int64_t heads;
  };
  std::optional<Ungrouped> ungrouped(ValueId x) const {
    Node* joined = e.producer_if(x, op::Reshape);
    Node* repeated = joined ? e.producer_if(joined->inputs[0], op::Elementwise) : nullptr;
    const std::optional<Step> step = repeated ? only_step(*repeated) : std::nullopt;
    if (!step || step->op != Op::kIdentity || repeated->inputs.size() != 1) return std::nullopt;
    const Dims wide = e.dims(repeated->outputs[0]), narrow = e.dims(repeated->inputs[0]),
               all = e.dims(x);
    if (wide.size() != 5 || narrow.size() != 5 || narrow[2] != Dim(1) || !wide[1].value() ||
        !wide[2].value())
      return std::nullopt;
    for (const size_t i : {0, 1, 3, 4})
      if (narrow[i] != wide[i] || all[i < 2 ? i : i - 1] != (i == 1 ? wide[1] * wide[2] : wide[i]))
        return std::nullopt;
    return Ungrouped{
        repeated->inputs[0], {narrow[0], narrow[1], narrow[3], narrow[4]}, *wide[1].value()};
  }

  /// A constant that hides just what lies above the diagonal of a square. `never`: by minus
  /// infinity, which nothing brings back.
  bool is_causal(const AttentionMask& mask, bool* never) const {
    const Constant* c = e.constant(mask.id);
    if (!c || !c->bytes || c->dims.size() < 2) return false;
    const int64_t n = c->dims.back();
    if (c->elements() != n * n || c->dims[c->dims.size() - 2] != n || n < 2) return false;
    const Dims scores = four(found.scores);
    if (scores[2] != Dim(n) || scores[3] != Dim(n)) return false;
    const std::vector<double> all = numbers(*c);
    *never = !mask.is_choice || std::isinf(mask.number);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) {
        const double x = all[size_t(i * n + j)];
        const bool visible = mask.is_choice ? (x != 0) == mask.seen : x == 0;
        if (visible != (j <= i) || (!mask.is_choice && !visible && !(x <= -1e9))) return false;
        if (!mask.is_choice && !visible) *never = *never && std::isinf(x);
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

  /// Takes a causal constant out of the masks where what it hides no other mask can show again:
  /// rows in which all keys are hidden by finite numbers have weights in the source, and they would
  /// have them for keys above the diagonal as well.
  bool take_causal() {
    // a mask nearer to the softmax puts a finite number in place of what the others hide
    bool may_return = false;
    for (size_t i = 0; i < found.masks.size(); i++) {
      bool never = false;
      if (is_causal(found.masks[i], &never) &&
          ((never && !may_return) || found.masks.size() == 1)) {
        found.masks.erase(found.masks.begin() + long(i));
        return true;
      }
      may_return = may_return || (found.masks[i].is_choice && std::isfinite(found.masks[i].number));
    }
    return false;
  }

  /// All masks as one operand, kAbsent for none, and what rows give that see nothing.
  ValueId one_mask(const char** empty_rows) {
    const std::vector<AttentionMask>& masks = found.masks;
    if (masks.empty()) return graph::kAbsent;
    *empty_rows = found.nan_is_zero ? "zero" : "nan";
    if (masks.size() == 1 && masks[0].is_choice) {
      if (std::isfinite(masks[0].number)) *empty_rows = "mean";
      if (masks[0].seen) return placed(masks[0].id);
      return placed(e.emit(op::Elementwise, {masks[0].id}, DType::kBool, e.dims(masks[0].id), from,
                           elementwise({{Op::kLogicalNot, 0}}, "i64")));
    }
    ValueId all = graph::kAbsent;
    for (size_t i = masks.size(); i-- > 0;)
      all = masks[i].is_choice ? chosen(masks[i], all) : plus(masks[i].id, all);
    return placed(all);
  }
  ValueId number(const char* name, double x) {
    const float f = float(x);
    return e.new_constant(name, graph::make_constant(DType::kF32, {}, &f));
  }
  /// `inner` (zero where there is none) where the mask shows a key, else its number.
  ValueId chosen(const AttentionMask& mask, ValueId inner) {
    const ValueId shown = inner < 0 ? number("visible", 0) : inner,
                  hidden = number("hidden", mask.number);
    const Dims dims = inner < 0 ? e.dims(mask.id) : wider(e.dims(mask.id), e.dims(inner));
    return e.emit(op::Elementwise,
                  {mask.id, mask.seen ? shown : hidden, mask.seen ? hidden : shown}, DType::kF32,
                  dims, from, elementwise({{Op::kSelect, 0, 1, 2}}, "f32"));
  }
  ValueId plus(ValueId a, ValueId b) {
    if (b < 0) return a;
    return e.emit(op::Elementwise, {a, b}, DType::kF32, wider(e.dims(a), e.dims(b)), from,
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
    const bool rows = reader && reader->op == op::Transpose &&
                      reader->integers(attr::perm) == perm &&
                      (e.rank(y) == 4 || (e.rank(y) == 3 && leading_is_heads));
    if (rows) {
      const ValueId out = reader->outputs[0];
      const ValueId together = e.new_value(e.value(out).name + "/rows", DType::kF32,
                                           {y_dims[0], y_dims[2], y_dims[1] * y_dims[3]});
      Node& made = e.add(op::Attention, inputs, {together}, from, a);
      e.kill(*reader);
      e.merge_sources(made, *reader);
      e.add(op::Reshape, {together}, {out}, from);
      return made;
    }
    if (e.rank(y) == 4) return e.add(op::Attention, inputs, {y}, from, a);
    const ValueId wide = e.new_value(e.value(y).name + "/heads", DType::kF32, y_dims);
    Node& made = e.add(op::Attention, inputs, {wide}, from, a);
    e.add(op::Reshape, {wide}, {y}, from);
    return made;
  }

  void retire_all(Node& made) {
    for (Node* node : found.inside) {
      e.merge_sources(made, *node);
      if (node->dead) continue;
      bool read = false;
      for (const ValueId id : node->outputs) read |= e.reader_count(id) || e.is_output(id);
      if (!read) e.kill(*node);
    }
  }
};

/// The same for an Attention of the source: operands and result as rows where a Transpose makes
/// heads of them.
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
  if (!reader || reader->op != op::Transpose ||
      reader->integers(attr::perm) != Integers{0, 2, 1, 3})
    return changed;
  const Dims dims = e.dims(y);
  const ValueId out = reader->outputs[0];
  const ValueId together =
      e.new_value(e.value(out).name + "/rows", DType::kF32, {dims[0], dims[2], dims[1] * dims[3]});
  e.set_outputs(node, {together});
  e.kill(*reader);
  e.merge_sources(node, *reader);
  e.add(op::Reshape, {together}, {out}, *reader);
  return true;
}

}  // namespace

uint32_t recognize_attention(Editor& e, Remarks& remarks) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead) continue;
    if (node->op == op::Attention && read_rows(e, *node)) changed++;
    if (node->op != op::Softmax) continue;
    AttentionMatch found;
    std::string why;
    const std::string name = node->name;
    if (match_attention(e, *node, &found, &why) && Builder(e, *node, std::move(found)).run(&why))
      changed++;
    else if (!why.empty())
      remarks.push_back("Softmax '" + name +
                        "' with the products around it is no attention: " + why);
  }
  return changed;
}

}  // namespace ingot::passes
