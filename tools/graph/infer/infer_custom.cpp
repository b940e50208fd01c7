// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_custom.cpp - Custom: the plugin says what shapes its outputs have. It
// knows numbers alone, so where an extent is open it is asked for many of them, and the rule that
// its answers follow is found: a number, an extent of an input, or one that is scaled and shifted.
// Every session asks it again for its own numbers.
#include <algorithm>

#include "tools/graph/custom_node.h"
#include "tools/graph/infer/inference.h"
#include "tools/plugins/plugins.h"

namespace ingot::graph {
namespace {

constexpr int64_t kProbes = 24, kFewestAnswers = 3, kLargestDivisor = 64, kLargestStep = 61;
using Binding = std::map<std::string, int64_t>;

struct Answer {
  std::vector<int64_t> given;  // the extents of the inputs that are open, in the order of `open`
  std::vector<ingot_tensor> outputs;
};

/// Asks one plugin about one node.
class Questions {
 public:
  Questions(NodeContext& context, const ingot_custom_operator& op)
      : context_(context), op_(op), call_(context.node) {}

  /// False where it refuses these extents; *why then.
  bool ask(const Binding& binding, std::vector<ingot_tensor>* outputs, std::string* why) const {
    std::vector<ingot_tensor> inputs;
    for (size_t i = 0; i < context_.node.inputs.size(); i++) inputs.push_back(input(i, binding));
    outputs->assign(context_.node.outputs.size(), ingot_tensor{});
    ingot_custom_call call = {};
    call.size = sizeof call;
    call.attributes = call_.attributes().data();
    call.attribute_count = uint32_t(call_.attributes().size());
    call.inputs = inputs.data();
    call.input_count = uint32_t(inputs.size());
    call.output_count = uint32_t(outputs->size());
    call.threads = 1;
    const char* sentence = nullptr;
    const ingot_code code = op_.shape(op_.user, &call, outputs->data(), &sentence);
    if (code == INGOT_OK) return true;
    *why = sentence ? sentence : "its shape function returned " + std::to_string(code);
    return false;
  }

 private:
  ingot_tensor input(size_t i, const Binding& binding) const {
    ingot_tensor tensor = {};
    if (!context_.has(i)) return tensor;
    tensor.dtype = ingot_dtype(context_.dtype(i));
    tensor.rank = int32_t(context_.rank(i));
    if (tensor.rank > INGOT_MAX_RANK)
      context_.refuse("", "input " + std::to_string(i) + " has more than " +
                              std::to_string(INGOT_MAX_RANK) + " dimensions");
    tensor.row_stride = 1;
    for (int32_t d = 0; d < tensor.rank; d++)
      tensor.dims[d] = context_.dims(i)[size_t(d)].evaluate(binding);
    if (tensor.rank) tensor.row_stride = tensor.dims[tensor.rank - 1];
    return tensor;
  }

  NodeContext& context_;
  const ingot_custom_operator& op_;
  const CustomCall call_;
};

void check_output(const NodeContext& context, size_t i, const ingot_tensor& said) {
  const std::string which = "its plugin says of output " + std::to_string(i) + ": ";
  if (said.dtype <= 0 || said.dtype > INGOT_BOOL)
    context.refuse("", which + "element type " + std::to_string(said.dtype));
  if (said.rank < 0 || said.rank > INGOT_MAX_RANK)
    context.refuse("", which + "rank " + std::to_string(said.rank));
  for (int32_t d = 0; d < said.rank; d++)
    if (said.dims[d] < 0)
      context.refuse(
          "", which + "dimension " + std::to_string(d) + " is " + std::to_string(said.dims[d]));
}

/// Extents for the symbols: the bounds, and numbers between that have little in common.
std::vector<Binding> probes_of(NodeContext& context, const Dims& open) {
  std::map<std::string, SymbolBounds> symbols;
  for (const Dim& dim : open)
    for (const std::string& name : dim.symbols()) {
      const auto known = context.model().symbols.find(name);
      symbols[name] = known == context.model().symbols.end() ? SymbolBounds{} : known->second;
    }
  std::vector<Binding> probes;
  for (int64_t p = 0; p < kProbes; p++) {
    Binding binding;
    int64_t step = 1;
    for (const auto& [name, bounds] : symbols) {
      const int64_t wanted = bounds.low + p * step + (p % 5) * (step + 1);
      binding[name] = bounds.high > 0 ? std::min(wanted, bounds.high) : wanted;
      step = step % kLargestStep * 2 + 1;
    }
    if (p == kProbes - 1)
      for (const auto& [name, bounds] : symbols)
        if (bounds.high > 0) binding[name] = bounds.high;
    probes.push_back(std::move(binding));
  }
  return probes;
}

using Candidate = std::pair<Dim, std::vector<int64_t>>;  // and its number in each answer

bool agrees(const Dim& dim, const std::vector<Binding>& bindings,
            const std::vector<int64_t>& said) {
  for (size_t i = 0; i < said.size(); i++)
    if (dim.evaluate(bindings[i]) != said[i]) return false;
  return true;
}

/// A line through two answers whose extents differ, in whole numbers; or one that divides.
std::optional<Dim> scaled(const Candidate& from, const std::vector<Binding>& bindings,
                          const std::vector<int64_t>& said) {
  const auto& [dim, x] = from;
  for (size_t i = 1; i < x.size(); i++) {
    const int64_t run = x[i] - x[0], rise = said[i] - said[0];
    if (run == 0 || rise % run != 0) continue;
    const Dim line = dim * Dim(rise / run) + Dim(said[0] - rise / run * x[0]);
    if (agrees(line, bindings, said)) return line;
    break;
  }
  for (int64_t by = 2; by <= kLargestDivisor; by++)
    for (int64_t shift = 0; shift < by; shift++) {
      const int64_t rest = said[0] - (x[0] + shift) / by;
      const Dim line = (dim + Dim(shift)) / Dim(by) + Dim(rest);
      if (agrees(line, bindings, said)) return line;
    }
  return std::nullopt;
}

std::optional<Dim> find_rule(const std::vector<Candidate>& inputs,
                             const std::vector<Binding>& bindings,
                             const std::vector<int64_t>& said) {
  if (agrees(Dim(said[0]), bindings, said)) return Dim(said[0]);
  for (const Candidate& input : inputs)
    if (input.second == said) return input.first;
  for (const Candidate& input : inputs)
    if (auto line = scaled(input, bindings, said)) return line;
  for (const Candidate& a : inputs)
    for (const Candidate& b : inputs)
      for (const Dim& both : {a.first + b.first, a.first * b.first, a.first - b.first})
        if (agrees(both, bindings, said)) return both;
  return std::nullopt;
}

void infer_open(NodeContext& context, const Questions& questions, const Dims& open) {
  std::vector<Binding> bindings;
  std::vector<std::vector<ingot_tensor>> answers;
  std::string why;
  for (Binding& binding : probes_of(context, open)) {
    std::vector<ingot_tensor> outputs;
    bool can_be = true;
    for (const Dim& dim : open) can_be = can_be && dim.evaluate(binding) >= 0;
    if (!can_be || !questions.ask(binding, &outputs, &why)) continue;
    bindings.push_back(std::move(binding));
    answers.push_back(std::move(outputs));
  }
  if (int64_t(answers.size()) < kFewestAnswers)
    context.refuse("",
                   "its plugin refused " + std::to_string(kProbes - int64_t(answers.size())) +
                       " of " + std::to_string(kProbes) + " extents tried for " + text(open) +
                       (why.empty() ? "" : ": " + why),
                   "set extents that it takes with --dim");
  std::vector<Candidate> inputs;
  for (const Dim& dim : open) {
    Candidate candidate{dim, {}};
    for (const Binding& binding : bindings) candidate.second.push_back(dim.evaluate(binding));
    inputs.push_back(std::move(candidate));
  }
  for (size_t i = 0; i < context.node.outputs.size(); i++) {
    if (context.node.outputs[i] == kAbsent) continue;
    const ingot_tensor& first = answers[0][i];
    Dims dims;
    for (const auto& answer : answers) {
      check_output(context, i, answer[i]);
      if (answer[i].dtype != first.dtype || answer[i].rank != first.rank)
        context.refuse("",
                       "the type or rank of output " + std::to_string(i) +
                           " depends on the extents of its inputs",
                       "fix them with --dim");
    }
    for (int32_t d = 0; d < first.rank; d++) {
      std::vector<int64_t> said;
      for (const auto& answer : answers) said.push_back(answer[i].dims[d]);
      const std::optional<Dim> rule = find_rule(inputs, bindings, said);
      if (!rule)
        context.refuse("",
                       "dimension " + std::to_string(d) + " of output " + std::to_string(i) +
                           " follows from " + text(open) +
                           " by no rule that could be found (asked " +
                           std::to_string(answers.size()) + " times)",
                       "fix the dynamic dimensions with --dim");
      dims.push_back(*rule);
    }
    context.set(i, DType(first.dtype), std::move(dims));
  }
}

void custom(NodeContext& context) {
  const std::string domain = context.node.text(attr::domain, ""),
                    name = context.node.text(attr::operator_name, "");
  const ingot_custom_operator* const op = plugins::find(domain, name);
  if (!op) context.refuse("", "no plugin that was loaded has " + domain + "::" + name);
  Dims open;
  for (size_t i = 0; i < context.node.inputs.size(); i++)
    for (const Dim& dim : context.has(i) ? context.dims(i) : Dims())
      if (!dim.is_static() && std::find(open.begin(), open.end(), dim) == open.end())
        open.push_back(dim);
  const Questions questions(context, *op);
  if (!open.empty()) return infer_open(context, questions, open);
  std::vector<ingot_tensor> outputs;
  std::string why;
  if (!questions.ask({}, &outputs, &why)) context.refuse("", why);
  for (size_t i = 0; i < outputs.size(); i++) {
    if (context.node.outputs[i] == kAbsent) continue;
    check_output(context, i, outputs[i]);
    context.set(i, DType(outputs[i].dtype),
                Dims(outputs[i].dims, outputs[i].dims + outputs[i].rank));
  }
}

}  // namespace

void add_custom_rules(InferTable& table) { table[op::Custom] = custom; }

}  // namespace ingot::graph
