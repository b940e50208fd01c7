// SPDX-License-Identifier: Apache-2.0
#include "tests/frameworks/random_graphs/planted_graphs.h"

#include <algorithm>

#include "runtime/op/elementwise.h"

namespace ingot::planted {
namespace {

using graph::Dims;
using graph::kAbsent;
using graph::Model;
using graph::Node;

bool is_same_type(const Model& model, graph::ValueId a, graph::ValueId b) {
  if (a == kAbsent || b == kAbsent || a == b) return false;
  const graph::Value &x = model.values[size_t(a)], &y = model.values[size_t(b)];
  return x.dtype == y.dtype && x.dims == y.dims;
}
bool exchange_inputs(const Model& model, Node& node, size_t i, size_t j) {
  if (node.inputs.size() <= std::max(i, j) || !is_same_type(model, node.inputs[i], node.inputs[j]))
    return false;
  std::swap(node.inputs[i], node.inputs[j]);
  return true;
}
bool is_op(const Node& node, graph::Operators ops) { return ops.has(node.op); }
bool rename(Node& node, graph::Operator from, graph::Operator to) {
  if (node.op != from) return false;
  node.op = to;
  return true;
}
bool flip(Node& node, graph::Operators ops, graph::AttributeName key, int64_t otherwise) {
  if (!is_op(node, ops)) return false;
  node.attributes[key] = int64_t(node.integer(key, otherwise) == 0);
  return true;
}
bool lose(Node& node, graph::AttributeName key) { return node.attributes.erase(key) != 0; }
/// Begins for ends.
bool exchange_pads(Node& node, graph::Operators ops) {
  if (!is_op(node, ops)) return false;
  std::vector<int64_t> pads = node.integers(attr::pads);
  const std::vector<int64_t> before = pads;
  std::rotate(pads.begin(), pads.begin() + int64_t(pads.size() / 2), pads.end());
  if (pads == before) return false;
  node.attributes[attr::pads] = pads;
  return true;
}
/// Two axes of the same extent, one for the other.
bool exchange_perm(Model& model, Node& node) {
  if (node.op != op::Transpose) return false;
  std::vector<int64_t> perm = node.integers(attr::perm);
  const Dims& dims = model.values[size_t(node.inputs[0])].dims;
  for (size_t i = 0; i < perm.size(); i++)
    for (size_t j = i + 1; j < perm.size(); j++)
      if (dims[size_t(perm[i])] == dims[size_t(perm[j])] &&
          dims[size_t(perm[i])] != graph::Dim(1)) {
        std::swap(perm[i], perm[j]);
        node.attributes[attr::perm] = perm;
        return true;
      }
  return false;
}
bool other_axis(Model& model, Node& node, graph::Operators ops) {
  if (!is_op(node, ops)) return false;
  const int64_t rank = int64_t(model.values[size_t(node.inputs[0])].dims.size());
  if (rank < 2) return false;
  const int64_t axis = node.integer(attr::axis, -1);
  node.attributes[attr::axis] = ((axis < 0 ? axis + rank : axis) + 1) % rank;
  return true;
}
bool is_weighted(const Node& node) {
  return is_op(node, {op::Linear, op::Conv2d, op::ConvTranspose2d});
}
bool lose_input(Node& node, size_t i) {
  if (!is_weighted(node) || node.inputs.size() <= i || node.inputs[i] == kAbsent) return false;
  node.inputs[i] = kAbsent;
  return true;
}
bool exchange_outputs(Model& model, Node& node) {
  if (node.op != op::Split || !is_same_type(model, node.outputs[0], node.outputs[1])) return false;
  std::swap(node.outputs[0], node.outputs[1]);
  return true;
}
bool earlier_start(Model&, Node& node) {
  if (node.op != op::Slice) return false;
  Dims starts = node.dims(attr::starts);
  for (graph::Dim& start : starts) {
    if (!start.is_static() || *start.value() < 1) continue;
    start = start - graph::Dim(1);
    node.attributes[attr::starts] = starts;
    return true;
  }
  return false;
}
bool set_text(Node& node, graph::Operator op, graph::AttributeName key, const char* from,
              const char* to) {
  if (node.op != op || node.text(key, from) != from) return false;
  node.attributes[key] = std::string(to);
  return true;
}
bool exchange_step(Model&, Node& node) {  // operands of the last step that has two
  std::vector<int64_t> steps = node.integers(attr::steps);
  if (node.op != op::Elementwise || steps.size() < 4) return false;
  for (size_t at = steps.size() - 4;; at -= 4) {
    if (steps[at + 2] >= 0 && steps[at + 1] != steps[at + 2]) {
      std::swap(steps[at + 1], steps[at + 2]);
      node.attributes[attr::steps] = steps;
      return true;
    }
    if (at < 4) return false;
  }
}

bool other_function(Model&, Node& node) {  // of one step over one operand
  std::vector<int64_t> steps = node.integers(attr::steps);
  const int64_t absolute = int64_t(ElementwiseOp::kAbs);
  if (node.op != op::Elementwise || steps.size() != 4 || node.inputs.size() != 1 ||
      steps[0] == absolute)
    return false;
  steps[0] = absolute;
  node.attributes[attr::steps] = steps;
  return true;
}

}  // namespace

const std::vector<GraphBug>& graph_bugs() {
  static const std::vector<GraphBug> kAll = {
      {"import: means are sums", "import",
       [](Model&, Node& n) { return rename(n, op::ReduceMean, op::ReduceSum); }},
      {"import: ArgMax is ArgMin", "import",
       [](Model&, Node& n) { return rename(n, op::ArgMax, op::ArgMin); }},
      {"import: Less is LessOrEqual", "import",
       [](Model&, Node& n) { return rename(n, op::Less, op::LessOrEqual); }},
      {"import: axes of Transpose", "import",
       [](Model& m, Node& n) { return exchange_perm(m, n); }},
      {"import: order of Concat", "import",
       [](Model& m, Node& n) { return n.op == op::Concat && exchange_inputs(m, n, 0, 1); }},
      {"import: operands of Sub and Div", "import",
       [](Model& m, Node& n) {
         return is_op(n, {op::Sub, op::Div}) && exchange_inputs(m, n, 0, 1);
       }},
      {"import: operands of Where", "import",
       [](Model& m, Node& n) { return n.op == op::Where && exchange_inputs(m, n, 1, 2); }},
      {"import: Slice starts one early", "import", earlier_start},
      {"import: Pad loses its value", "import",
       [](Model&, Node& n) {
         return n.op == op::Pad && n.number(attr::value, 0) != 0 && lose(n, attr::value);
       }},
      {"import: Pad reflects for edge", "import",
       [](Model&, Node& n) { return set_text(n, op::Pad, attr::mode, "reflect", "edge"); }},
      {"import: axis of Softmax", "import",
       [](Model& m, Node& n) {
         return other_axis(m, n, {op::Softmax, op::LogSoftmax});
       }},
      {"import: axis of CumSum", "import",
       [](Model& m, Node& n) { return other_axis(m, n, {op::CumSum}); }},
      {"import: CumSum takes exclusive for inclusive", "import",
       [](Model&, Node& n) { return flip(n, {op::CumSum}, attr::exclusive, 0); }},
      {"import: CumSum loses reverse", "import",
       [](Model&, Node& n) {
         return n.op == op::CumSum && n.integer(attr::reverse, 0) != 0 && lose(n, attr::reverse);
       }},
      {"import: TopK takes the smallest", "import",
       [](Model&, Node& n) { return flip(n, {op::TopK}, attr::largest, 1); }},
      {"import: pools count their pads", "import",
       [](Model&, Node& n) { return flip(n, {op::AveragePool}, attr::count_include_pad, 0); }},
      {"import: pads of windows, begins for ends", "import",
       [](Model&, Node& n) {
         return exchange_pads(n, {op::Conv, op::MaxPool, op::AveragePool, op::ConvTranspose});
       }},
      {"import: Resize is asymmetric", "import",
       [](Model&, Node& n) {
         return set_text(n, op::Resize, attr::coordinate_transformation_mode, "half_pixel",
                         "asymmetric");
       }},
      {"import: Resize rounds down", "import",
       [](Model&, Node& n) {
         return set_text(n, op::Resize, attr::nearest_mode, "round_prefer_floor", "floor");
       }},
      {"import: GridSample's corners", "import",
       [](Model&, Node& n) { return flip(n, {op::GridSample}, attr::align_corners, 0); }},
      {"import: GRU resets elsewhere", "import",
       [](Model&, Node& n) { return flip(n, {op::GRU}, attr::linear_before_reset, 0); }},
      {"import: recurrent networks run backwards", "import",
       [](Model&, Node& n) {
         return is_op(n, {op::GRU, op::LSTM, op::RNN}) &&
                set_text(n, n.op, attr::direction, "forward", "reverse");
       }},
      {"import: alpha is the default's", "import",
       [](Model&, Node& n) {
         return is_op(n, {op::LeakyRelu, op::Elu, op::ThresholdedRelu, op::Celu}) &&
                lose(n, attr::alpha);
       }},
      {"import: Clip loses its upper limit", "import",
       [](Model&, Node& n) { return n.op == op::Clip && lose(n, attr::max); }},
      {"import: scatters do not reduce", "import",
       [](Model&, Node& n) {
         return is_op(n, {op::ScatterElements, op::ScatterND}) &&
                n.text(attr::reduction, "none") != "none" && lose(n, attr::reduction);
       }},
      {"import: epsilon of norms", "import",
       [](Model&, Node& n) {
         if (!n.has(attr::epsilon)) return false;
         n.attributes[attr::epsilon] = n.number(attr::epsilon, 0) * 1000 + 0.01;
         return true;
       }},
      {"import: Split gives parts in another order", "import",
       [](Model& m, Node& n) { return exchange_outputs(m, n); }},
      {"pass: an activation is lost", "fold activation",
       [](Model&, Node& n) { return is_weighted(n) && lose(n, attr::activation); }},
      {"pass: a bias is lost", "fold affine", [](Model&, Node& n) { return lose_input(n, 2); }},
      {"pass: a residual is lost", "fold residual",
       [](Model&, Node& n) { return lose_input(n, 3); }},
      {"pass: pads folded at the wrong end", "fold padding",
       [](Model&, Node& n) {
         return exchange_pads(n, {op::Conv2d, op::Pool2d});
       }},
      {"pass: equal nodes that are none", "merge equal nodes",
       [](Model& m, Node& n) {
         if (n.inputs.size() < 2 || !is_same_type(m, n.inputs[0], n.inputs[1])) return false;
         n.inputs[1] = n.inputs[0];
         return true;
       }},
      {"pass: operands of a fused step", "fuse elementwise", exchange_step},
      {"pass: parts of fused projections", "fuse projections",
       [](Model& m, Node& n) { return exchange_outputs(m, n); }},
      {"pass: transposes of the layout", "choose layout", exchange_perm},
      {"pass: axes of a simplified transpose", "simplify", exchange_perm},
      {"pass: a recognized norm's epsilon", "recognize norms",
       [](Model&, Node& n) {
         if (!n.has(attr::epsilon)) return false;
         n.attributes[attr::epsilon] = n.number(attr::epsilon, 0) * 1000 + 0.01;
         return true;
       }},
      {"pass: a function becomes the absolute value", "hoist unary", other_function},
  };
  return kAll;
}

}  // namespace ingot::planted
