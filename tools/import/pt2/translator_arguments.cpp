// SPDX-License-Identifier: Apache-2.0
// tools/import/pt2/translator_arguments.cpp - values by name: arguments of nodes, arithmetic on
// sizes, results.
#include <algorithm>
#include <iterator>
#include <limits>

#include "tools/graph/dim_limit.h"
#include "tools/import/pt2/translator.h"

namespace ingot::pt2 {
namespace {

using aten::Value;
using graph::Dim;

double number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  corrupt("a number is " + value.dump().substr(0, 40));
}

template <class Make>
Value list_of(const Json& values, Make make) {
  if (!values.is_array()) corrupt(std::string("a list of arguments is ") + values.type_name());
  std::vector<Value> items;
  for (const Json& each : values) items.push_back(make(each));
  return Value::list(std::move(items));
}

}  // namespace

/// Comparisons of sizes and what joins them; null for anything else. What the bounds of the sizes
/// do not decide, a run does.
std::optional<Value> Translator::compared(const std::string& op, const std::vector<Value>& in) {
  struct Row {
    const char* name;
    graph::Operator op;
    Value::Kind of;
    bool negated = false;
  };
  using Kind = Value::Kind;
  static constexpr Row kRows[] = {
      {"lt", op::Less, Kind::kInt},    {"le", op::LessOrEqual, Kind::kInt},
      {"gt", op::Greater, Kind::kInt}, {"ge", op::GreaterOrEqual, Kind::kInt},
      {"eq", op::Equal, Kind::kInt},   {"ne", op::Equal, Kind::kInt, true},
      {"and_", op::And, Kind::kBool},  {"or_", op::Or, Kind::kBool},
      {"not_", op::Not, Kind::kBool},  {"sym_not", op::Not, Kind::kBool}};
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& each) { return op == each.name; });
  if (row == std::end(kRows) || in.size() != (row->op == op::Not ? 1u : 2u)) return {};
  aten::Builder& b = *builder_;
  std::vector<graph::ValueId> ids;
  for (const Value& value : in) {
    const bool is_truth = value.is(Kind::kTensor) && b.dtype(b.read(value.tensor)) == DType::kBool;
    if (!value.is(row->of) && !(row->of == Kind::kBool && is_truth)) return {};
    ids.push_back(carried(value));
  }
  graph::ValueId made = b.emit(row->op, std::move(ids));
  if (row->negated) made = b.emit(op::Not, {made});
  const auto known = b.content(made);
  const auto number = known ? known->number() : std::nullopt;
  return number ? Value::of(*number != 0) : Value::of(b.own(made));
}

/// Arithmetic on sizes, which exists during conversion alone.
void Translator::run_symbolic(const std::string& op, const Json& node, Names* names) {
  std::vector<Value> in;
  for (const Json& input : array(node, "inputs"))
    in.push_back(argument(field(input, "arg"), *names));
  Value out = Value::unavailable("reads '" + op + "' of sizes, which is not supported");
  if (const auto truth = compared(op, in)) return keep(array(node, "outputs"), {*truth}, names);
  if (op == "sym_sum" && in.size() == 1 && in[0].items) in = *in[0].items;
  bool whole = !in.empty() && (in.size() <= 2 || op == "sym_sum");
  for (Value& value : in) {
    if (value.is(Value::Kind::kBool)) value = Value::of(Dim(value.truth));
    whole = whole && value.is(Value::Kind::kInt);
    if (value.is(Value::Kind::kUnknown)) out = value;
  }
  if (whole) {
    const Dim& a = in[0].integer;
    const Dim b = in.size() > 1 ? in[1].integer : Dim(0);
    try {
      if (op == "add") out = Value::of(a + b);
      if (op == "sub") out = Value::of(a - b);
      if (op == "mul") out = Value::of(a * b);
      if (op == "sym_sum") {
        Dim sum(0);
        for (const Value& each : in) sum = sum + each.integer;
        out = Value::of(sum);
      }
      if (op == "neg") out = Value::of(Dim(0) - a);
      if (op == "pos") out = in[0];
      if (op == "floordiv" && graph::proven_at_least(b, Dim(1))) out = Value::of(a / b);
      if (op == "mod" && graph::proven_at_least(b, Dim(1))) out = Value::of(a - (a / b) * b);
      if (op == "sym_max") out = Value::of(max(a, b));
      if (op == "sym_min") out = Value::of(min(a, b));
      const auto x = a.value(), y = b.value();
      if (op == "pow" && x && y && *y >= 0 && *y <= 8) {
        Dim power(1);
        for (int64_t i = 0; i < *y; i++) power = power * a;
        out = Value::of(power);
      }
    } catch (const graph::DimError& error) {
      graph::fail_conversion(graph::exit_code(error),
                             file_ + ": '" + op + "' of sizes: " + error.what());
    }
  }
  keep(array(node, "outputs"), {out}, names);
}

void Translator::keep(const Json& outputs, std::vector<Value> results, Names* names) {
  for (size_t i = 0; i < outputs.size(); i++) {
    const auto [kind, held] = tagged(outputs[i]);
    const bool fewer = !results.empty() && !results[0].is(Value::Kind::kUnknown);
    const Value result = i < results.size() ? results[i]
                         : fewer
                             ? Value::unavailable("reads a result of an operator that is not made")
                             : Value::unknown();
    if (kind == "as_tensor") define(name_in(*held), result, names);
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      if (held->is_object() && held->contains("as_name"))
        define(text(*held, "as_name"), result, names);
    }
    if (kind == "as_tensors") {
      if (!held->is_array()) corrupt("a list of outputs is " + std::string(held->type_name()));
      for (size_t k = 0; k < held->size(); k++) {
        const bool listed = result.items && k < result.items->size();
        define(name_in((*held)[k]), listed ? (*result.items)[k] : Value::unknown(), names);
      }
    }
  }
}

/// Each name is made once: of two makers, which one a reader means is nobody's to say.
void Translator::define(const std::string& name, Value value, Names* names) {
  if (name.empty()) return;  // a result that nothing reads
  if (!names->emplace(name, std::move(value)).second)
    corrupt(file_ + ": its program makes '" + name + "' twice; export it again");
}

Value Translator::look_up(const std::string& name, Names& names) {
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  // Sizes in its sym_int_values that no node makes.
  corrupt(file_ + ": its program reads '" + name + "', which nothing makes");
}

Value Translator::symbolic(const Json& value, Names& names) {
  const auto [kind, held] = tagged(value);
  if (kind == "as_int") return Value::of(Dim(integer(*held, "a size")));
  if (kind == "as_name") return look_up(held->is_string() ? held->get<std::string>() : "", names);
  if (kind == "as_float") return Value::of(number_of(*held));
  if (kind == "as_bool") return Value::of(held->is_boolean() && held->get<bool>());
  corrupt(file_ + ": a symbolic argument is '" + kind + "'");
}

Value Translator::argument(const Json& value, Names& names) {
  const auto [kind, held] = tagged(value);
  const Json& v = *held;
  const auto tensor = [&](const Json& each) { return look_up(name_in(each), names); };
  if (kind == "as_none") return Value::none();
  if (kind == "as_tensor") return tensor(v);
  if (kind == "as_tensors") return list_of(v, tensor);
  if (kind == "as_nested_tensors")
    return list_of(v, [&](const Json& each) { return list_of(each, tensor); });
  if (kind == "as_int") return Value::of(Dim(integer(v, "an argument")));
  if (kind == "as_ints")
    return list_of(v,
                   [](const Json& each) { return Value::of(Dim(integer(each, "an argument"))); });
  if (kind == "as_float") return Value::of(number_of(v));
  if (kind == "as_floats")
    return list_of(v, [](const Json& each) { return Value::of(number_of(each)); });
  if (kind == "as_bool") return Value::of(v.is_boolean() && v.get<bool>());
  if (kind == "as_bools")
    return list_of(
        v, [](const Json& each) { return Value::of(each.is_boolean() && each.get<bool>()); });
  if (kind == "as_string") return Value::of(v.is_string() ? v.get<std::string>() : std::string());
  if (kind == "as_strings")
    return list_of(v, [](const Json& each) {
      return Value::of(each.is_string() ? each.get<std::string>() : std::string());
    });
  if (kind == "as_scalar_type") return Value::of(Dim(c10_type_of(integer(v, "a type"))));
  if (kind == "as_memory_format") return Value::of(Dim(integer(v, "a format")));
  if (kind == "as_layout") return Value::of(Dim(c10_layout_of(integer(v, "a layout"))));
  if (kind == "as_device") return Value::of(text(v, "type"));
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
    return symbolic(v, names);
  if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools")
    return list_of(v, [&](const Json& each) { return symbolic(each, names); });
  if (kind == "as_optional_tensor") return argument(v, names);
  if (kind == "as_optional_tensors")
    return list_of(v, [&](const Json& each) { return argument(each, names); });
  return Value::unavailable("an argument of kind '" + kind + "' is not supported");
}

}  // namespace ingot::pt2
