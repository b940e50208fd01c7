// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/operators.cpp - calls of operators: on plain values they are computed,
// on tensors they are lowered (tools/import/aten).
#include <algorithm>
#include <set>

#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/aten/quantized_tensor.h"
#include "tools/import/torchscript/interpreter.h"
#include "tools/import/torchscript/packed_parameters.h"
#include "tools/import/torchscript/scalar_type.h"

namespace ingot::torchscript {

using Kind = Value::Kind;
using graph::Dim;
using graph::ValueId;

namespace {

bool has_tensor(const std::vector<Value>& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const Value& v) { return v.is(Kind::kTensor); });
}

/// The positional arguments of a call that is computed during conversion: what is read of them is
/// noted, since an argument that nobody read must say nothing.
template <class Arguments>
class ReadValues {
 public:
  explicit ReadValues(Arguments& given) : given_(given) {}
  size_t size() const { return given_.positional.size(); }
  bool empty() const { return given_.positional.empty(); }
  Value& operator[](size_t i) const {
    given_.read.insert(i);
    return given_.positional[i];
  }
  const std::vector<Value>& all() const {
    for (size_t i = 0; i < size(); i++) given_.read.insert(i);
    return given_.positional;
  }

 private:
  Arguments& given_;
};

/// Their arguments change nothing of what is computed: messages, gradients, where tensors lie,
/// strides, which are nowhere seen.
bool ignores_arguments(const std::string& name) {
  static const std::set<std::string> kNames = {"warn",
                                               "format",
                                               "set_grad_enabled",
                                               "manual_seed",
                                               "AutogradZero",
                                               "is_autocast_enabled",
                                               "has_torch_function",
                                               "cpu",
                                               "cuda",
                                               "is_contiguous"};
  return kNames.count(name) != 0;
}

/// Which argument of an operator is an index into another tensor.
size_t index_argument(const std::string& name) {
  if (name == "aten::embedding" || name == "aten::embedding_bag" || name == "aten::take") return 1;
  if (name == "aten::index_select" || name == "aten::gather") return 2;
  return SIZE_MAX;
}

}  // namespace

Value Interpreter::call_operator(Frame& frame, const std::string& name, Arguments given,
                                 uint32_t line) {
  const std::string place = frame.file->place(line);
  if (name == "prim::RaiseException") {
    const bool said = !given.positional.empty() && given.positional[0].is(Kind::kString);
    throw Raised{place, said ? given.positional[0].text : "an exception"};
  }
  // What DataParallel's forward() leaves in a trace: marks for the profiler.
  if (name.rfind("profiler::_record_function", 0) == 0) return Value::none();
  const size_t colon = name.find("::");
  const std::string space = name.substr(0, colon), plain = name.substr(colon + 2);
  if (space == "aten" || space == "prim") {
    const auto unknown = [](const Value& v) { return v.is(Kind::kUnknown); };
    const bool list_changes =
        plain == "append" || plain == "_set_item" || plain == "extend" || plain == "insert";
    if (!list_changes && std::any_of(given.positional.begin(), given.positional.end(), unknown)) {
      for (const Value& v : given.positional)
        if (!v.reason().empty()) return report(name, frame.path + " (" + place + ")", v.reason());
      return Value::unknown();
    }
    bool done = false;
    Value made = plain_operator(plain, given, place, &done);
    if (done && !ignores_arguments(plain)) {
      const auto says_something = [](const Value& x) {
        return !x.is(Kind::kNone) && !(x.is(Kind::kBool) && !x.truth);
      };
      const auto unread = [&](const std::string& argument, const Value& x) {
        return report(
            name, frame.path + " (" + place + ")",
            "its argument " + argument + " is " + describe(x) + ", which is not supported here");
      };
      for (size_t i = 0; i < given.positional.size(); i++)
        if (!given.read.count(i) && says_something(given.positional[i]))
          return unread(std::to_string(i + 1), given.positional[i]);
      for (const auto& [keyword, x] : given.keywords)
        if (says_something(x)) return unread("'" + keyword + "'", x);
    }
    if (done) return made;
    if (space == "prim")
      return report("prim::" + plain, frame.path + " (" + place + ")",
                    "the operator is not supported here");
  }
  if ((space == "quantized" || space == "prepacked") && packs_parameters(plain))
    return packed_parameters(std::move(given.positional));
  if (space == "prepacked") return run_prepacked(frame, plain, std::move(given), line);
  if (space == "quantized" || plain.rfind("quantized_", 0) == 0)
    given.positional = unpacked(given.positional);
  for (const Value& v : given.positional)
    if (as<Unreadable>(v))
      return report(name, frame.path + " (" + place + ")", "reads " + describe(v));
  if (name == "aten::select" && given.positional.size() == 3 &&
      given.positional[2].is(Kind::kTensor))
    return row_of(given.positional, place);
  return lower(frame, name, std::move(given), line);
}

/// select() by a number that only the run knows: the round of a loop. What is written to it reaches
/// the whole.
Value Interpreter::row_of(const std::vector<Value>& v, const std::string& place) {
  const Value axis = to_integer(v[1], place);
  int64_t at = axis.is(Kind::kInt) ? axis.integer.value().value_or(INT64_MAX) : INT64_MAX;
  const aten::Tensor of = tensor_of(v[0], place);
  const int64_t rank = builder_.rank(builder_.read(of));
  if (at >= rank || at < -rank)
    graph::fail_corrupt(place, "a row along dimension " + describe(v[1]));
  if (at < 0) at += rank;
  const ValueId row = builder_.read(v[2].tensor);
  const auto take = [at, row](aten::Builder& b, ValueId whole) {
    return b.emit(op::Gather, {whole, row}, {{attr::axis, at}});
  };
  const auto put = [at, row](aten::Builder& b, ValueId whole, ValueId part) {
    graph::Dims wide = b.dims(whole), column(wide.size(), Dim(1));
    const Dim count = wide[size_t(at)];
    column[size_t(at)] = count;
    wide[size_t(at)] = Dim(1);
    ValueId index = b.reshape(b.cast(row, DType::kI64), {});
    const ValueId negative = b.emit(op::Less, {index, b.scalar(DType::kI64, 0)});
    index = b.emit(op::Where, {negative, b.emit(op::Add, {index, b.extent(count)}), index});
    const ValueId here = b.reshape(b.emit(op::Equal, {b.counting(count), index}), column);
    return b.emit(op::Where, {here, b.reshape(part, wide), whole});
  };
  aten::Strides strides = builder_.strides(of);
  if (strides) strides->erase(strides->begin() + at);
  return Value::of(builder_.view(of, take, put, std::move(strides)));
}

Value Interpreter::lower(Frame& frame, const std::string& name, Arguments given, uint32_t line) {
  aten::Call call;
  call.name = name;
  call.positional = std::move(given.positional);
  call.keywords = std::move(given.keywords);
  call.overload = std::move(given.overload);
  call.all_by_place = !call.overload.empty();
  call.node = frame.path;
  const std::string& file = frame.file->name;
  const size_t code = file.rfind("code/");
  call.place = (code == std::string::npos ? file : file.substr(code)) + ":" + std::to_string(line);
  for (const std::string& wanted : wanted_)
    call.outputs.push_back(frame.path.empty() || wanted.empty() ? wanted
                                                                : frame.path + "." + wanted);
  wanted_.clear();
  const size_t index = index_argument(name);
  if (index < call.positional.size() && call.positional[index].is(Kind::kTensor)) {
    const ValueId read = builder_.read(call.positional[index].tensor);
    if (guessed.count(read) && graph::is_floating(builder_.dtype(read)))
      throw TakenAsIndex{builder_.model.values[size_t(read)].name};
  }
  std::vector<Value> results;
  try {
    results = aten::lower_call(builder_, call);
  } catch (graph::ConversionError& error) {
    error.add_place(frame.file->place(line));
    throw;
  }
  return results.size() == 1 ? results[0] : Value::tuple(std::move(results));
}

Value Interpreter::plain_operator(const std::string& name, Arguments& given,
                                  const std::string& place, bool* done) {
  const ReadValues v(given);
  *done = true;
  if (name == "NumToTensor" || name == "ScalarImplicit") {
    if (v.empty()) graph::fail_corrupt(place, "'" + name + "' lacks its argument");
    if (name == "ScalarImplicit") return v[0];
    return Value::of(tensor_of(v[0], place));
  }
  if (!v.empty() && (name == "Int" || name == "IntImplicit")) return to_integer(v[0], place);
  if (!v.empty() && (name == "Float" || name == "FloatImplicit")) return to_float(v[0], place);
  if (!v.empty() && name == "Bool") return to_truth(v[0], place);
  if (name == "is_grad_enabled" || name == "is_scripting" || name == "is_autocast_enabled" ||
      name == "is_autocast_cpu_enabled" || name == "has_torch_function")
    return Value::of(false);
  if (name == "set_grad_enabled" || name == "warn" || name == "manual_seed" ||
      name == "AutogradZero")
    return Value::none();
  if (name == "device" && !v.empty() && !v[0].is(Kind::kTensor)) return v[0];
  if (name == "format" && !v.empty()) {
    std::string out;
    size_t next = 1, at = 0;
    const std::string& text = v[0].text;
    for (const Value& part : v.all()) host::charge_memory(part.text.size());
    for (size_t brace; (brace = text.find("{}", at)) != std::string::npos; at = brace + 2) {
      out += text.substr(at, brace - at);
      if (next < v.size())
        out += v[next].is(Kind::kInt)      ? v[next].integer.text()
               : v[next].is(Kind::kString) ? v[next].text
                                           : describe(v[next]);
      next++;
    }
    return Value::of(out + text.substr(at));
  }
  if (name == "str" && v.size() == 1 && !v[0].is(Kind::kUnknown))
    return Value::of(v[0].is(Kind::kString) ? v[0].text
                     : v[0].is(Kind::kInt)  ? v[0].integer.text()
                                            : describe(v[0]));
  if ((name == "__is__" || name == "__isnot__") && v.size() == 2)
    return Value::of(same(v[0], v[1]) == (name == "__is__"));
  if (name == "__not__" && v.size() == 1) {
    const Value truth = to_truth(v[0], place);
    if (truth.is(Kind::kBool)) return Value::of(!truth.truth);
    return Value::of(builder_.own(builder_.emit(op::Not, {builder_.read(truth.tensor)})));
  }
  if (name == "__range_length" && v.size() == 3) {
    const auto lo = v[0].integer.value(), hi = v[1].integer.value(), step = v[2].integer.value();
    if (step && *step == 0) throw Raised{place, "range() arg 3 must not be zero"};
    if (lo && hi && step && std::abs(double(*lo)) < 1e15 && std::abs(double(*hi)) < 1e15 &&
        std::abs(double(*step)) < 1e15) {
      if (*step > 0) return Value::of(Dim(*lo < *hi ? 1 + (*hi - 1 - *lo) / *step : 0));
      return Value::of(Dim(*lo > *hi ? 1 + (*lo - 1 - *hi) / (0 - *step) : 0));
    }
    if (step && *step > 0)
      return Value::of(max(Dim(0), ceil_div(v[1].integer - v[0].integer, Dim(*step))));
    return report(name, place, "a range whose step depends on shapes");
  }
  if (name == "__derive_index" && v.size() == 3) {
    if (v[0].is(Kind::kInt) && v[1].is(Kind::kInt) && v[2].is(Kind::kInt))
      return Value::of(v[1].integer + v[0].integer * v[2].integer);
    const ValueId i = builder_.read(tensor_of(v[0], place)),
                  step = builder_.read(tensor_of(v[2], place));
    const ValueId start = builder_.read(tensor_of(v[1], place));
    return Value::of(
        builder_.own(builder_.emit(op::Add, {start, builder_.emit(op::Mul, {i, step})})));
  }
  if (name == "dict" && v.empty())
    return Value::of(std::shared_ptr<aten::Foreign>(std::make_shared<Dictionary>()));
  if (!v.empty() && v[0].is(Kind::kTensor)) {
    Value made = tensor_fact(name, given, place, done);
    if (*done) return made;
  }
  if (!v.empty() && as<Dictionary>(v[0])) return dictionary_operator(name, given, place, done);
  if (!v.empty() && v[0].items) {
    *done = true;
    Value made = list_operator(name, given, place, done);
    if (*done) return made;
  }
  if (v.size() == 2 && given.keywords.empty()) {
    *done = true;
    Value made = compare(name, v[0], v[1], place, done);
    if (*done) return made;
  }
  *done = false;
  const bool plain =
      given.keywords.empty() && !v.empty() && v.size() <= 2 && !has_tensor(given.positional) &&
      name != "scalar_tensor" &&
      std::all_of(given.positional.begin(), given.positional.end(), [](const Value& x) {
        return x.is(Kind::kInt) || x.is(Kind::kFloat) || x.is(Kind::kBool) || x.is(Kind::kString);
      });
  if (!plain) return {};
  *done = true;
  return number_operator(name, v.all(), place, done);
}

/// What is known of a tensor without computing with it.
Value Interpreter::tensor_fact(const std::string& name, Arguments& given, const std::string& place,
                               bool* done) {
  const ReadValues v(given);
  const auto id = [&] { return builder_.read(v[0].tensor); };
  const auto dims = [&]() { return builder_.dims(id()); };
  *done = true;
  if (name == "dim" || name == "ndimension") return Value::of(Dim(builder_.rank(id())));
  if (name == "size" || name == "shape") {
    if (v.size() < 2) return Value::dims(dims());
    const Value axis = to_integer(v[1], place);
    const int64_t rank = builder_.rank(id()),
                  at = axis.is(Kind::kInt) ? axis.integer.value().value_or(INT64_MAX) : INT64_MAX;
    if (at >= rank || at < -rank)
      throw Raised{place,
                   "dimension " + describe(v[1]) + " of a tensor of rank " + std::to_string(rank)};
    return Value::of(dims()[size_t(at < 0 ? at + rank : at)]);
  }
  if (name == "len") {
    if (dims().empty()) throw Raised{place, "len() of a tensor of rank 0"};
    return Value::of(dims()[0]);
  }
  if (name == "numel") return Value::of(product(dims()));
  if (name == "dtype" || name == "is_quantized") {
    const aten::TensorQuantization* const by = aten::Builder::quantization(v[0].tensor);
    if (name == "is_quantized") return Value::of(by != nullptr);
    return Value::of(
        Dim(by ? aten::c10_of_integers(by->integers) : scalar_type_of(builder_.dtype(id()))));
  }
  if (name == "device") return Value::of(std::string("cpu"));
  if (name == "layout") return Value::of(Dim(0));
  if (name == "is_cuda" || name == "requires_grad" || name == "is_sparse" || name == "is_mkldnn" ||
      name == "is_complex" || name == "is_mps" || name == "is_nested")
    return Value::of(false);
  if (name == "is_contiguous")
    return Value::of(aten::is_row_major(dims(), builder_.strides(v[0].tensor)) !=
                     aten::Shared::kNo);
  if (name == "is_floating_point") return Value::of(graph::is_floating(builder_.dtype(id())));
  if (name == "data" || name == "cpu" || name == "cuda") return v[0];
  if (name == "item") {
    Value whole = to_integer(v[0], place);
    return graph::is_floating(builder_.dtype(id())) ? to_float(v[0], place) : whole;
  }
  *done = false;
  return {};
}

Value Interpreter::list_operator(const std::string& name, Arguments& given,
                                 const std::string& place, bool* done) {
  const ReadValues v(given);
  std::vector<Value>& items = *v[0].items;
  const auto position = [&](const Value& at, bool end) {
    const Value number = to_integer(at, place);
    const std::optional<int64_t> n = number.is(Kind::kInt) ? number.integer.value() : std::nullopt;
    if (!n) refuse(name, place, "a place in a list that depends on shapes or data");
    const int64_t count = int64_t(items.size());
    const int64_t i = *n < 0 ? *n + count : *n;
    if (i < 0 || i >= count + int64_t(end))
      throw Raised{place, "place " + std::to_string(*n) + " of " + describe(v[0])};
    return size_t(i);
  };
  *done = true;
  if (name == "len") return Value::of(Dim(int64_t(items.size())));
  if (name == "__getitem__" && v.size() == 2) return index(v[0], v[1], place);
  if (name != "append" && name != "_set_item") host::charge_work(8 * items.size());
  if (name == "append" && v.size() == 2) {
    note_change(v[0].items.get(), place);
    aten::charge_items(1);
    containers_.note(v[0], v[1]);
    items.push_back(v[1]);
    return v[0];
  }
  if (name == "_set_item" && v.size() == 3) {
    note_change(v[0].items.get(), place);
    containers_.note(v[0], v[2]);
    items[position(v[1], false)] = v[2];
    return v[0];
  }
  if (name == "insert" && v.size() == 3) {
    note_change(v[0].items.get(), place);
    containers_.note(v[0], v[2]);
    items.insert(items.begin() + int64_t(position(v[1], true)), v[2]);
    return Value::none();
  }
  if (name == "pop") {
    note_change(v[0].items.get(), place);
    const size_t at = position(v.size() > 1 ? v[1] : Value::of(Dim(-1)), false);
    const Value out = items[at];
    items.erase(items.begin() + int64_t(at));
    return out;
  }
  if (name == "extend" && v.size() == 2 && v[1].items) {
    note_change(v[0].items.get(), place);
    const std::vector<Value> more = *v[1].items;
    aten::charge_items(items.size() + more.size());
    for (const Value& item : more) containers_.note(v[0], item);
    items.insert(items.end(), more.begin(), more.end());
    return Value::none();
  }
  if (name == "clear") {
    note_change(v[0].items.get(), place);
    items.clear();
    return Value::none();
  }
  if (name == "reverse") {
    note_change(v[0].items.get(), place);
    std::reverse(items.begin(), items.end());
    return Value::none();
  }
  if (name == "add" && v.size() == 2 && v[1].items) {
    std::vector<Value> all = items;
    all.insert(all.end(), v[1].items->begin(), v[1].items->end());
    return v[0].is(Kind::kTuple) ? Value::tuple(std::move(all)) : Value::list(std::move(all));
  }
  if (name == "mul" && v.size() == 2 && v[1].is(Kind::kInt) && v[1].integer.value()) {
    std::vector<Value> all;
    const int64_t times = *v[1].integer.value();
    if (times > 0 && uint64_t(times) > (uint64_t{1} << 20) / std::max<size_t>(items.size(), 1))
      graph::fail_unsupported(place, "a list of more than a million items");
    for (int64_t i = 0; i < times; i++) all.insert(all.end(), items.begin(), items.end());
    return Value::list(std::move(all));
  }
  if (name == "slice" && given.keywords.empty()) {
    if (v.size() > 3 && !(v[3].is(Kind::kInt) && v[3].integer == Dim(1)))
      refuse(name, place, "a part of a list in steps");
    return slice(v[0], v.size() > 1 ? v[1] : Value::none(), v.size() > 2 ? v[2] : Value::none(),
                 place);
  }
  if (name == "__contains__" && v.size() == 2) {
    bool open = false;
    for (const Value& item : items) {
      bool known = true;
      const Value equal = compare("eq", item, v[1], place, &known);
      if (known && equal.is(Kind::kBool) && equal.truth) return Value::of(true);
      open = open || !known || !equal.is(Kind::kBool);
    }
    if (open) refuse(name, place, "whether a list has an item depends on shapes or data");
    return Value::of(false);
  }
  if (name == "list" || name == "copy") return Value::list(items);
  if ((name == "max" || name == "min") && v.size() == 1 && !items.empty() && !has_tensor(items)) {
    Value best = items[0];
    for (size_t i = 1; i < items.size(); i++)
      best = number_operator(name, {best, items[i]}, place, done);
    return best;
  }
  if (name == "sum" && v.size() == 1 && !has_tensor(items)) {
    Value total = Value::of(Dim(0));
    for (const Value& item : items) total = number_operator("add", {total, item}, place, done);
    return total;
  }
  if ((name == "eq" || name == "ne") && v.size() == 2 && v[1].items && !has_tensor(items)) {
    bool equal = items.size() == v[1].items->size();
    for (size_t i = 0; equal && i < items.size(); i++) {
      bool known = true;
      const Value one = compare("eq", items[i], (*v[1].items)[i], place, &known);
      if (!known || !one.is(Kind::kBool))
        refuse(name, place, "whether two lists are equal depends on shapes or data");
      equal = one.truth;
    }
    return Value::of(equal == (name == "eq"));
  }
  if ((name == "any" || name == "all") && v.size() == 1) {
    bool any = false, all = true;
    for (const Value& item : items) {
      const Value one = to_truth(item, place);
      if (!one.is(Kind::kBool)) refuse(name, place, "of a list of tensors");
      any = any || one.truth;
      all = all && one.truth;
    }
    return Value::of(name == "any" ? any : all);
  }
  *done = false;
  return {};
}

Value Interpreter::dictionary_operator(const std::string& name, Arguments& given,
                                       const std::string& place, bool* done) {
  const ReadValues v(given);
  Dictionary& d = *as<Dictionary>(v[0]);
  const auto find = [&](const Value& key) {
    host::charge_work(8 * d.items.size());
    return std::find_if(d.items.begin(), d.items.end(),
                        [&](const auto& item) { return same(item.first, key); });
  };
  *done = true;
  if (name == "len") return Value::of(Dim(int64_t(d.items.size())));
  if (name == "__getitem__" && v.size() == 2) return index(v[0], v[1], place);
  if (name == "__contains__" && v.size() == 2) return Value::of(find(v[1]) != d.items.end());
  if (name == "_set_item" && v.size() == 3) {
    note_change(&d, place);
    containers_.note(v[0], v[2]);
    const auto at = find(v[1]);
    if (at == d.items.end())
      d.items.emplace_back(v[1], v[2]);
    else
      at->second = v[2];
    return Value::none();
  }
  if (name == "get" && v.size() >= 2) {
    const auto at = find(v[1]);
    const Value otherwise = v.size() > 2 ? v[2] : Value::none();
    return at != d.items.end() ? at->second : otherwise;
  }
  if (name == "keys" || name == "values" || name == "items") {
    std::vector<Value> all;
    for (const auto& [key, value] : d.items)
      all.push_back(name == "keys" ? key : name == "values" ? value : Value::tuple({key, value}));
    return Value::list(std::move(all));
  }
  if ((name == "Delete" || name == "pop") && v.size() >= 2) {
    note_change(&d, place);
    const auto at = find(v[1]);
    if (v.size() > 2 && at == d.items.end()) return v[2];  // pop() with a default
    if (v.size() > 2) given.read.insert(2);
    if (at == d.items.end()) throw Raised{place, "a dictionary has no key " + describe(v[1])};
    const Value out = at->second;
    d.items.erase(at);
    return out;
  }
  return report(name, place, "of a dictionary is not supported");
}

}  // namespace ingot::torchscript
