// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/lower.cpp - walks the graph: ports, nodes, branches.
#include "tools/compile/lower/lower.h"

#include <algorithm>
#include <set>

#include "tools/compile/lower/lower_attributes.h"
#include "tools/compile/lower/state_pairs.h"

namespace ingot::convert {
namespace {

std::set<graph::ValueId> produced_by(const graph::Graph& graph) {
  std::set<graph::ValueId> produced;
  for (const graph::Node& node : graph.nodes)
    produced.insert(node.outputs.begin(), node.outputs.end());
  return produced;
}

PortSpec port_of(const graph::Model& model, const PortLayouts& layouts, graph::ValueId id,
                 int32_t value) {
  PortSpec port;
  port.name = model.values[size_t(id)].name;
  port.value = value;
  port.layout = layouts.of(id);
  for (const graph::Dim& dim : model.values[size_t(id)].dims)
    port.source_dims.push_back(dim.text());
  return port;
}

}  // namespace

PortLayouts::PortLayouts(const graph::Model& model) : model_(model) {
  for (const graph::Node& node : model.graph.nodes) {
    const auto first = [](const std::vector<graph::ValueId>& ids) {
      return ids.empty() ? graph::kAbsent : ids[0];
    };
    if (node.op == op::ImageInput) {
      const std::string frame = node.text(attr::format, "") + " " +
                                std::to_string(node.integer(attr::width, 0)) + "x" +
                                std::to_string(node.integer(attr::height, 0));
      for (size_t i = 0; i < node.inputs.size(); i++)
        frames_.emplace(node.inputs[i],
                        frame + (node.inputs.size() > 1 ? " plane " + std::to_string(i) : ""));
    }
    if (node.op == op::Conv2d && node.text(attr::input_layout, "nhwc") == "nchw")
      nchw_.insert(first(node.inputs));
    if (node.op != op::Transpose) continue;
    const std::vector<int64_t> perm = node.integers(attr::perm);
    if (perm == std::vector<int64_t>{0, 2, 3, 1}) nchw_.insert(first(node.inputs));
    if (perm == std::vector<int64_t>{0, 3, 1, 2}) nchw_.insert(first(node.outputs));
  }
}

std::string PortLayouts::of(graph::ValueId id) const {
  if (const auto frame = frames_.find(id); frame != frames_.end()) return frame->second;
  const graph::Value& value = model_.values[size_t(id)];
  if (!value.layout.empty()) return value.layout;
  return value.dims.size() == 4 && nchw_.count(id) ? "NCHW" : "";
}

LoweredProgram lower(const graph::Model& model, const ConvertOptions& options,
                     ConversionReport* report) {
  return Lowering(model, options, report).run();
}

LoweredProgram Lowering::run() {
  const std::string flaw = passes::why_not_core_form(model_);
  if (!flaw.empty()) graph::fail_internal("the passes left more than core form: " + flaw);
  check_state_pairs(model_, options_);
  lower_all();
  (void)choose_trials(&lowered_);  // none found: check_lowered() refuses
  const std::vector<Bindings> trials = lowered_.trials;
  const bool has_sound_extents = lowered_.has_sound_extents;
  report_->binding = trials[0];
  for (const auto& [name, symbol] : lowered_.data_dependent) report_->binding.erase(name);
  methods_ = choose_methods(model_, options_, trials[0]);
  size_t left_out = 0;
  for (const auto& [node, choice] : methods_) {
    report_->winograd_extra_bytes += choice.extra_bytes;
    left_out += choice.why.find("byte budget") != std::string::npos;
  }
  if (options_.storage.dtype != DType::kF32 && options_.winograd == WinogradMode::kAuto && left_out)
    report_->hints.push_back(
        "winograd: " + std::to_string(left_out) +
        " convolutions do without it, because its weights are four times as many and stay f32; "
        "--winograd BYTES buys it back");
  lower_all();  // again, now that extents are known for which methods could be chosen
  lowered_.trials = trials;
  lowered_.has_sound_extents = has_sound_extents;
  return std::move(lowered_);
}

void Lowering::lower_all() {
  lowered_ = LoweredProgram();
  packed_.clear();
  report_->winograd = 0;
  lowered_.symbols = model_.symbols;
  lowered_.data_dependent.clear();
  lowered_.subprograms.push_back({"main", {}});
  declare_values();
  declare_inputs();
  lower_main();
}

void Lowering::declare_values() {
  values_.assign(model_.values.size(), -1);
  for (size_t i = 0; i < model_.values.size(); i++) {
    const graph::Value& value = model_.values[i];
    if (value.constant || !value.shape_known) continue;
    LoweredValue lowered;
    lowered.name = value.name;
    lowered.dtype = value.dtype;
    lowered.dims = value.dims;
    lowered.graph_value = graph::ValueId(i);
    values_[i] = lowered_.add(std::move(lowered));
  }
  for (const auto& [name, symbol] : model_.data_dependent)
    lowered_.data_dependent[name] = {value(symbol.by), symbol.bound};
}

void Lowering::declare_inputs() {
  for (const graph::ValueId id : model_.graph.inputs) {
    if (model_.constant(id)) continue;
    const int32_t lowered = value(id);
    if (const StatePair* pair = state_of_input(options_, model_.values[size_t(id)].name)) {
      declare_state(*pair, id, lowered);
      continue;
    }
    lowered_.at(lowered).kind = ValueKind::kInput;
    lowered_.inputs.push_back(port_of(model_, layouts_, id, lowered));
  }
}

void Lowering::declare_state(const StatePair& pair, graph::ValueId input, int32_t lowered) {
  LoweredValue& state = lowered_.at(lowered);
  state.kind = ValueKind::kState;
  StateSpec spec;
  spec.name = pair.input;
  spec.output_name = pair.output;
  spec.value = lowered;
  if (pair.init != 0) {
    LoweredValue init;
    init.name = pair.input + "/init";
    init.dtype = state.dtype;
    init.kind = ValueKind::kConstant;
    init.dims = state.dims;
    init.bytes.held = initial_bytes(pair, model_.values[size_t(input)]);
    spec.init = lowered_.add(std::move(init));
  }
  lowered_.states.push_back(std::move(spec));
}

int32_t Lowering::value(graph::ValueId id) {
  if (id < 0) return -1;
  int32_t& lowered = values_[size_t(id)];
  if (lowered >= 0) return lowered;
  const graph::Value& source = model_.values[size_t(id)];
  if (!source.constant)
    graph::fail_internal("value '" + source.name + "' has no dims after the passes");
  LoweredValue constant;
  constant.name = source.name;
  constant.dtype = source.constant->dtype;
  constant.kind = ValueKind::kConstant;
  for (const int64_t n : source.constant->dims) constant.dims.emplace_back(n);
  constant.bytes.held = source.constant->bytes ? source.constant->bytes
                                               : std::make_shared<const std::vector<uint8_t>>();
  return lowered = lowered_.add(std::move(constant));
}

void Lowering::append_copy(int32_t from, int32_t to, const std::string& why, Block* block) {
  LoweredInstruction copy;
  copy.attributes = CopyAttributes{};
  copy.inputs = {from};
  copy.outputs = {to};
  copy.note = why;
  block->push_back(std::move(copy));
}

/// A graph output that one node of the main graph writes is that value; anything else (an input, a
/// constant, the same value twice) gets a value of its own and a Copy.
void Lowering::lower_main() {
  const std::set<graph::ValueId> produced = produced_by(model_.graph);
  std::set<graph::ValueId> seen;
  std::vector<std::pair<graph::ValueId, int32_t>> copies;
  std::vector<std::pair<graph::ValueId, int32_t>> updates;
  for (const graph::ValueId id : model_.graph.outputs) {
    if (const StateSpec* state = state_of_output(lowered_, model_.values[size_t(id)].name)) {
      updates.emplace_back(id, state->value);
      continue;
    }
    int32_t lowered = -1;
    if (produced.count(id) && seen.insert(id).second) {
      lowered = value(id);
    } else {
      const graph::Value& source = model_.values[size_t(id)];
      LoweredValue output;
      output.name = source.name;
      output.dtype = source.constant ? source.constant->dtype : source.dtype;
      if (source.constant)
        output.dims.assign(source.constant->dims.begin(), source.constant->dims.end());
      else
        output.dims = source.dims;
      lowered = lowered_.add(std::move(output));
      copies.emplace_back(id, lowered);
    }
    lowered_.at(lowered).kind = ValueKind::kOutput;
    lowered_.outputs.push_back(port_of(model_, layouts_, id, lowered));
  }
  Block block;
  lower_nodes(model_.graph, &block);
  for (const auto& [id, lowered] : copies)
    append_copy(value(id), lowered, "an output that is an input, a constant or another output",
                &block);
  for (const auto& [id, lowered] : updates) append_copy(value(id), lowered, "", &block);
  lowered_.subprograms[0].instructions = std::move(block);
}

void Lowering::lower_branch(const graph::Graph& graph, const std::vector<int32_t>& results,
                            uint32_t subprogram) {
  const std::set<graph::ValueId> produced = produced_by(graph);
  std::set<graph::ValueId> seen;
  std::vector<std::pair<graph::ValueId, int32_t>> copies;
  for (size_t i = 0; i < results.size(); i++) {
    if (results[i] < 0) continue;
    const graph::ValueId id = graph.outputs[i];
    const int32_t own = model_.constant(id) ? -1 : value(id);
    const bool direct = produced.count(id) && seen.insert(id).second &&
                        lowered_.at(own).dims == lowered_.at(results[i]).dims &&
                        lowered_.at(own).dtype == lowered_.at(results[i]).dtype;
    if (direct)
      values_[size_t(id)] = results[i];
    else
      copies.emplace_back(id, results[i]);
  }
  Block block;
  const uint32_t outer = subprogram_;
  subprogram_ = subprogram;
  lower_nodes(graph, &block);
  subprogram_ = outer;
  for (const auto& [id, result] : copies)
    append_copy(value(id), result, "the end of a branch", &block);
  lowered_.subprograms[subprogram].instructions = std::move(block);
}

void Lowering::lower_nodes(const graph::Graph& graph, Block* block) {
  for (const graph::Node& node : graph.nodes)
    if (!node.dead) lower_node(node, block);
}

namespace {

void keep_exact(Attributes* attributes) {
  if (auto* const conv = std::get_if<Conv2dAttributes>(attributes))
    conv->reduced_precision = ReducedPrecision::kExact;
  if (auto* const linear = std::get_if<LinearAttributes>(attributes))
    linear->reduced_precision = ReducedPrecision::kExact;
}

}  // namespace

void Lowering::lower_node(const graph::Node& node, Block* block) {
  LoweredInstruction instruction;
  instruction.sources = node.sources;
  instruction.node = node.name;
  for (const graph::ValueId id : node.outputs) instruction.outputs.push_back(value(id));
  if (node.op == op::Reshape || node.op == op::BitCast) {
    instruction.attributes = CopyAttributes{};
    instruction.inputs = {value(node.inputs[0])};
  } else if (node.op == op::ResolveDim) {
    ElementwiseAttributes same;  // no step: a conversion of i64 to itself
    same.compute = ComputeType::kI64;
    instruction.attributes = same;
    instruction.inputs = {value(node.inputs[0])};
  } else if (node.op == op::If) {
    lower_if(node, &instruction);
  } else if (node.op == op::Loop) {
    instruction.outputs.clear();
    lower_loop(node, &instruction, block);
  } else {
    const graph::Value& first = model_.values[size_t(node.inputs.at(0))];
    const size_t rank = first.constant ? first.constant->dims.size() : first.dims.size();
    instruction.attributes = attributes_of(node, rank, &instruction.extents);
    if (stays_exact(node, options_)) keep_exact(&instruction.attributes);
    lower_weights(node, &instruction);
  }
  block->push_back(std::move(instruction));
}

}  // namespace ingot::convert
