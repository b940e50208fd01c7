// SPDX-License-Identifier: Apache-2.0
#include "tools/import/tflite/translator.h"

#include <algorithm>
#include <set>

#include "tools/files/work_budget.h"
#include "tools/graph/dim_limit.h"
#include "tools/graph/port_quantization.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/common/source_errors.h"
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

using graph::fail_conversion;
using graph::fail_corrupt;
using graph::fail_mismatch;
using graph::fail_unsupported;

constexpr int kMaxDepth = 16;               // of subgraphs inside of subgraphs
constexpr size_t kMaxOperators = 1u << 18;  // with those of subgraphs that are called again
constexpr int kCustom = 32;

/// Of a port of int8, uint8 or int16 with one scale.
void record_steps(const ModelFile& file, const fb::Tensor& t, const std::string& port,
                  graph::Model* model) {
  if (!is_int16_type(t) && !is_int8_type(t)) return;
  const TensorQuantization q = file.quantization(t);
  if (q.is_blockwise || q.scales.size() != 1 || q.zero_points.empty()) return;
  graph::record_quantization(model, port, double(q.scales[0]), q.zero_points[0]);
}

}  // namespace

/// What goes in and out, by name.
struct Translator::Ports {
  struct Port {
    std::string name;
    int64_t tensor = 0;
  };
  uint32_t subgraph = 0;
  std::vector<Port> inputs, outputs;
};

Translator::Translator(std::shared_ptr<const ModelFile> file,
                       const importer::ImportOptions& options)
    : net(file->path(), "tflite", options),
      file_(std::move(file)),
      path_(file_->path()),
      options_(options) {
  if (file_->model().description())
    net.model.source_producer = importer::clean_line(file_->model().description()->str());
}

const fb::SubGraph& Translator::subgraph(int64_t index) const {
  if (index < 0 || size_t(index) >= file_->subgraph_count())
    file_->corrupt("it calls subgraph " + std::to_string(index) + " of " +
                   std::to_string(file_->subgraph_count()));
  return file_->subgraph(size_t(index));
}

Translator::Ports Translator::choose_ports() const {
  Ports ports;
  const auto* signatures = file_->model().signatures();
  if (!options_.signature.empty()) {
    std::string known;
    for (uint32_t i = 0; signatures && i < signatures->size(); i++) {
      const fb::Signature& each = *signatures->Get(i);
      const std::string name = each.key() ? each.key()->str() : "";
      known += (known.empty() ? "'" : ", '") + name + "'";
      if (name != options_.signature) continue;
      ports.subgraph = each.subgraph_index();
      const auto add = [](const auto* from, std::vector<Ports::Port>* to) {
        for (uint32_t k = 0; from && k < from->size(); k++)
          to->push_back({from->Get(k)->name() ? from->Get(k)->name()->str() : "",
                         int64_t(from->Get(k)->tensor_index())});
      };
      add(each.inputs(), &ports.inputs);
      add(each.outputs(), &ports.outputs);
      return ports;
    }
    fail_mismatch(path_, "--signature names '" + options_.signature +
                             "', which the model does not have; " +
                             (known.empty() ? "it has none" : "there are " + known));
  }
  const fb::SubGraph& graph = file_->subgraph(0);
  const auto add = [&](const flatbuffers::Vector<int32_t>* from, std::vector<Ports::Port>* to) {
    for (uint32_t i = 0; from && i < from->size(); i++)
      to->push_back({ModelFile::name(file_->tensor(graph, from->Get(i)), size_t(from->Get(i))),
                     from->Get(i)});
  };
  add(graph.inputs(), &ports.inputs);
  add(graph.outputs(), &ports.outputs);
  return ports;
}

namespace {

/// Where a model may be cut that reads or gives text: the numbers that are first made of a text
/// input, or those of which a text output is made.
std::string numbers_beside_text(const ModelFile& file, const fb::SubGraph& graph, int64_t text,
                                bool is_input) {
  std::set<int64_t> texts = {text};
  std::set<std::string> names;
  const auto visit = [&](const fb::Operator& op) {
    const auto* from = is_input ? op.inputs() : op.outputs();
    const auto* to = is_input ? op.outputs() : op.inputs();
    if (!from || !to ||
        std::none_of(from->begin(), from->end(), [&](int32_t t) { return texts.count(t) > 0; }))
      return;
    for (const int32_t each : *to) {
      if (each < 0) continue;
      const fb::Tensor& t = file.tensor(graph, each);
      if (ModelFile::dtype(t.type()) == DType::kInvalid)
        texts.insert(each);
      else if (!file.bytes(t).is_there && !t.is_variable())
        names.insert("'" + ModelFile::name(t, size_t(each)) + "'");
    }
  };
  const uint32_t count = graph.operators() ? graph.operators()->size() : 0;
  for (uint32_t i = 0; i < count; i++) visit(*graph.operators()->Get(is_input ? i : count - 1 - i));
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace

Program Translator::run() {
  const Ports ports = choose_ports();
  Scope scope;
  scope.index = ports.subgraph;
  scope.graph = &file_->subgraph(scope.index);
  scope.slots.resize(ModelFile::tensor_count(*scope.graph));
  declare_inputs(ports, scope);
  depth_ = 1;
  translate(scope);
  std::vector<std::pair<std::string, ValueId>> outputs;
  std::set<std::string> taken;
  for (const Ports::Port& port : ports.outputs) {
    ValueId id = read(scope, port.tensor);
    const fb::Tensor& t = file_->tensor(*scope.graph, port.tensor);
    if (t.type() == fb::TensorType::complex64)
      refused("output", "", port.name, "is of type complex64", "let it end in its parts");
    if (t.type() == fb::TensorType::string) {
      const std::string numbers = numbers_beside_text(*file_, *scope.graph, port.tensor, false);
      refused("output", "", port.name, "is text, and programs have numbers alone",
              "convert the model without it" +
                  (numbers.empty() ? "" : ": let it end in " + numbers + ", of which it is made"));
    }
    const auto params = quant_params_of(*file_, t);
    if (id != kAbsent && params && params->is_signed) {
      net.b.begin_node({port.name, "output", port.name});
      id = net.b.emit(op::OffsetByte, {id});
    }
    if (id == kAbsent && !slot(scope, port.tensor).refused)
      file_->corrupt("nothing makes output '" + port.name + "'");
    std::string name = port.name.empty() ? "output" : port.name;
    while (!taken.insert(name).second) name += "_" + std::to_string(outputs.size());
    record_steps(*file_, t, name, &net.model);
    outputs.emplace_back(name, id);
  }
  Program program;
  finish_variables(&outputs, &program.states);
  note_arithmetic();
  program.model = net.finish(outputs);
  check_exact_to();
  return program;
}

void Translator::declare_inputs(const Ports& ports, Scope& scope) {
  std::set<std::string> names;
  for (const Ports::Port& port : ports.inputs) {
    const fb::Tensor& t = file_->tensor(*scope.graph, port.tensor);
    Slot& at = scope.slots[size_t(port.tensor)];
    if (at.id != kAbsent || at.refused) {
      if (options_.signature.empty()) file_->corrupt("input '" + port.name + "' is listed twice");
      continue;
    }
    std::string name = port.name.empty() ? "input" : port.name;
    while (!names.insert(name).second) name += "_" + std::to_string(names.size());
    const DType dtype = ModelFile::dtype(t.type());
    if (t.type() == fb::TensorType::string) {
      const std::string numbers = numbers_beside_text(*file_, *scope.graph, port.tensor, true);
      refused("input", "", name, "is text, and programs have numbers alone",
              numbers.empty() ? "nothing is computed of it"
                              : "convert the model from " + numbers +
                                    " on, the numbers that are made of it, and feed those");
      at.refused = true;
      continue;
    }
    if (dtype == DType::kInvalid) {
      refused("input", "", name, std::string("is of type ") + ModelFile::type_name(t.type()),
              "take out of the model what works on it, and give its result as input");
      at.refused = true;
      continue;
    }
    std::vector<int64_t> dims = ModelFile::shape(t);
    std::vector<std::string> symbols;
    const auto* open = t.shape_signature();
    for (size_t d = 0; d < dims.size(); d++) {
      if (open && open->size() == dims.size() && open->Get(uint32_t(d)) < 0) dims[d] = -1;
      symbols.push_back(d == 0 ? "N" : name + "_dim" + std::to_string(d));
    }
    at.id = net.input(name, dtype, dims, symbols);
    record_steps(*file_, t, name, &net.model);
    if (quant_params_of(*file_, t) && dtype == DType::kI8) {
      net.b.begin_node({name, "input", name});
      at.id = net.b.emit(op::OffsetByte, {at.id});
    }
  }
}

Slot& Translator::slot(Scope& scope, int64_t tensor) { return scope.slots.at(size_t(tensor)); }

ValueId Translator::read(Scope& scope, int64_t index) {
  Slot& at = slot(scope, index);
  if (at.id != kAbsent || at.refused) return at.id;
  const fb::Tensor& t = file_->tensor(*scope.graph, index);
  const std::string name = ModelFile::name(t, size_t(index));
  const std::vector<int64_t> dims = ModelFile::shape(t);
  const bool is_empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  if (t.is_variable()) {
    if (ModelFile::dtype(t.type()) == DType::kInvalid) return kAbsent;
    return read_variable(variable_of(scope, index),
                         is_int8_type(t) ? DType::kU8 : ModelFile::dtype(t.type()), dims);
  }
  if (!file_->bytes(t).is_there && !(is_empty && t.buffer() != 0)) return kAbsent;
  const auto key = std::make_pair(scope.index, index);
  const auto known = constants_.find(key);
  if (known != constants_.end()) return at.id = known->second;
  if (ModelFile::dtype(t.type()) == DType::kInvalid) {
    refused("constant", "", name, std::string("is of type ") + ModelFile::type_name(t.type()), "");
    at.refused = true;
    return kAbsent;
  }
  graph::Constant constant =
      quant_params_of(*file_, t) ? read_bytes(*file_, t, name) : read_constant(*file_, t, name);
  net.model.allow_folding(constant.elements());
  at.id = net.model.add_constant(name, std::move(constant));
  constants_[key] = at.id;
  return at.id;
}

void Translator::refused(const std::string& op, const std::string& attribute,
                         const std::string& node, const std::string& why, const std::string& hint) {
  const std::string key = op + "\n" + attribute + "\n" + why;
  const auto [found, added] = said_.emplace(key, net.b.unsupported.size());
  if (added) net.b.unsupported.push_back({op, attribute, node, "", why, hint});
}

/// What stands in the way of an operator whatever it reads. True when something was.
bool Translator::refuse_kind(const Scope& scope, const fb::Operator& op, const std::string& node) {
  const OperatorKind kind = file_->kind(op);
  const std::string name = operator_name(kind);
  const OperatorRow* row = find_operator(kind);
  if (!row || !row->translation.translate) {
    if (kind.code == kCustom && kind.custom.rfind("Flex", 0) == 0)
      refused(name, "", node, "is an operator of TensorFlow itself",
              "convert the model with TFLITE_BUILTINS alone");
    else if (kind.code == kCustom)
      refused(name, "", node, "is a custom operator, whose meaning the file does not say",
              "replace it by builtin operators, or cut the model before it");
    else
      refused(name, "", node, "the operator is not supported",
              "cut the model before it, or convert its ONNX or Keras form");
    return true;
  }
  return refuse_tensors(scope, op, name, node);
}

void Translator::translate(Scope& scope) {
  const size_t count = scope.graph->operators() ? scope.graph->operators()->size() : 0;
  for (size_t i = 0; i < count; i++) translate_operator(scope, i);
}

void Translator::translate_operator(Scope& scope, size_t index) {
  if (++operators_ > kMaxOperators)
    fail_unsupported(path_, "more than " + std::to_string(kMaxOperators) +
                                " operators when the subgraphs that it calls are followed");
  const fb::Operator& op = *scope.graph->operators()->Get(uint32_t(index));
  host::charge_work(1 + (op.inputs() ? op.inputs()->size() : 0));
  const size_t outputs = op.outputs() ? op.outputs()->size() : 0;
  std::string node = "operator " + std::to_string(index);
  if (outputs > 0)
    node = ModelFile::name(file_->tensor(*scope.graph, op.outputs()->Get(0)),
                           size_t(op.outputs()->Get(0)));
  for (uint32_t i = 0; i < outputs; i++) scope.slots[size_t(op.outputs()->Get(i))] = {};
  const auto give_up = [&] {
    for (uint32_t i = 0; i < outputs; i++)
      scope.slots[size_t(op.outputs()->Get(i))] = {kAbsent, true, ""};
  };
  if (refuse_kind(scope, op, node)) return give_up();
  const OperatorRow& row = *find_operator(file_->kind(op));
  net.b.begin_node({node, row.name, node});
  try {
    const std::vector<Slot> made = translate_call(scope, op, row, {node, row.name, node});
    for (uint32_t i = 0; i < outputs; i++) {
      const int32_t at = op.outputs()->Get(i);
      scope.slots[size_t(at)] = made[i];
      if (made[i].id != kAbsent)
        net.b.name(made[i].id, ModelFile::name(file_->tensor(*scope.graph, at), size_t(at)));
    }
    return;
  } catch (const layers::Refused& why) {
    refused(row.name, why.argument, node, why.why, why.hint);
  } catch (const aten::Reported&) {
  } catch (const graph::DimError& error) {
    fail_conversion(graph::exit_code(error), std::string(row.name) + " '" + node + "'",
                    error.what());
  } catch (graph::ConversionError& error) {
    if (error.begin != path_) error.add_place(std::string(row.name) + " '" + node + "'");
    throw;
  }
  give_up();
}

std::vector<Slot> Translator::call(int64_t index, const std::vector<Slot>& inputs) {
  if (depth_ >= kMaxDepth)
    fail_corrupt("subgraphs call each other more than " + std::to_string(kMaxDepth) +
                 " deep, or themselves");
  Scope scope;
  scope.index = uint32_t(index);
  scope.graph = &subgraph(index);
  scope.slots.resize(ModelFile::tensor_count(*scope.graph));
  const size_t wanted = scope.graph->inputs() ? scope.graph->inputs()->size() : 0;
  if (inputs.size() != wanted)
    fail_corrupt("calls subgraph " + std::to_string(index) + " with " +
                 std::to_string(inputs.size()) + " inputs, it has " + std::to_string(wanted));
  for (uint32_t i = 0; i < wanted; i++) {
    const int32_t at = scope.graph->inputs()->Get(i);
    scope.slots[size_t(at)] = inputs[i];
  }
  const size_t reported = net.b.unsupported.size();
  depth_++;
  translate(scope);
  depth_--;
  std::vector<Slot> outputs;
  for (uint32_t i = 0; scope.graph->outputs() && i < scope.graph->outputs()->size(); i++) {
    const int32_t at = scope.graph->outputs()->Get(i);
    (void)read(scope, at);
    const Slot& made = scope.slots[size_t(at)];
    if (made.refused) throw aten::Reported{};
    if (made.id == kAbsent && made.variable.empty())
      fail_corrupt("nothing makes output " + std::to_string(i) + " of subgraph " +
                   std::to_string(index));
    outputs.push_back(made);
  }
  if (net.b.unsupported.size() != reported) throw aten::Reported{};
  return outputs;
}

std::string Translator::variable_of(Scope& scope, int64_t tensor) const {
  const fb::Tensor& t = file_->tensor(*scope.graph, tensor);
  // Tensors of one name are not one variable.
  return ModelFile::name(t, size_t(tensor)) + "\n" + std::to_string(scope.index) + "/" +
         std::to_string(tensor);
}

Variable& Translator::variable(const std::string& key) {
  const auto [found, added] = variables_.try_emplace(key);
  if (added) {
    std::string name = key.substr(0, key.find('\n'));
    if (name.empty()) name = "variable";
    const auto taken = [&](const std::string& wanted) {
      for (const ValueId id : net.model.graph.inputs)
        if (net.model.values[size_t(id)].name == wanted) return true;
      return std::any_of(variables_.begin(), variables_.end(),
                         [&](const auto& v) { return v.second.name == wanted; });
    };
    std::string unique = name;
    for (int i = 2; taken(unique); i++) unique = name + "_" + std::to_string(i);
    found->second.name = unique;
    variable_order_.push_back(key);
  }
  return found->second;
}

ValueId Translator::read_variable(const std::string& key, DType dtype,
                                  const std::vector<int64_t>& dims) {
  Variable& v = variable(key);
  if (v.now != kAbsent) return v.now;
  std::vector<int64_t> extents = dims;
  if (v.init != kAbsent) {
    dtype = net.b.dtype(v.init);
    const graph::Constant* init = net.model.constant(v.init);
    if (!init)
      throw layers::Refused{"", "variable '" + v.name + "' begins with what is computed", ""};
    extents = init->dims;
    const std::vector<double> values = graph::read_numbers(*init);
    v.first = values.empty() ? 0 : values[0];
    host::charge_work(values.size());
    if (std::any_of(values.begin(), values.end(), [&](double x) { return x != v.first; }))
      throw layers::Refused{"", "variable '" + v.name + "' begins with different numbers",
                            "let it begin with one number everywhere"};
  }
  if (std::any_of(extents.begin(), extents.end(), [](int64_t d) { return d < 0; }))
    throw layers::Refused{"", "variable '" + v.name + "' has no shape", ""};
  v.is_read = true;
  v.now = net.input(v.name, dtype, extents, std::vector<std::string>(extents.size()));
  return v.now;
}

void Translator::write_variable(const std::string& key, ValueId value) {
  Variable& v = variable(key);
  if (initializing_ > 0) {
    v.init = value;
    return;
  }
  if (branches_ > 0)
    throw layers::Refused{
        "",
        "variable '" + v.name + "' is written inside of a branch or a loop that the run decides",
        ""};
  v.now = value;
}

bool Translator::was_initialized(int64_t subgraph) {
  return !initialized_.emplace(subgraph, true).second;
}

void Translator::finish_variables(std::vector<std::pair<std::string, ValueId>>* outputs,
                                  std::vector<State>* states) {
  for (const std::string& key : variable_order_) {
    const Variable& v = variables_.at(key);
    if (!v.is_read) continue;  // written and never read before: nothing to keep
    const std::string output = v.name + ".next";
    outputs->emplace_back(output, v.now);
    states->push_back({v.name, output, v.first});
    net.b.note("variable '" + v.name + "' is kept from run to run");
  }
}

Program import_tflite(const std::string& path, const importer::ImportOptions& options) {
  return importer::with_errors_of(path,
                                  [&] { return Translator(ModelFile::open(path), options).run(); });
}

}  // namespace ingot::tflite
