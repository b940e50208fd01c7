// SPDX-License-Identifier: Apache-2.0
#include "tools/import/pt2/translator.h"

#include <algorithm>

#include "tools/graph/tensor_math.h"
#include "tools/import/aten/operands.h"
#include "tools/import/pt2/expression.h"

namespace ingot::pt2 {
namespace {

using aten::Value;
using graph::Dim;

constexpr size_t kMaxNodes = 1u << 18;
constexpr int kDeepestGraph = 16;

bool is_batch_statistic(const std::string& name) {
  for (const char* end : {"num_batches_tracked", "running_mean", "running_var"}) {
    const std::string text = end;
    if (name.size() >= text.size() &&
        name.compare(name.size() - text.size(), text.size(), text) == 0)
      return true;
  }
  return false;
}

/// The line of the author's own program, from the trace that export keeps.
std::string place_of(const Json& node) {
  const Json& metadata = field(node, "metadata");
  if (!metadata.is_object()) return "";
  const Json& stack = field(metadata, "nn_module_stack");
  if (!stack.is_string()) return "";
  // "L__self__,,module.Class;L__self___layer,layer,module.Layer": the innermost module's path.
  const std::string all = stack.get<std::string>();
  const size_t last = all.rfind(';');
  const std::string inner = last == std::string::npos ? all : all.substr(last + 1);
  const size_t comma = inner.find(',');
  if (comma == std::string::npos) return "";
  return inner.substr(comma + 1, inner.find(',', comma + 1) - comma - 1);
}

}  // namespace

int64_t c10_type_of(int64_t serialized) {
  static const int64_t kTypes[] = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15};
  if (serialized >= 1 && serialized <= 13) return kTypes[serialized];
  return serialized == 28 ? 27 : -1;
}

/// torch.export's numbers of layouts as those of c10, where 0 is the dense one; -1: none.
int64_t c10_layout_of(int64_t serialized) {
  static const int64_t kLayouts[] = {-1, 1, 2, 4, 5, 6, 3, 0};
  return serialized >= 1 && serialized <= 7 ? kLayouts[serialized] : -1;
}

Translator::Translator(const std::string& file, const Json& program,
                       const importer::ImportOptions& options)
    : file_(file),
      program_(program),
      options_(options),
      builder_(std::make_unique<aten::Builder>(model)),
      inputs_(model, options_, file),
      weights_(file) {
  model.max_elements = options.max_elements;
}

void Translator::state_ranges() {
  const Json& ranges = field(program_, "range_constraints");
  if (!ranges.is_object()) return;
  for (const auto& [symbol, range] : ranges.items()) {
    const Json &low = field(range, "min_val"), &high = field(range, "max_val");
    const int64_t from = low.is_number_integer() ? integer(low, "min_val") : 0,
                  to = high.is_number_integer() ? integer(high, "max_val") : 0;
    constexpr int64_t kUnbounded = int64_t(1) << 40;
    // A lower bound of 2 is what the tracer assumes of every free dimension, because 0 and 1 are
    // special to it; torch does not check it either.
    inputs_.state_bounds(symbol, from <= 2 ? 1 : from, to > kUnbounded ? 0 : to);
  }
}

void Translator::run() {
  const Json& module = object(program_, "graph_module");
  const Json& graph = object(module, "graph");
  const Json& signature = object(module, "signature");
  state_ranges();
  for (const Json& spec : array(signature, "input_specs")) declare(graph, spec);
  inputs_.check_options();
  if (options_.replace_weights) {
    std::vector<graph::ValueId> weights;
    for (Held& held : state_)
      if (held.saved) weights.push_back(held.first);
    options_.replace_weights(model, {weights, {}, {}, {}});
  }
  run_nodes(graph, &names_, 0);
  for (const Json& spec : array(signature, "output_specs"))
    gather("output", "", [&] { declare_output(spec); });
  report_written_state();
  if (model.graph.outputs.empty() && builder_->unsupported.empty())
    corrupt(file_ + ": its program has no tensor as output");
}

void Translator::declare(const Json& graph, const Json& spec) {
  const auto [kind, held] = tagged(spec);
  if (kind == "user_input") return declare_user_input(graph, field(*held, "arg"));
  if (kind == "parameter")
    return declare_weight(text(object(*held, "arg"), "name"), text(*held, "parameter_name"), true);
  if (kind == "buffer")
    return declare_weight(
        text(object(*held, "arg"), "name"), text(*held, "buffer_name"),
        !(field(*held, "persistent").is_boolean() && !field(*held, "persistent").get<bool>()));
  if (kind == "tensor_constant")
    return declare_weight(text(object(*held, "arg"), "name"), text(*held, "tensor_constant_name"),
                          false);
  if (kind == "constant_input") {
    Value value = argument(field(*held, "value"), names_);
    return define(text(*held, "name"), std::move(value), &names_);
  }
  if (kind == "token") return;
  builder_->unsupported.push_back(
      {"input", "", "", "", "an input of kind '" + kind + "' is not supported", ""});
}

void Translator::declare_user_input(const Json& graph, const Json& input) {
  const auto [kind, held] = tagged(input);
  if (kind != "as_tensor") {
    if (kind == "as_none" || kind == "as_int" || kind == "as_float" || kind == "as_bool" ||
        kind == "as_string") {
      builder_->note("an input of the program is the constant " + held->dump().substr(0, 60) +
                     ", as it was exported");
      return;  // its uses were replaced by the constant
    }
    builder_->unsupported.push_back({"input", "", "", "",
                                     "an input that is no tensor (" + kind + ") is not supported",
                                     "export with tensors"});
    if (kind == "as_sym_int" && held->is_object() && held->contains("as_name"))
      define(text(*held, "as_name"), Value::unknown(), &names_);
    return;
  }
  const std::string name = name_in(*held);
  const Json& meta = object(object(graph, "tensor_values"), name.c_str());
  const DType dtype = aten::dtype_of_c10(c10_type_of(integer(field(meta, "dtype"), "dtype")));
  define(name, Value::unknown(), &names_);
  const auto refuse = [&](const std::string& why) {
    builder_->unsupported.push_back({"input", "", "", name, why, ""});
  };
  if (dtype == DType::kInvalid) return refuse("its element type is not supported");
  graph::Dims dims;
  for (const Json& size : array(meta, "sizes")) {
    const auto [tag, value] = tagged(size);
    if (tag == "as_int") {
      dims.push_back(Dim(integer(*value, "a size")));
      if (*dims.back().value() < 0) corrupt(file_ + ": input '" + name + "' has a negative size");
      continue;
    }
    const std::string expression = text(*value, "expr_str");
    // What is no sum or product of symbols is a symbol of its own; every other size follows from
    // what is fed.
    const auto parsed = parse_expression(expression);
    const bool own = !parsed || (!parsed->is_static() && parsed->symbols().empty());
    dims.push_back(own ? Dim::symbol(name + "_dim" + std::to_string(dims.size())) : *parsed);
  }
  if (dims.size() > size_t(kMaxRank))
    return refuse("has " + std::to_string(dims.size()) + " dimensions");
  const graph::ValueId id = inputs_.declare(name, dtype, dims);
  ports_.insert(name);
  names_[name] = Value::of(builder_->own(id));
}

void Translator::declare_weight(const std::string& value, const std::string& name, bool saved) {
  try {
    const graph::ValueId id = weights_.load(model, name);
    const aten::Tensor tensor = builder_->own(id);
    define(value, Value::of(tensor), &names_);
    state_.push_back({name, tensor, id, saved});
  } catch (const Weights::Unreadable& unreadable) {
    define(value, Value::unavailable("reads '" + name + "', which " + unreadable.why), &names_);
  }
}

/// What a tensor holds may be refused when it is read.
void Translator::gather(const std::string& op, const std::string& node,
                        const std::function<void()>& run) {
  try {
    run();
  } catch (const aten::Refused& refused) {
    builder_->unsupported.push_back({op, refused.argument, node, "", refused.why, refused.hint});
  } catch (const aten::Reported&) {
  }
}

void Translator::run_nodes(const Json& graph, Names* names, int depth) {
  for (const Json& node : array(graph, "nodes")) {
    if (++nodes_ > kMaxNodes)
      corrupt(file_ + ": has more than " + std::to_string(kMaxNodes) + " nodes");
    bool done = false;
    gather(text(node, "target"), place_of(node), [&] {
      run_node(node, names, depth);
      done = true;
    });
    if (!done) keep(array(node, "outputs"), {}, names);
  }
}

/// A call with a token in front that orders it among others, as the call that it is.
Json Translator::without_token(const Json& node) {
  Json call = node;
  Json &inputs = call["inputs"], &outputs = call["outputs"];
  if (!inputs.is_array() || inputs.size() < 2 || !outputs.is_array() || outputs.empty())
    corrupt(file_ + ": a call with effects has no token or no operator");
  const auto [kind, held] = tagged(field(inputs[1], "arg"));
  if (kind != "as_operator" || !held->is_string() || *held == node["target"])
    corrupt(file_ + ": a call with effects names no operator");
  call["target"] = *held;
  inputs.erase(0), inputs.erase(0), outputs.erase(0);
  return call;
}

void Translator::run_node(const Json& node, Names* names, int depth) {
  const std::string target = text(node, "target");
  const Json& outputs = array(node, "outputs");
  if (target.rfind("_operator.", 0) == 0 || target.rfind("torch.sym_", 0) == 0 ||
      target.rfind("math.", 0) == 0)
    return run_symbolic(target.substr(target.find('.') + 1), node, names);
  if (target.rfind("torch.ops.higher_order.wrap_with_", 0) == 0)
    return run_inner_graph(node, names, depth);
  if (run_control(node, names, depth)) return;
  if (target == "torch.ops.higher_order.with_effects")
    return run_node(without_token(node), names, depth);
  aten::Call call;
  aten::name_operator(target, &call);
  if (call.name == "aten::_assert_scalar" || call.name == "aten::_assert_async" ||
      call.name == "aten::_linalg_check_errors")
    return keep(outputs, {}, names);
  const Json& node_name = field(node, "name");
  call.node = node_name.is_string() ? node_name.get<std::string>() : "";
  call.place = place_of(node);
  for (const Json& input : array(node, "inputs")) {
    Value value = argument(field(input, "arg"), *names);
    const Json& name = field(input, "name");
    if (name.is_string() && !name.get<std::string>().empty())
      call.keywords.push_back({name.get<std::string>(), std::move(value)});
    else
      call.positional.push_back(std::move(value));
  }
  for (const Json& output : outputs) {
    const auto [kind, held] = tagged(output);
    if (kind == "as_tensor") call.outputs.push_back(name_in(*held));
    if (kind == "as_tensors")
      for (const Json& each : *held) call.outputs.push_back(name_in(each));
  }
  if (call.node.empty() && !call.outputs.empty()) call.node = call.outputs[0];
  if (autocast_ && !call.name.empty() && call.name.back() != '_') {
    for (Value& value : call.positional) widen(&value);
    for (auto& keyword : call.keywords) widen(&keyword.second);
  }
  keep(outputs, aten::lower_call(*builder_, call), names);
}

/// Autocast chooses half precision per operator when it runs. We compute its region in f32 and
/// round what leaves it.
void Translator::widen(Value* value) {
  if (value->is(Value::Kind::kList) || value->is(Value::Kind::kTuple)) {
    auto items = std::make_shared<std::vector<Value>>(*value->items);
    for (Value& item : *items)
      if (item.is(Value::Kind::kTensor)) widen(&item);
    value->items = std::move(items);
    return;
  }
  if (!value->is(Value::Kind::kTensor)) return;
  const graph::ValueId id = builder_->read(value->tensor);
  const DType dtype = builder_->dtype(id);
  if (dtype == DType::kF16 || dtype == DType::kBF16)
    *value = Value::of(builder_->own(builder_->cast(id, DType::kF32)));
}

/// The type that `graph` says of a tensor of its own.
DType Translator::said_type(const Json& graph, const std::string& name) {
  const auto all = graph.find("tensor_values");
  if (all == graph.end() || !all->is_object() || !all->contains(name)) return DType::kInvalid;
  return aten::dtype_of_c10(c10_type_of(integer(field((*all)[name], "dtype"), "dtype")));
}

/// A region under no_grad, autocast or the like: its nodes as if they stood here.
void Translator::run_inner_graph(const Json& node, Names* names, int depth) {
  if (depth >= kDeepestGraph) corrupt(file_ + ": its graphs nest too deeply");
  const Json* inner = nullptr;
  std::vector<Value> operands;
  for (const Json& input : array(node, "inputs")) {
    const auto [kind, held] = tagged(field(input, "arg"));
    if (kind == "as_graph") {
      inner = &object(*held, "graph");
      operands.clear();
    } else if (inner) {
      operands.push_back(argument(field(input, "arg"), *names));
    }
  }
  const std::string target = text(node, "target");
  if (!inner) {
    builder_->unsupported.push_back({target, "", text(node, "name"), "", "has no graph", ""});
    return keep(array(node, "outputs"),
                std::vector<Value>(array(node, "outputs").size(), Value::unknown()), names);
  }
  const bool autocast = target.find("autocast") != std::string::npos;
  if (autocast && !said_autocast_) {
    said_autocast_ = true;
    builder_->note(
        "under autocast: computed in f32, rounded to the types that the program says where a "
        "region ends");
  }
  Names local;
  const Json& inputs = array(*inner, "inputs");
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto [kind, held] = tagged(inputs[i]);
    if (i >= operands.size()) corrupt(file_ + ": '" + target + "' lacks an operand of its graph");
    if (kind == "as_tensor") define(name_in(*held), operands[i], &local);
    if (kind == "as_sym_int" && held->contains("as_name"))
      define(text(*held, "as_name"), operands[i], &local);
  }
  autocast_ += autocast;
  run_nodes(*inner, &local, depth + 1);
  autocast_ -= autocast;
  std::vector<Value> results;
  for (const Json& output : array(*inner, "outputs")) {
    results.push_back(argument(output, local));
    Value& result = results.back();
    const auto [kind, held] = tagged(output);
    if (!autocast || kind != "as_tensor" || !result.is(Value::Kind::kTensor)) continue;
    const DType said = said_type(*inner, name_in(*held));
    const graph::ValueId id = builder_->read(result.tensor);
    if (graph::is_floating(said) && graph::is_floating(builder_->dtype(id)) &&
        said != builder_->dtype(id))
      result = Value::of(builder_->own(builder_->cast(id, said)));
  }
  const Json& outputs = array(node, "outputs");
  // Several results are one list of tensors.
  if (outputs.size() == 1 && tagged(outputs[0]).first == "as_tensors")
    results = {Value::list(std::move(results))};
  keep(outputs, std::move(results), names);
}

/// A value under its name in the source: itself, unless it has another place already.
graph::ValueId Translator::port(const aten::Tensor& tensor, const std::string& name) {
  aten::Builder& b = *builder_;
  const graph::ValueId id = b.read(tensor);
  const auto& inputs = model.graph.inputs;
  const bool taken = model.constant(id) || outputs_.count(id) ||
                     std::find(inputs.begin(), inputs.end(), id) != inputs.end();
  std::string own = name;
  for (int i = 2; !ports_.insert(own).second; i++) own = name + "_" + std::to_string(i);
  if (!taken) {
    model.values[size_t(id)].name = own;
    return id;
  }
  graph::Node copy;
  copy.op = op::Identity;
  copy.name = own;
  copy.inputs = {id};
  const graph::ValueId made = model.add_value(own, b.dtype(id));
  model.values[size_t(made)].dims = b.dims(id);
  model.values[size_t(made)].shape_known = true;
  copy.outputs = {made};
  model.graph.nodes.push_back(std::move(copy));
  return made;
}

void Translator::declare_output(const Json& spec) {
  const auto [kind, held] = tagged(spec);
  if (kind == "buffer_mutation" || kind == "parameter_mutation") {
    const std::string name =
        text(*held, kind == "buffer_mutation" ? "buffer_name" : "parameter_name");
    // of a BatchNorm in training mode, which was said where it was met
    if (is_batch_statistic(name)) return;
    builder_->unsupported.push_back(
        {"buffer", "", name, "", "is written by the program",
         "make it an input and an output of the module, then convert with --state IN=OUT"});
    return;
  }
  if (kind == "user_input_mutation") {
    builder_->note("the program writes its input '" + text(*held, "user_input_name") +
                   "' in place, which is not seen outside");
    return;
  }
  if (kind != "user_output") {
    if (kind != "token")
      builder_->unsupported.push_back(
          {"output", "", "", "", "an output of kind '" + kind + "' is not supported", ""});
    return;
  }
  const Json& output = field(*held, "arg");
  const auto [tag, what] = tagged(output);
  const Value value = argument(output, names_);
  if (const std::string why = value.reason(); !why.empty())
    builder_->unsupported.push_back({"output", "", "", "", why, ""});
  if (value.is(Value::Kind::kUnknown)) return;
  if (value.is(Value::Kind::kTensor)) {
    const graph::ValueId id = port(value.tensor, name_in(*what));
    outputs_.insert(id);
    model.graph.outputs.push_back(id);
  } else if (tag == "as_sym_int" && value.is(Value::Kind::kInt)) {
    const graph::ValueId id =
        port(builder_->own(builder_->extent(value.integer)), text(*what, "as_name"));
    outputs_.insert(id);
    model.graph.outputs.push_back(id);
  } else {
    builder_->note("an output of the program is " + value.describe() +
                   ", which is no tensor; it is left out");
  }
}

/// In-place operators stand in the program itself where export did not take them out.
void Translator::report_written_state() {
  for (const Held& held : state_) {
    bool written = true;
    gather("buffer", held.name, [&] { written = builder_->read(held.tensor) != held.first; });
    if (is_batch_statistic(held.name) || !written) continue;
    builder_->unsupported.push_back(
        {"buffer", "", held.name, "", "is written by the program",
         "make it an input and an output of the module, then convert with --state IN=OUT"});
  }
}

}  // namespace ingot::pt2
