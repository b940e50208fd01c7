// SPDX-License-Identifier: Apache-2.0
#include "tools/import/torchscript/follow.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/infer/infer_shapes.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/torchscript/loader.h"

namespace ingot::torchscript {
namespace {

using Kind = Value::Kind;
using graph::Dim;
using graph::fail_corrupt;
using graph::fail_internal;
using graph::fail_mismatch;
using graph::fail_unsupported;
using graph::ValueId;

std::string key_of(const Object& object, const std::string& name) {
  return object.path.empty() ? name : object.path + "." + name;
}

/// Inputs and plain arguments of forward().
class Inputs {
 public:
  Inputs(const Archive& archive, const ImportOptions& options, aten::Builder& builder)
      : path_(archive.path()),
        options_(options),
        traced_(archive.traced_inputs()),
        floating_type_(archive.floating_type()),
        builder_(builder) {}

  std::vector<Value> make(const File& file, const Function& forward) {
    std::vector<Value> out;
    for (size_t i = 1; i < forward.parameters.size(); i++) {
      const FunctionParameter& p = forward.parameters[i];
      const std::string type = type_text(file, p.type);
      const TracedInput* const traced = i - 1 < traced_.size() ? &traced_[i - 1] : nullptr;
      names_ += (names_.empty() ? "'" : ", '") + p.name + "'";
      if (type == "Tensor" || type == "Optional[Tensor]") {
        const bool given = options_.input_shapes.count(p.name) != 0 ||
                           (traced && traced->dtype != DType::kInvalid);
        if (!given && p.otherwise != kNone) break;  // its default, and those behind it
        if (!given && type != "Tensor") {
          out.push_back(Value::none());
          continue;
        }
        out.push_back(tensor(p.name, traced));
      } else if (type.compare(0, 6, "Tuple[") == 0 || type.compare(0, 12, "List[Tensor]") == 0) {
        out.push_back(several(p.name, type));
      } else if (const auto given = options_.arguments.find(p.name);
                 given != options_.arguments.end()) {
        used_.insert(p.name);
        out.push_back(plain(p.name, type, given->second));
      } else if (p.otherwise != kNone) {
        break;
      } else if (type.compare(0, 9, "Optional[") == 0) {
        out.push_back(Value::none());
      } else {
        missing_ += (missing_.empty() ? "" : ", ") + std::string("argument '") + p.name + "' (" +
                    type + "): --argument " + p.name + "=" +
                    (type == "bool"    ? "True"
                     : type == "int"   ? "16000"
                     : type == "float" ? "0.5"
                                       : "VALUE");
      }
    }
    check();
    return out;
  }
  std::set<ValueId> guessed;

 private:
  Value tensor(const std::string& name, const TracedInput* traced) {
    const auto given = options_.input_shapes.find(name);
    graph::Dims dims;
    if (given != options_.input_shapes.end()) {
      used_.insert(name);
      for (const Dim& d : given->second) dims.push_back(bound(d));
    } else if (traced && traced->dtype != DType::kInvalid) {
      dims.assign(traced->dims.begin(), traced->dims.end());
      builder_.note("input '" + name + "' has the shape " + graph::text(dims) +
                    " that it was traced with; others: --input-shape " + name + "=...");
    } else {
      missing_ += (missing_.empty() ? "" : ", ") + std::string("input '") + name +
                  "': --input-shape " + name + "=1x3x224x224";
      return Value::none();
    }
    if (dims.size() > size_t(kMaxRank))
      fail_unsupported(path_, "input '" + name + "' has " + std::to_string(dims.size()) +
                                  " dimensions, at most " + std::to_string(kMaxRank) +
                                  " are supported");
    const auto type = options_.input_types.find(name);
    const bool traced_type = traced && traced->dtype != DType::kInvalid;
    const DType dtype = type != options_.input_types.end() ? type->second
                        : traced_type                      ? traced->dtype
                                                           : floating_type_;
    if (type == options_.input_types.end() && !traced_type && dtype != DType::kF32)
      builder_.note("input '" + name + "' is taken as " + dtype_name(dtype) +
                    ", the type of all weights; others: --input-type " + name + "=f32");
    if (type != options_.input_types.end()) used_.insert(name);
    graph::Model& model = builder_.model;
    const ValueId id = model.add_value(name, dtype);
    model.values[size_t(id)].dims = std::move(dims);
    model.values[size_t(id)].shape_known = true;
    model.graph.inputs.push_back(id);
    if (type == options_.input_types.end() && !traced_type) guessed.insert(id);
    return Value::of(builder_.own(id));
  }

  /// "name.0", "name.1": of a tuple as many as its type says, of a list as many as there are shapes
  /// for.
  Value several(const std::string& name, const std::string& type) {
    std::vector<Value> items;
    const bool tuple = type[0] == 'T';
    const size_t count = tuple ? size_t(std::count(type.begin(), type.end(), ',')) + 1 : SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
      const std::string item = name + "." + std::to_string(i);
      if (!tuple && !options_.input_shapes.count(item)) break;
      items.push_back(tensor(item, nullptr));
    }
    if (!tuple && items.empty())
      missing_ += (missing_.empty() ? "" : ", ") + std::string("input '") + name +
                  "' (a list): --input-shape " + name + ".0=1x3x224x224 and so on";
    return tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
  }

  Dim bound(const Dim& d) {
    if (d.is_static()) return d;
    const std::string name = d.symbols().front();
    const auto bounds = options_.dims.find(name);
    used_dims_.insert(name);
    if (bounds == options_.dims.end()) {
      const int64_t low = options_.may_be_empty.count(name) ? 0 : 1;
      builder_.model.symbols[name] = {low, 0};
      return Dim::symbol(name, low, 0);
    }
    if (bounds->second.low == bounds->second.high) return Dim(bounds->second.low);
    builder_.model.symbols[name] = bounds->second;
    return Dim::symbol(name, bounds->second.low, bounds->second.high);
  }

  Value plain(const std::string& name, const std::string& type, const std::string& text) {
    if (type == "str" || type == "Optional[str]") return Value::of(text);
    if (text == "True" || text == "true") return Value::of(true);
    if (text == "False" || text == "false") return Value::of(false);
    if (text == "None") return Value::none();
    int64_t integer = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
    if (error == std::errc() && end == text.data() + text.size()) {
      if (type.find("float") != std::string::npos) return Value::of(double(integer));
      return Value::of(Dim(integer));
    }
    char* rest = nullptr;
    const double number = std::strtod(text.c_str(), &rest);
    if (!text.empty() && *rest == 0 && type.find("float") != std::string::npos)
      return Value::of(number);
    fail_mismatch(path_, "--argument " + name + "=" + text + ": '" + name + "' is a " + type);
  }

  void check() const {
    if (!missing_.empty())
      fail_mismatch(path_,
                    "a TorchScript file has no shapes of inputs and no values of other "
                    "arguments; give what is missing: " +
                        missing_);
    const std::string takes = "; forward() takes " + (names_.empty() ? "nothing" : names_);
    for (const auto& [name, dims] : options_.input_shapes)
      if (!used_.count(name))
        fail_mismatch(path_, "--input-shape names '" + name + "', which is no input" + takes);
    for (const auto& [name, dtype] : options_.input_types)
      if (!used_.count(name))
        fail_mismatch(path_, "--input-type names '" + name + "', which is no input" + takes);
    for (const auto& [name, text] : options_.arguments)
      if (!used_.count(name))
        fail_mismatch(path_,
                      "--argument names '" + name + "', which is no argument but tensors" + takes);
    for (const auto& [name, bounds] : options_.dims)
      if (!used_dims_.count(name))
        fail_mismatch(
            path_, "--dim " + name +
                       ": no dimension of that name; name one in --input-shape, as in x=" + name +
                       "x3x224x224");
  }

  const std::string& path_;
  const ImportOptions& options_;
  const std::vector<TracedInput>& traced_;
  const DType floating_type_;  // that of all weights, where they share one
  aten::Builder& builder_;
  std::string missing_, names_;
  std::set<std::string> used_, used_dims_;
};

/// The outputs of forward(), whatever they are wrapped in.
class Outputs {
 public:
  explicit Outputs(aten::Builder& builder) : builder_(builder) {}
  void add(const Value& value, const std::string& name) {
    if (value.is(Kind::kUnknown)) {
      if (!value.text.empty())
        builder_.unsupported.push_back({"output", "", name, "", value.text, ""});
      throw Stopped{};
    }
    if (value.is(Kind::kTensor))
      return add(builder_.resolve(builder_.read(value.tensor)), name.empty() ? "output" : name);
    if (value.items) {
      const aten::Nesting level;
      const std::string stem = name.empty() ? "output" : name;
      for (size_t i = 0; i < value.items->size(); i++)
        add((*value.items)[i], stem + "_" + std::to_string(i));
      return;
    }
    if (const Dictionary* dictionary = as<Dictionary>(value)) {
      const aten::Nesting level;
      for (const auto& [key, item] : dictionary->items) {
        const std::string part = key.is(Kind::kString) ? key.text : key.integer.text();
        add(item, name.empty() ? part : name + "_" + part);
      }
      return;
    }
    if (value.is(Kind::kNone)) return;
    if (value.is(Kind::kInt))
      return add(builder_.extent(value.integer), name.empty() ? "output" : name);
    fail_unsupported("forward() gives " + describe(value) + ", expected tensors");
  }
  void add(ValueId id, const std::string& name) {
    constexpr size_t kMax = 65535;  // more than any file holds
    if (builder_.model.graph.outputs.size() >= kMax)
      fail_unsupported("forward() gives more than " + std::to_string(kMax) + " tensors");
    builder_.model.graph.outputs.push_back(expose(builder_.model, id, name));
  }

 private:
  aten::Builder& builder_;
};

struct Seen {
  std::shared_ptr<Object> object;
  std::string name;
  Value value;
  ValueId id = graph::kAbsent;
};

std::optional<double> uniform(const graph::Constant& constant) {
  const int64_t count = constant.elements();
  if (count == 0) return std::nullopt;
  const double first = graph::read_number(constant, 0);
  for (int64_t i = 1; i < count; i++)
    if (!(graph::read_number(constant, i) == first)) return std::nullopt;
  return first;
}

/// What stands in the way while a part of the program is followed goes to builder.unsupported.
void gather(const std::string& path, aten::Builder& builder, const std::function<void()>& run) {
  try {
    run();
  } catch (const Stopped&) {
    if (builder.unsupported.empty()) {
      const auto& nodes = builder.model.source_nodes;
      fail_internal(path,
                    "the program could not be followed behind " +
                        (nodes.empty() ? "its first line"
                                       : "'" + nodes.back().op + "' at " + nodes.back().name));
    }
  } catch (const Raised& raised) {
    if (builder.unsupported.empty())
      fail_mismatch(raised.place, "the program raises for these inputs: " +
                                      (raised.message.empty() ? "an exception" : raised.message) +
                                      "; give others with --input-shape or --argument");
  } catch (const aten::Refused& refused) {
    builder.unsupported.push_back(
        {"forward()", refused.argument, "", "", refused.why, refused.hint});
  } catch (const aten::Reported&) {
  }
}

/// Objects whose class has a __setstate__() of its own.
void restore_objects(const Loader& loader, Interpreter& interpreter) {
  for (const auto& object : loader.restored()) {
    (void)interpreter.call_method(object, "__setstate__", {*object->state});
    object->state.reset();
    const auto training = object->attributes.find("training");
    if (training != object->attributes.end()) training->second = Value::of(false);
  }
}

}  // namespace

Pass follow(Archive& archive, Library& library, const ImportOptions& options,
            const Attributes& attributes, StateForm form) {
  Pass pass;
  pass.model.max_elements = options.max_elements;
  aten::Builder builder(pass.model);
  const auto restores = [&](const std::string& type) {
    const Library::Found found = library.find(type);
    return found.type && found.type->methods.count("__setstate__") != 0;
  };
  Loader data(archive.data(), builder, restores);
  const Value root = data.load("");
  const auto module = std::dynamic_pointer_cast<Object>(root.foreign);
  if (!module)
    fail_corrupt(archive.path(), "data.pkl holds " + describe(root) + ", expected a module");
  Value constants = Value::tuple({});
  std::vector<ValueId> weights = data.constants();
  std::optional<Loader> loader;  // as long as what it loaded
  if (archive.constants()) {
    loader.emplace(*archive.constants(), builder, restores);
    constants = archive.bytecode_constants()
                    ? loader->load(*archive.bytecode_constants(), "CONSTANTS")
                    : loader->load("CONSTANTS");
    weights.insert(weights.end(), loader->constants().begin(), loader->constants().end());
  }
  if (options.replace_weights)
    // no state_dict has the others
    options.replace_weights(pass.model, {data.constants(), {}, {}, {}});
  for (const ValueId id : weights) pass.model.allow_folding(pass.model.constant(id)->elements());

  const Library::Found type = library.find(module->type);
  if (!type.type)
    fail_corrupt(archive.path(), "the class '" + module->type + "' is not in the archive");
  const auto forward = type.type->methods.find("forward");
  if (forward == type.type->methods.end())
    fail_unsupported(archive.path(), "the module of class '" + module->type + "' has no forward()");
  Interpreter interpreter(builder, library, constants);
  gather(archive.path(), builder, [&] {
    if (loader) restore_objects(*loader, interpreter);
    restore_objects(data, interpreter);
  });
  if (!builder.unsupported.empty()) {
    pass.unsupported = std::move(builder.unsupported);
    return pass;
  }
  Inputs inputs(archive, options, builder);
  std::vector<Value> arguments = inputs.make(*type.file, forward->second);

  // Attributes as an earlier pass left them.
  std::vector<Seen> seen;
  for (const auto& object : data.objects()) {
    for (auto& [name, value] : object->attributes) {
      const auto given = attributes.find(key_of(*object, name));
      if (given != attributes.end()) {
        const Attribute& a = given->second;
        if (!a.is_tensor) {
          value = a.plain;
        } else if (form == StateForm::kInputs) {
          const ValueId id = pass.model.add_value(given->first, a.dtype);
          pass.model.values[size_t(id)].dims = a.dims;
          pass.model.values[size_t(id)].shape_known = true;
          pass.model.graph.inputs.push_back(id);
          value = Value::of(builder.own(id));
        } else {
          std::vector<int64_t> dims;
          for (const Dim& d : a.dims) dims.push_back(d.value().value_or(-1));
          if (std::find(dims.begin(), dims.end(), -1) != dims.end()) {
            value = Value::of(builder.own(builder.expand(builder.scalar(a.dtype, 0), a.dims)));
          } else {
            int64_t count = 1;
            for (const int64_t d : dims) count *= d;
            const std::vector<uint8_t> zeros(size_t(count) * size_t(dtype_bytes(a.dtype)), 0);
            value = Value::of(
                builder.own(builder.constant(graph::make_constant(a.dtype, dims, zeros.data()))));
          }
        }
      }
      seen.push_back({object, name, value,
                      value.is(Kind::kTensor) ? builder.read(value.tensor) : graph::kAbsent});
    }
  }

  interpreter.guessed = inputs.guessed;
  gather(archive.path(), builder, [&] {
    const Value result = interpreter.call_method(module, "forward", std::move(arguments));
    Outputs outputs(builder);
    outputs.add(result, "");
    if (pass.model.graph.outputs.empty())
      fail_unsupported(archive.path(), "forward() gives no tensor");
    for (const Seen& before : seen) {
      const Value& now = before.object->attributes[before.name];
      const std::string key = key_of(*before.object, before.name);
      const ValueId id =
          now.is(Kind::kTensor) ? builder.resolve(builder.read(now.tensor)) : graph::kAbsent;
      const bool changed = now.is(Kind::kTensor) && before.value.is(Kind::kTensor)
                               ? id != before.id
                               : !same(now, before.value);
      if (!changed) continue;
      if (now.items || now.foreign)
        fail_unsupported(archive.path(), "the program changes its attribute '" + key + "', " +
                                             describe(now) +
                                             "; only tensors and numbers can be kept");
      Attribute& to = pass.changed[key];
      to.plain = now;
      to.is_tensor = now.is(Kind::kTensor);
      if (to.is_tensor) {
        const graph::Value& v = pass.model.values[size_t(id)];
        to.dtype = v.constant ? v.constant->dtype : v.dtype;
        to.dims =
            v.constant ? graph::Dims(v.constant->dims.begin(), v.constant->dims.end()) : v.dims;
        pass.next[key] = id;
      }
      Attribute& found = pass.found[key];
      found.plain = before.value;
      found.is_tensor = before.value.is(Kind::kTensor);
      if (found.is_tensor) {
        found.dtype = builder.dtype(before.id);
        found.dims = builder.dims(before.id);
        if (const graph::Constant* constant = pass.model.constant(before.id))
          if (const auto number = uniform(*constant)) pass.uniform[key] = *number;
      }
    }
  });
  pass.unsupported = std::move(builder.unsupported);
  return pass;
}

ValueId expose(graph::Model& model, ValueId id, const std::string& name) {
  const auto is_in = [&](const std::vector<ValueId>& ports) {
    return std::find(ports.begin(), ports.end(), id) != ports.end();
  };
  if (!model.constant(id) && !is_in(model.graph.inputs) && !is_in(model.graph.outputs)) {
    model.values[size_t(id)].name = name;
    return id;
  }
  const graph::Value shown = model.values[size_t(id)];
  const ValueId port = model.add_value(name, shown.constant ? shown.constant->dtype : shown.dtype);
  model.values[size_t(port)].dims = shown.dims;
  if (shown.constant)
    model.values[size_t(port)].dims.assign(shown.constant->dims.begin(),
                                           shown.constant->dims.end());
  model.values[size_t(port)].shape_known = true;
  graph::Node copy;
  copy.op = op::Identity;
  copy.name = name;
  copy.inputs = {id};
  copy.outputs = {port};
  model.graph.nodes.push_back(std::move(copy));
  return port;
}

void finish(graph::Model& model) {
  graph::fold_constants(model);
  graph::lower_runtime_shapes(model);
}

}  // namespace ingot::torchscript
