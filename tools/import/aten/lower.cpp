// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/lower.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>

#include "tools/graph/dim_limit.h"
#include "tools/import/aten/complex_tensor.h"
#include "tools/import/aten/lower_custom.h"
#include "tools/import/aten/quantized_tensor.h"

namespace ingot::aten {
namespace {

std::string described(const Call& call) {
  return call.name +
         (call.overload.empty() || call.overload == "default" ? "" : "." + call.overload);
}
std::string placed(const Call& call) {
  if (call.place.empty()) return call.node;
  return call.node.empty() ? call.place : call.node + " (" + call.place + ")";
}
Results unknown_results(const Call& call) {
  return Results(std::max<size_t>(1, call.outputs.size()), Value::unknown());
}

std::string overload_of(const Call& call) {
  return call.overload == "default" ? "" : call.overload;
}

/// The values of the schema's parameters, or why they are not what it takes.
std::optional<std::vector<Value>> bind(const Schema& schema, const Call& call, bool in_place,
                                       bool takes_all, std::string* why) {
  std::vector<std::optional<Value>> bound(schema.parameters.size());
  const size_t most = takes_all ? bound.size() : std::min(bound.size(), schema.positional);
  if (call.positional.size() > most) {
    *why = std::to_string(call.positional.size()) + " arguments by position, at most " +
           std::to_string(most) + " are taken";
    return std::nullopt;
  }
  for (size_t i = 0; i < call.positional.size(); i++) bound[i] = call.positional[i];
  for (const auto& [name, value] : call.keywords) {
    size_t at = 0;
    while (at < bound.size() && schema.parameters[at].name != name) at++;
    // dropout(input) is dropout_(self)
    if (at == bound.size() && in_place && name == "self") at = 0;
    if (at == bound.size() || bound[at]) {
      *why = "the argument '" + name + "' is " + (at == bound.size() ? "not known" : "given twice");
      return std::nullopt;
    }
    bound[at] = value;
  }
  std::vector<Value> out;
  for (size_t i = 0; i < bound.size(); i++) {
    const Parameter& parameter = schema.parameters[i];
    if (!bound[i]) bound[i] = parameter.otherwise;
    if (!bound[i]) {
      *why = "the argument '" + parameter.name + "' is missing";
      return std::nullopt;
    }
    if (!accepts(parameter, *bound[i]) &&
        !(parameter.otherwise && bound[i]->is(Value::Kind::kNone) &&
          parameter.otherwise->is(Value::Kind::kNone))) {
      *why = "the argument '" + parameter.name + "' is " + bound[i]->describe();
      return std::nullopt;
    }
    out.push_back(*bound[i]);
  }
  return out;
}

struct Choice {
  const Schema* schema = nullptr;
  std::vector<Value> values;
  bool in_place = false;
};

/// Operators of PyTorch stand in the table without their namespace, others with it.
std::string table_name(const std::string& name) {
  constexpr const char* kPrefix = "aten::";
  return name.rfind(kPrefix, 0) == 0 ? name.substr(6) : name;
}

/// What stands in the table for an overload: it, the one for tensors in the place of one for
/// scalars, one that takes the mode too, or the only one that there is. Null where nothing is known
/// to have its arguments.
const Schema* named_overload(const std::vector<Schema>& schemas, std::string overload) {
  const auto find = [&]() -> const Schema* {
    for (const Schema& schema : schemas)
      if (schema.overload == overload) return &schema;
    return nullptr;
  };
  const Schema* found = find();
  if (!found && overload.ends_with("_mode")) {
    overload.resize(overload.size() - std::strlen("_mode"));
    found = find();
  }
  if (!found && overload == "Scalar") {
    overload = "Tensor";
    found = find();
  }
  return !found && schemas.size() == 1 ? &schemas[0] : found;
}

/// The named overload where the table has it, else the first whose arguments fit: as PyTorch itself
/// resolves a call.
Choice choose(const Call& call) {
  const std::string name = table_name(call.name);
  Choice choice;
  const std::vector<Schema>* schemas = operator_table().find(name);
  if (!schemas && name.size() > 1 && name.back() == '_') {
    schemas = operator_table().find(name.substr(0, name.size() - 1));
    choice.in_place = true;
  }
  if (!schemas)
    throw Refused{
        "", "the operator is not supported",
        "all that are: ingot operators --torch; one of your own: --plugin (docs/custom.md)"};
  const std::string overload = overload_of(call);
  std::vector<const Schema*> order;
  for (const Schema& schema : *schemas) order.push_back(&schema);
  if (!call.overload.empty())
    std::stable_partition(order.begin(), order.end(),
                          [&](const Schema* s) { return s->overload == overload; });
  std::string why, first;
  for (const Schema* schema : order) {
    const bool takes_all = call.all_by_place && schema == named_overload(*schemas, overload);
    auto values = bind(*schema, call, choice.in_place, takes_all, &why);
    if (!values) {
      if (first.empty()) first = why;
      continue;
    }
    choice.schema = schema;
    choice.values = std::move(*values);
    return choice;
  }
  std::string known;
  for (const Schema& schema : *schemas) known += (known.empty() ? "" : "; ") + schema.text();
  throw Refused{"", first, "known here: " + known};
}

Results write_back(Builder& b, const Choice& choice, Results results) {
  const Value& self = choice.values.at(0);
  if (results.size() != 1 || !results[0].is(Value::Kind::kTensor) || !self.is(Value::Kind::kTensor))
    throw Refused{"", "is not supported in place", ""};
  if (results[0].tensor == self.tensor) return results;
  for (Tensor at = results[0].tensor; at; at = Builder::base(at))
    if (at == self.tensor) {  // t_(), squeeze_() and the like write nothing
      b.change_view(self.tensor, results[0].tensor);
      return {self};
    }
  const ValueId held = b.read(self.tensor);
  const Dims dims = b.dims(held);
  const DType dtype = b.dtype(held);
  const ValueId made = b.cast(b.read(results[0].tensor), dtype);
  if (b.rank(made) > int64_t(dims.size()))
    throw Refused{"self", "would change its shape in place", ""};
  const ValueId wide = b.expand(made, dims);
  if (b.dims(wide) != dims)
    throw Refused{"self",
                  "would change its shape in place from " + graph::text(dims) + " to " +
                      graph::text(b.dims(wide)),
                  ""};
  b.write(self.tensor, wide);
  return {self};
}

void each_tensor(const Value& value, const std::function<void(const Tensor&)>& see) {
  if (value.is(Value::Kind::kTensor)) see(value.tensor);
  if (!value.items) return;
  const Nesting level;
  for (const Value& item : *value.items) each_tensor(item, see);
}
/// Operators whose results have other strides than row-major ones, as they come.
bool gives_any_strides(const std::string& op) {
  static const std::set<std::string> kTable = {
      "einsum",   "index",  "lstm",       "gru",       "rnn_tanh",
      "rnn_relu", "matmul", "matrix_exp", "tensordot", "multi_head_attention_forward"};
  return kTable.count(op) > 0 || op.find("scaled_dot_product") != std::string::npos ||
         op.rfind("linalg_", 0) == 0 || op.rfind("fft_", 0) == 0;
}
/// Operators that give row-major tensors whatever they read.
bool gives_row_major(const std::string& op) {
  static const std::set<std::string> kTable = {"contiguous", "reshape",   "flatten",  "mm",
                                               "addmm",      "bmm",       "baddbmm",  "linear",
                                               "stack",      "embedding", "new_zeros"};
  return kTable.count(op) > 0;
}
/// Most operators give row-major tensors for such; where they read others, or are of those above,
/// nothing is known.
void note_strides(const Schema& schema, const std::vector<Value>& arguments,
                  const Results& results) {
  constexpr int64_t kRowMajor = 0, kPreserve = 1;
  std::set<Tensor> given;
  bool row_major = !gives_any_strides(schema.name), other_format = false;
  for (size_t i = 0; i < arguments.size(); i++)
    if (schema.parameters[i].name == "memory_format" && arguments[i].is(Value::Kind::kInt))
      other_format =
          arguments[i].integer != Dim(kRowMajor) && arguments[i].integer != Dim(kPreserve);
  for (const Value& argument : arguments)
    each_tensor(argument, [&](const Tensor& tensor) {
      given.insert(tensor);
      row_major = row_major && Builder::is_row_major(tensor);
    });
  if (!other_format && (row_major || gives_row_major(schema.name))) return;
  for (const Value& result : results)
    each_tensor(result, [&](const Tensor& tensor) {
      if (!Builder::is_view(tensor) && !given.count(tensor)) Builder::forget_strides(tensor);
    });
}
/// An operator named _copy gives tensors of its own, where the one without would give views.
void own_results(Builder& b, Value* value) {
  if (value->is(Value::Kind::kTensor) && !Builder::pairs(value->tensor))
    *value = Value::of(b.own(b.read(value->tensor)));
  if (!value->items) return;
  const Nesting level;
  for (Value& item : *value->items) own_results(b, &item);
}

void name_results(Builder& b, const Call& call, const Results& results) {
  const auto name = [&](const Value& value, const std::string& wanted) {
    if (value.is(Value::Kind::kTensor) && !Builder::nested(value.tensor) &&
        !Builder::packed(value.tensor) && !Builder::pairs(value.tensor))
      b.name(b.read(value.tensor), wanted);
  };
  if (results.size() == 1 && results[0].items && call.outputs.size() > 1) {
    for (size_t i = 0; i < results[0].items->size() && i < call.outputs.size(); i++)
      name((*results[0].items)[i], call.outputs[i]);
    return;
  }
  for (size_t i = 0; i < results.size() && i < call.outputs.size(); i++)
    name(results[i], call.outputs[i]);
}

}  // namespace

Results lower_as(Builder& b, const std::string& op, std::vector<Value> arguments) {
  Call call;
  call.name = "aten::" + op;
  call.positional = std::move(arguments);
  const Choice choice = choose(call);
  return lower_complex(b, *choice.schema, choice.values);
}

void name_operator(const std::string& target, Call* call) {
  const std::string kOps = "torch.ops.";
  const size_t space = target.find('.', kOps.size()), dot = target.rfind('.');
  call->name = target;
  if (target.rfind(kOps, 0) != 0 || space >= dot) return;
  const std::string name = target.substr(kOps.size(), space - kOps.size()) +
                           "::" + target.substr(space + 1, dot - space - 1);
  if (name.rfind("aten::", 0) != 0 && !operator_table().find(name) && !has_plugin(name)) return;
  call->name = name;
  call->overload = target.substr(dot + 1);
}

/// op(..., out=z) is op(...) written to z.
Results write_to_out(Builder& b, Call call, size_t at) {
  const Value out = call.keywords[at].second;
  call.keywords.erase(call.keywords.begin() + int64_t(at));
  const Results made = lower_call(b, call);
  if (made.size() != 1 || !made[0].is(Value::Kind::kTensor)) return made;
  Call copy;
  copy.name = "aten::copy_";
  copy.node = call.node;
  copy.place = call.place;
  copy.positional = {out, made[0]};
  return lower_call(b, copy);
}

Results lower_call(Builder& b, const Call& call) {
  for (size_t i = 0; i < call.keywords.size(); i++)
    if (call.keywords[i].first == "out" && call.keywords[i].second.is(Value::Kind::kTensor))
      return write_to_out(b, call, i);
  std::vector<Value> arguments = call.positional;
  for (const auto& [name, value] : call.keywords) arguments.push_back(value);
  bool unknown = false;
  const std::string output = call.outputs.empty() ? "" : call.outputs[0];
  for (const Value& argument : arguments) {
    unknown = unknown || argument.has_unknown();
    if (const std::string why = argument.reason(); !why.empty())
      b.unsupported.push_back({described(call), "", placed(call), output, why, ""});
  }
  if (unknown) return unknown_results(call);
  b.begin_node({placed(call), described(call), output});
  try {
    if (has_plugin(call.name)) {
      const Results results = lower_custom(b, call);
      name_results(b, call, results);
      return results;
    }
    Choice choice = choose(call);
    Results results = lower_complex(b, *choice.schema, choice.values);
    if (const TensorQuantization* const found = quantization_among(choice.values)) {
      const TensorQuantization by = *found;  // the tensor may be written
      follow_quantization(b, choice.schema->name, by, &results);
    }
    if (choice.in_place) {
      results = write_back(b, choice, std::move(results));
    } else {
      if (choice.schema->name.ends_with("_copy"))
        for (Value& result : results) own_results(b, &result);
      note_strides(*choice.schema, choice.values, results);
    }
    name_results(b, call, results);
    return results;
  } catch (const Refused& refused) {
    b.unsupported.push_back(
        {described(call), refused.argument, placed(call), output, refused.why, refused.hint});
  } catch (const Reported&) {
  } catch (graph::ConversionError& error) {
    error.add_place(described(call) + " at " + placed(call));
    throw;
  } catch (const graph::DimError& error) {
    graph::fail_conversion(graph::exit_code(error), described(call) + " at " + placed(call),
                           error.what());
  }
  return unknown_results(call);
}

}  // namespace ingot::aten
