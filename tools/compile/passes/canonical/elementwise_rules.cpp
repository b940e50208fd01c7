#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/graph/functions.h"

namespace ingot::passes {
namespace {

const std::map<std::string_view, Op> kNumbered = {{"Celu", Op::kCelu},
                                                  {"Elu", Op::kElu},
                                                  {"LeakyRelu", Op::kLeakyRelu},
                                                  {"ThresholdedRelu", Op::kThresholdedRelu},
                                                  {"HardSigmoid", Op::kHardSigmoid}};
void become(Node& node, const std::vector<Step>& steps, const char* compute) {
  node.attributes = elementwise(steps, compute);
  node.op = "Elementwise";
}

const char* compute_of(const Canonical& c, ValueId id) {
  return compute_type(c.editor.value(id).dtype);
}

void unary(Canonical& c, Node& node) {
  become(node, {{graph::find_function(node.op)->op}}, compute_of(c, node.inputs[0]));
}

void numbered(Canonical& c, Node& node) {
  become(node, {{kNumbered.at(node.op), 0, 0, 0, node.number("alpha", 1), node.number("beta", 0)}},
         compute_of(c, node.inputs[0]));
}

void binary(Canonical& c, Node& node) {
  const char* compute = compute_of(c, node.inputs[0]);
  bool wide = node.op == "Pow" && std::string(compute) != "f32" &&
              c.editor.value(node.inputs[1]).dtype == DType::kF32;
  become(node, {{graph::find_function(node.op)->op, 0, 1}}, wide ? "f64" : compute);
}

void modulo(Canonical& c, Node& node) {
  become(node, {{node.integer("fmod", 0) ? Op::kFmod : Op::kMod, 0, 1}},
         compute_of(c, node.inputs[0]));
}

void shift(Canonical& c, Node& node) {
  Op op = node.text("direction", "LEFT") == "LEFT" ? Op::kShiftLeft : Op::kShiftRight;
  become(node, {{op, 0, 1}}, compute_of(c, node.inputs[0]));
}

void selection(Canonical& c, Node& node) {
  become(node, {{Op::kSelect, 0, 1, 2}}, compute_of(c, node.inputs[1]));
}

void selu(Canonical& c, Node& node) {
  become(node,
         {{Op::kSelu, 0, 0, 0, node.number("alpha", 1.67326319217681884765625),
           node.number("gamma", 1.05070102214813232421875)}},
         compute_of(c, node.inputs[0]));
}

void shrink(Canonical& c, Node& node) {
  become(node, {{Op::kShrink, 0, 0, 0, node.number("lambd", 0.5), node.number("bias", 0)}},
         compute_of(c, node.inputs[0]));
}

void gelu(Canonical& c, Node& node) {
  become(node, {{node.text("approximate", "none") == "tanh" ? Op::kGeluTanh : Op::kGelu}},
         compute_of(c, node.inputs[0]));
}

void swish(Canonical& c, Node& node) {
  double alpha = node.number("alpha", 1);
  std::vector<Step> steps = {{Op::kSilu}};
  if (alpha != 1)
    steps = {{Op::kScaleShift, 0, 0, 0, alpha, 0}, {Op::kSigmoid, 1}, {Op::kMul, 0, 2}};
  become(node, steps, compute_of(c, node.inputs[0]));
}

void is_infinite(Canonical& c, Node& node) {
  bool negative = node.integer("detect_negative", 1) != 0,
       positive = node.integer("detect_positive", 1) != 0;
  std::vector<Step> steps = {{Op::kIsInf}};
  if (!negative || !positive) {
    steps.push_back({negative ? Op::kLess : Op::kGreater, 0, kConstantRegister, 0, 0, 0});
    steps.push_back({Op::kLogicalAnd, 1, 2});
    if (!negative && !positive) steps.push_back({Op::kLogicalAnd, 3, kConstantRegister, 0, 0, 0});
  }
  become(node, steps, compute_of(c, node.inputs[0]));
}

void clip(Canonical& c, Node& node) {
  double low = node.number("min", -std::numeric_limits<double>::infinity());
  double high = node.number("max", std::numeric_limits<double>::infinity());
  const char* compute = compute_of(c, node.inputs[0]);
  if (low == 0 && std::isinf(high)) return become(node, {{Op::kRelu}}, compute);
  std::vector<Step> steps = {{Op::kClip, 0, 0, 0, low, high}};
  if (std::string(compute) != "f32" &&
      (std::isinf(low) || std::isinf(high))) {  // integers have no infinity to clip against
    steps = {{std::isinf(high) ? Op::kMax : Op::kMin, 0, kConstantRegister, 0,
              std::isinf(high) ? low : high, 0}};
    if (std::isinf(low) && std::isinf(high)) steps = {{Op::kIdentity}};
  }
  become(node, steps, compute);
}

void prelu(Canonical& c, Node& node) {
  const Constant* slope = c.editor.constant(node.inputs[1]);
  std::optional<double> one = slope ? uniform(*slope) : std::nullopt;
  const char* compute = compute_of(c, node.inputs[0]);
  if (!one) return become(node, {{Op::kPrelu, 0, 1}}, compute);
  c.editor.set_inputs(node, {node.inputs[0]});
  become(node, {{Op::kLeakyRelu, 0, 0, 0, *one, 0}}, compute);
}

bool is_float(DType t) {
  return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16 || t == DType::kF64;
}

void cast(Canonical& c, Node& node) {
  DType from = c.editor.value(node.inputs[0]).dtype, to = c.editor.value(node.outputs[0]).dtype;
  if (from == to) {
    node.op = "Reshape";
    node.attributes.clear();
    return;
  }
  std::string compute = "i64";
  if (from == DType::kF64 || to == DType::kF64)
    compute = "f64";
  else if (is_float(from) || is_float(to))
    compute = "f32";
  else if (from == DType::kU64 || to == DType::kU64)
    compute = "u64";
  std::vector<Step> steps;
  if (to == DType::kBool) {  // true unless zero, which is not what truncation would say of 0.5
    compute = compute_type(from);
    steps = {{Op::kNotEqual, 0, kConstantRegister, 0, 0, 0}};
  }
  become(node, steps, compute.c_str());
}

void expand(Canonical& c, Node& node) {
  become(node, {{Op::kIdentity}}, compute_of(c, node.inputs[0]));
}

// Statistics that the model computes: ((x - mean) / sqrt(var + epsilon)) * scale + B in one node.
void computed_batch_normalisation(Canonical& c, Node& node) {
  Editor& e = c.editor;
  Dims dims(e.rank(node.inputs[0]), Dim(1));
  if (dims.size() > 1) dims[1] = e.dims(node.inputs[0])[1];
  std::vector<ValueId> inputs = {node.inputs[0]};
  for (size_t i = 1; i < 5; i++) inputs.push_back(e.reshape(node.inputs[i], dims, node));
  const double epsilon = node.number("epsilon", 1e-5);
  e.set_inputs(node, inputs);
  become(node,
         {{Op::kAdd, 4, kConstantRegister, 0, epsilon},
          {Op::kSqrt, 5},
          {Op::kSub, 0, 3},
          {Op::kDiv, 7, 6},
          {Op::kFma, 8, 1, 2}},
         "f32");
}

// Inference form: x * scale/sqrt(var + epsilon) + (B - mean * that), with constants of dims [1, C,
// 1, ..].
void batch_normalisation(Canonical& c, Node& node) {
  Editor& e = c.editor;
  std::vector<std::vector<double>> p;
  for (size_t i = 1; i < 5; i++) {
    const Constant* constant = e.constant(node.inputs[i]);
    if (!constant) return computed_batch_normalisation(c, node);
    p.push_back(numbers(*constant));
  }
  std::vector<double> factor, shift;
  for (size_t i = 0; i < p[0].size(); i++) {
    factor.push_back(p[0][i] / std::sqrt(p[3][i] + node.number("epsilon", 1e-5)));
    shift.push_back(p[1][i] - p[2][i] * factor[i]);
  }
  std::vector<int64_t> dims(e.rank(node.inputs[0]), 1);
  if (dims.size() > 1) dims[1] = int64_t(factor.size());
  ValueId f = e.new_constant(e.value(node.inputs[1]).name, make_f32(dims, factor));
  ValueId s = e.new_constant(e.value(node.inputs[2]).name, make_f32(dims, shift));
  e.set_inputs(node, {node.inputs[0], f, s});
  become(node, {{Op::kFma, 0, 1, 2}}, "f32");
}

}  // namespace

void add_elementwise_rules(Rules& rules) {
  for (const graph::Function& row : graph::kFunctions)
    if (!row.node.empty()) rules[row.node] = row.operands == 1 ? unary : binary;
  for (auto& [name, op] : kNumbered) rules[name] = numbered;
  rules["Mod"] = modulo;
  rules["BitShift"] = shift;
  rules["Where"] = selection;
  rules["Selu"] = selu;
  rules["Shrink"] = shrink;
  rules["Gelu"] = gelu;
  rules["Swish"] = swish;
  rules["IsInf"] = is_infinite;
  rules["Clip"] = clip;
  rules["PRelu"] = prelu;
  rules["Cast"] = cast;
  rules["Expand"] = expand;
  rules["BatchNormalization"] = batch_normalisation;
}

}  // namespace ingot::passes
