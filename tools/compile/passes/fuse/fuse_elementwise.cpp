// SPDX-License-Identifier: Apache-2.0
// Neighbouring Elementwise nodes become one chain of steps: one pass over memory. Nothing is
// computed twice: a value that has several readers stays a value.
#include <algorithm>
#include <cmath>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"

namespace ingot::passes {
namespace {

bool gives_truth(Op op) {
  uint8_t code = uint8_t(op);
  return op == Op::kLogicalNot || op == Op::kIsNan || op == Op::kIsInf || op == Op::kNotEqual ||
         (code >= 112 && code <= 119);
}

// The last step's register holds exactly what the output would give back when it is read again.
bool exact_output(const Editor& e, const Node& node) {
  DType dtype = e.value(node.outputs[0]).dtype;
  std::vector<Step> steps = steps_of(node);
  if (steps.empty()) return false;
  return dtype == compute_dtype(node.text(attr::compute, "f32")) ||
         (dtype == DType::kBool && gives_truth(steps.back().op));
}

// Registers of `steps`, whose operands move to `operands` and whose results start at `results`.
std::vector<Step> renumbered(std::vector<Step> steps, const std::vector<int>& operands,
                             int results) {
  auto move = [&](int& reg) {
    if (reg == kConstantRegister) return;
    reg = reg < int(operands.size()) ? operands[size_t(reg)] : results + reg - int(operands.size());
  };
  for (Step& s : steps) {
    move(s.a);
    if (elementwise_arity(s.op) > 1) move(s.b);
    if (elementwise_arity(s.op) > 2) move(s.c);
  }
  return steps;
}

// Joins `first`, whose output only `second` reads, into `second`.
bool join(Editor& e, Node& first, Node& second) {
  ValueId middle = first.outputs[0];
  std::vector<Step> head = steps_of(first), tail = steps_of(second);
  std::string compute = second.text(attr::compute, "f32"), own = first.text(attr::compute, "f32");
  bool converts_in = head.empty(), converts_out = tail.empty();
  if (converts_in && converts_out) return false;
  if (converts_in && e.value(middle).dtype != compute_dtype(compute)) return false;
  if (converts_out && !exact_output(e, first)) return false;
  if (!converts_in && !converts_out && (own != compute || !exact_output(e, first))) return false;
  if (head.size() + tail.size() > size_t(kMaxElementwiseSteps)) return false;
  std::vector<ValueId> inputs;
  auto slot = [&](ValueId id) {
    auto at = std::find(inputs.begin(), inputs.end(), id);
    if (at == inputs.end()) at = inputs.insert(at, id);
    return int(at - inputs.begin());
  };
  std::vector<int> head_operands, tail_operands;
  for (ValueId id : first.inputs) head_operands.push_back(slot(id));
  for (ValueId id : second.inputs) tail_operands.push_back(id == middle ? -1 : slot(id));
  if (inputs.size() > size_t(kMaxElementwiseInputs)) return false;
  int count = int(inputs.size()),
      result = converts_in ? head_operands[0] : count + int(head.size()) - 1;
  for (int& reg : tail_operands)
    if (reg < 0) reg = result;
  std::vector<Step> steps = renumbered(head, head_operands, count);
  for (const Step& s : renumbered(tail, tail_operands, count + int(head.size())))
    steps.push_back(s);
  e.kill(first);
  e.set_inputs(second, inputs);
  set_steps(second, steps);
  second.attributes[attr::compute] = converts_out ? own : compute;
  e.merge_sources(second, first);
  return true;
}

bool joinable(const Editor& e, const Node& first, const Node& second) {
  ValueId middle = first.outputs[0];
  if (e.is_output(middle) || !same(e.dims(middle), e.dims(second.outputs[0]))) return false;
  for (Node* reader : e.readers(middle))
    if (reader != &second) return false;
  return true;
}

bool representable(double number, const std::string& compute) {
  const bool is_float = double(float(number)) == number;
  if (compute == "f32" || compute == "f64") return is_float || std::isnan(number);
  // what a float holds of the integers that a double holds
  constexpr double kLargest = double(int64_t{1} << 53);
  return is_float && number == std::floor(number) && std::fabs(number) <= kLargest;
}

// Operands of one number become the constant of the step that reads them.
bool inline_scalars(Editor& e, Node& node) {
  std::vector<Step> steps = steps_of(node);
  std::string compute = node.text(attr::compute, "f32");
  if (steps.empty()) return false;
  std::vector<std::optional<double>> number;
  bool any = false;
  for (ValueId id : node.inputs) {
    number.push_back(scalar(e.model, id));
    if (number.back() && !representable(*number.back(), compute)) number.back() = std::nullopt;
  }
  for (Step& s : steps) {
    if (elementwise_arity(s.op) < 2) continue;
    bool taken = s.a == kConstantRegister || s.b == kConstantRegister ||
                 (elementwise_arity(s.op) > 2 && s.c == kConstantRegister);
    int* registers[] = {&s.a, &s.b, &s.c};
    int variables = 0;
    for (int k = 0; k < elementwise_arity(s.op); k++) {
      int reg = *registers[k];
      variables +=
          reg != kConstantRegister && (size_t(reg) >= number.size() || !number[size_t(reg)]);
    }
    for (int k = 0; k < elementwise_arity(s.op); k++) {
      int& reg = *registers[k];
      if (reg == kConstantRegister || size_t(reg) >= number.size() || !number[size_t(reg)])
        continue;
      if (variables == 0 && k == 0) continue;  // a step keeps one operand
      if (taken && !(s.alpha == *number[size_t(reg)])) continue;
      s.alpha = *number[size_t(reg)];
      reg = kConstantRegister;
      taken = any = true;
    }
  }
  if (!any) return false;
  std::vector<ValueId> inputs;
  std::vector<int> operands;
  for (size_t i = 0; i < node.inputs.size(); i++) {
    bool read = false;
    for (const Step& s : steps)
      read |= s.a == int(i) || (elementwise_arity(s.op) > 1 && s.b == int(i)) ||
              (elementwise_arity(s.op) > 2 && s.c == int(i));
    operands.push_back(read ? int(inputs.size()) : -1);
    if (read) inputs.push_back(node.inputs[i]);
  }
  if (inputs.empty()) return false;
  set_steps(node, renumbered(steps, operands, int(inputs.size())));
  e.set_inputs(node, inputs);
  return true;
}

bool reads(const Step& s, int reg) {
  int arity = elementwise_arity(s.op);
  return s.a == reg || (arity > 1 && s.b == reg) || (arity > 2 && s.c == reg);
}

// The operand of a step that is `op` with one constant, else -1.
int operand_beside_constant(const Step& s, Op op) {
  if (s.op != op || (s.a == kConstantRegister) == (s.b == kConstantRegister)) return -1;
  return s.a == kConstantRegister ? s.b : s.a;
}

// A product with a number whose only use is a sum with a number: one step.
bool join_scale_and_shift(Node& node) {
  if (node.text(attr::compute, "f32") != "f32") return false;
  std::vector<Step> steps = steps_of(node);
  int inputs = int(node.inputs.size());
  for (size_t j = 0; j < steps.size(); j++) {
    int product = operand_beside_constant(steps[j], Op::kAdd);
    if (product < inputs) continue;
    size_t i = size_t(product - inputs);
    int x = operand_beside_constant(steps[i], Op::kMul);
    size_t uses = size_t(std::count_if(steps.begin(), steps.end(),
                                       [&](const Step& s) { return reads(s, product); }));
    if (x < 0 || uses != 1) continue;
    steps[j] = {Op::kScaleShift, x, 0, 0, steps[i].alpha, steps[j].alpha};
    steps.erase(steps.begin() + long(i));
    for (size_t k = i; k < steps.size(); k++)
      for (int* reg : {&steps[k].a, &steps[k].b, &steps[k].c})
        if (*reg != kConstantRegister && *reg > product) --*reg;
    set_steps(node, steps);
    return true;
  }
  return false;
}

}  // namespace

uint32_t fuse_elementwise(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes())
    if (node->op == op::Elementwise) inline_scalars(e, *node);
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::Elementwise) continue;
    for (bool again = true; again;) {
      again = false;
      for (ValueId id : node->inputs) {
        Node* first = e.producer_if(id, op::Elementwise);
        if (!first || !joinable(e, *first, *node) || !join(e, *first, *node)) continue;
        again = true;
        changed++;
        break;
      }
    }
    while (join_scale_and_shift(*node)) changed++;
  }
  return changed;
}

}  // namespace ingot::passes
