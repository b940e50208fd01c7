// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic behind pairs of DequantizeLinear and QuantizeLinear. What an operator makes
// from bytes, and what becomes bytes at once, is computed in whole numbers where there is a kernel:
// Q(op(DQ(x))) is one operator on bytes. Equal to what onnxruntime's kernels of integers give:
// exactly for products and tables, to a step for sums of two tensors, averages and softmax.
#include <algorithm>
#include <map>
#include <set>

#include "tools/compile/passes/common/match.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/quantize/int8_graph.h"
#include "tools/files/work_budget.h"

namespace ingot::passes {
namespace quantize {
namespace {

using Rule = ValueId (*)(Int8Graph&, const Node&, const Output&);
const std::map<graph::Operator, Rule>& rules() {
  static const std::map<graph::Operator, Rule> kRules = {
      {op::Conv, recognize_convolution},
      {op::ConvTranspose, recognize_transposed_convolution},
      {op::Gemm, recognize_product},
      {op::MatMul, recognize_product},
      {op::Add, recognize_sum},
      {op::Sub, recognize_sum},
      {op::Mul, recognize_sum},
      {op::Softmax, recognize_rows},
      {op::Concat, recognize_concat},
      {op::AveragePool, recognize_average},
      {op::ReduceMean, recognize_average},
      {op::ReduceMax, recognize_extreme},
      {op::ReduceMin, recognize_extreme},
      {op::Max, recognize_choice},
      {op::Min, recognize_choice},
      {op::Where, recognize_choice}};
  return kRules;
}

/// From a Quantize back to the operator whose numbers it takes.
struct Chain {
  ValueId root = kAbsent;    // what the operator makes
  std::vector<Node*> nodes;  // limits and movement in between, the last first
};

bool is_limit(const Node& node) { return node.op == op::Relu || node.op == op::Clip; }

void narrow(const Node& limit, Output* to) {
  const QuantParams& steps = to->params;
  const auto least = [&](double x) { to->low = std::max(to->low, byte_of(steps, float(x))); };
  if (limit.op == op::Relu) return least(0);
  if (limit.has(attr::min)) least(limit.number(attr::min, 0));
  if (limit.has(attr::max))
    to->high = std::min(to->high, byte_of(steps, float(limit.number(attr::max, 0))));
  to->low = std::min(to->low, to->high);  // of a Clip whose ends are turned round, the upper counts
}

Chain chain_behind(const Int8Graph& g, ValueId x) {
  Chain chain{x, {}};
  bool is_limited = false, is_open = true;  // open: nothing behind the last limit was looked at
  for (;;) {
    host::charge_work(1);
    Node* const node = g.e.producer(chain.root);
    if (!node || !g.e.read_once(chain.root) || (is_open && g.quant_params(chain.root)))
      return chain;
    const bool limit = is_open = is_limit(*node);
    // A limit behind Pad is one of what is padded, too.
    if (!limit && (!g.moves(*node) || node->op == op::Split || (is_limited && node->op == op::Pad)))
      return chain;
    if (node->op == op::Pad && node->text(attr::mode, "constant") == "constant") return chain;
    is_limited |= limit;
    chain.nodes.push_back(node);
    chain.root = node->inputs[0];
  }
}

/// The bytes that `node` makes, in the place of the Quantize.
class Recognition {
 public:
  explicit Recognition(Editor& editor) : e(editor), g(editor) {}

  uint32_t run() {
    g.open();
    uint32_t found = 0;
    for (Node* node : g.quantizes()) found += recognize(*node);
    for (Node* node : e.nodes())
      if (!node->dead) found += recognize_float_product(g, *node);
    for (const Node* node : open_) count_in_floats(*node);
    sweep();
    if (found == 0) in_floats_.clear();
    settle();
    note(found);
    return found + uint32_t(g.quantizes().size() + g.dequantizes().size());
  }

 private:
  bool recognize(Node& quantize) {
    Output to{{float(quantize.number(attr::scale, 1)), quantize.integer(attr::zero_point, 0)}};
    to.from = &quantize;
    const Chain chain = chain_behind(g, quantize.inputs[0]);
    Output limited = to;
    for (const Node* node : chain.nodes)
      if (is_limit(*node)) narrow(*node, &limited);
    Node* const root = e.producer(chain.root);
    ValueId bytes = recognize_root(chain.root, root, limited);
    if (bytes < 0) {
      open_.push_back(&quantize);
      return false;
    }
    for (size_t i = chain.nodes.size(); i-- > 0;)
      if (!is_limit(*chain.nodes[i])) bytes = g.moved(*chain.nodes[i], bytes, to.params, 0);
    replace(quantize, bytes);
    std::vector<Node*> gone = chain.nodes;
    if (root) gone.push_back(root);
    if (Node* const made = e.producer(bytes)) retire(e, gone, *made);
    return true;
  }

  ValueId recognize_root(ValueId x, const Node* root, const Output& to) {
    if (root && root->op == op::Add && e.read_once(x))
      if (const ValueId made = recognize_product(g, *root, to); made >= 0) return made;
    const auto rule = root ? rules().find(root->op) : rules().end();
    // What others read in floating point is computed so, and not a second time.
    if (rule != rules().end() && e.read_once(x))
      if (const ValueId made = rule->second(g, *root, to); made >= 0) return made;
    const ValueId made = recognize_function(g, x, to);
    return made >= 0 ? made : recognize_channels(g, x, to);
  }

  void replace(Node& quantize, ValueId bytes) {
    const ValueId y = quantize.outputs[0];
    if (!e.is_output(y) && e.bypass(quantize, bytes)) return;
    e.kill(quantize);
    e.add(op::Identity, {bytes}, {y}, quantize);
  }

  /// A Quantize of what no bytes are behind is the edge of the integers, and nothing is lost.
  void count_in_floats(const Node& quantize) {
    const Node* root = e.producer(quantize.inputs[0]);
    while (root && (is_limit(*root) || g.moves(*root)) && !root->inputs.empty() &&
           e.producer(root->inputs[0]))
      root = e.producer(root->inputs[0]);
    if (!root || root->op == op::Dequantize) return;
    for (const ValueId in : root->inputs)
      if (g.quant_params(in)) {
        in_floats_[text(root->op)]++;
        return;
      }
  }

  /// What nobody reads any more.
  void sweep() {
    std::vector<Node*> nodes = e.nodes();
    for (size_t i = nodes.size(); i-- > 0;) {
      Node& node = *nodes[i];
      if (node.dead || !node.subgraphs().empty()) continue;
      const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId y) {
        return y >= 0 && (e.reader_count(y) || e.is_output(y));
      });
      if (!wanted) e.kill(node);
    }
  }

  static bool is_on_bytes(const Node* node) {
    return node && node->op != op::Quantize && node->op != op::Dequantize &&
           node->op != op::OffsetByte;
  }
  /// Quantize and Dequantize beside no integer operator are spelled out, to become one with the
  /// floating point around them.
  void settle() {
    std::set<Node*> plain;
    for (Node* node : g.quantizes()) {
      if (node->dead) continue;
      bool on_bytes = false;
      for (const Node* reader : e.readers(node->outputs[0])) on_bytes |= is_on_bytes(reader);
      if (!on_bytes) plain.insert(node);
    }
    for (Node* node : g.dequantizes()) {
      if (node->dead) continue;
      Node* made = e.producer(node->inputs[0]);
      if (made && made->op == op::OffsetByte) made = e.producer(made->inputs[0]);
      if (!made || plain.count(made)) plain.insert(node);
    }
    for (const auto* nodes : {&g.quantizes(), &g.dequantizes()})
      for (Node* node : *nodes)
        if (plain.count(node)) decompose(e, *node);
  }

  void note(uint32_t found) {
    const std::vector<Node*> nodes = e.nodes();
    if (g.quantizes().empty() && g.dequantizes().empty()) {
      if (std::any_of(nodes.begin(), nodes.end(),
                      [](const Node* node) { return node->op == op::QuantizeLinear; }))
        e.model.notes.push_back(
            "quantized to numbers of more than 8 bits, and computed in f32 as ONNX defines it: "
            "integer kernels of such graphs are for 8 bits");
      return;
    }
    const bool has_bodies = std::any_of(
        nodes.begin(), nodes.end(), [](const Node* node) { return !node->subgraphs().empty(); });
    const bool is_dynamic = std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
      return node->op == op::QuantizedLinear || node->op == op::QuantizedConv2d;
    });
    if (found == 0 && (has_bodies || is_dynamic)) return;  // bodies have their own
    if (found == 0) {
      e.model.notes.push_back(
          "quantized, and computed in f32 as ONNX defines it: no operator between "
          "DequantizeLinear and QuantizeLinear has integer kernels");
      return;
    }
    if (in_floats_.empty()) return;
    std::string all;
    for (const auto& [op, count] : in_floats_)
      all += (all.empty() ? "" : ", ") + op + "*" + std::to_string(count);
    e.model.notes.push_back("computed in f32 between dequantization and quantization: " + all);
  }

  Editor& e;
  Int8Graph g;
  std::vector<const Node*> open_;  // Quantizes with no integers behind
  std::map<std::string, int> in_floats_;
};

}  // namespace
}  // namespace quantize

uint32_t recognize_quantization(Editor& e, Remarks&) {
  const std::vector<Node*> nodes = e.nodes();
  const bool any = std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    return node->op == op::QuantizeLinear || node->op == op::DequantizeLinear;
  });
  if (!any) return 0;
  const uint32_t computed = quantize::compute_quantized_constants(e);
  return computed + quantize::Recognition(e).run();
}

}  // namespace ingot::passes
