// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/schema.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace ingot::aten {
namespace {

using Type = Parameter::Type;

[[noreturn]] void broken(const std::string& text) {
  throw std::logic_error("operator table: " + text);
}

Type type_of(const std::string& text) {
  static const std::map<std::string, Type> kTypes = {
      {"Tensor", Type::kTensor},  {"Tensor[]", Type::kTensors}, {"Tensor?[]", Type::kTensors},
      {"int", Type::kInt},        {"int[]", Type::kInts},       {"float", Type::kFloat},
      {"float[]", Type::kFloats}, {"bool", Type::kBool},        {"bool[]", Type::kBools},
      {"Scalar", Type::kScalar},  {"str", Type::kString},       {"Any", Type::kAny}};
  const auto found = kTypes.find(text);
  if (found == kTypes.end()) broken("type " + text);
  return found->second;
}

Value literal(const std::string& text) {
  if (text == "None") return Value::none();
  if (text == "True" || text == "False") return Value::of(text == "True");
  if (text.front() == '\'') return Value::of(text.substr(1, text.size() - 2));
  if (text.front() == '[') {
    std::vector<Value> items;
    std::istringstream stream(text.substr(1, text.size() - 2));
    for (std::string item; stream >> item;) items.push_back(literal(item));
    return Value::list(std::move(items));
  }
  if (text.find_first_of(".e") != std::string::npos) return Value::of(std::stod(text));
  return Value::of(Dim(std::stoll(text)));
}

/// "Tensor? bias=None"; lists in defaults are separated by blanks.
Parameter parameter_of(const std::string& text) {
  Parameter out;
  const size_t blank = text.find(' '), equals = text.find('=');
  if (blank == std::string::npos) broken(text);
  std::string type = text.substr(0, blank);
  if (type.back() == '?') {
    out.optional = true;
    type.pop_back();
  }
  out.type = type_of(type);
  out.name =
      text.substr(blank + 1, equals == std::string::npos ? std::string::npos : equals - blank - 1);
  if (equals != std::string::npos) out.otherwise = literal(text.substr(equals + 1));
  return out;
}

bool all_of(const Value& value, Type type) {
  if (!value.items) return false;
  Parameter item;
  item.type = type;
  item.optional = type == Type::kTensor;  // index() has lists of optional tensors
  return std::all_of(value.items->begin(), value.items->end(),
                     [&](const Value& v) { return accepts(item, v); });
}

}  // namespace

bool accepts(const Parameter& parameter, const Value& value) {
  using Kind = Value::Kind;
  if (value.is(Kind::kUnknown) || parameter.type == Type::kAny) return true;
  if (value.is(Kind::kNone)) return parameter.optional;
  switch (parameter.type) {
    case Type::kTensor: return value.is(Kind::kTensor);
    case Type::kTensors: return all_of(value, Type::kTensor);
    case Type::kInt: return value.is(Kind::kInt) || value.is(Kind::kBool);
    case Type::kInts: return value.is(Kind::kInt) || all_of(value, Type::kInt);
    case Type::kFloat: return value.is(Kind::kFloat) || value.is(Kind::kInt);
    case Type::kFloats: return value.is(Kind::kFloat) || all_of(value, Type::kFloat);
    case Type::kBool: return value.is(Kind::kBool) || value.is(Kind::kInt);
    case Type::kBools: return value.is(Kind::kBool) || all_of(value, Type::kBool);
    case Type::kScalar:
      return value.is(Kind::kFloat) || value.is(Kind::kInt) || value.is(Kind::kBool);
    case Type::kString: return value.is(Kind::kString);
    case Type::kAny: return true;
  }
  return false;
}

std::string Schema::text() const {
  return name + (overload.empty() ? "" : "." + overload) + "(" + declared + ")";
}

void Table::add(const std::string& name, const std::string& arguments, const Lower& lower) {
  Schema schema;
  const size_t dot = name.find('.');
  schema.name = name.substr(0, dot);
  if (dot != std::string::npos) schema.overload = name.substr(dot + 1);
  schema.declared = arguments;
  schema.lower = lower;
  for (size_t at = 0; at < arguments.size();) {
    const size_t end = std::min(arguments.find(", ", at), arguments.size());
    const std::string one = arguments.substr(at, end - at);
    if (one == "*")
      schema.positional = schema.parameters.size();
    else
      schema.parameters.push_back(parameter_of(one));
    at = end + 2;
  }
  schemas_[schema.name].push_back(std::move(schema));
}
void Table::add_all(const std::string& names, const std::string& arguments, const Lower& lower) {
  std::istringstream stream(names);
  for (std::string name; stream >> name;) add(name, arguments, lower);
}
const std::vector<Schema>* Table::find(const std::string& name) const {
  const auto found = schemas_.find(name);
  return found == schemas_.end() ? nullptr : &found->second;
}

const Table& operator_table() {
  static const Table kTable = [] {
    Table table;
    add_elementwise(table);
    add_convolutions(table);
    add_products(table);
    add_activations(table);
    add_normalizations(table);
    add_pools(table);
    add_views(table);
    add_movement(table);
    add_indexing(table);
    add_generators(table);
    add_reductions(table);
    add_attention(table);
    add_layers(table);
    add_sampling(table);
    add_detection(table);
    add_random(table);
    add_composed(table);
    add_recurrent(table);
    add_cells(table);
    add_quantized(table);
    add_quantized_recurrent(table);
    add_torchao(table);
    add_decomposed(table);
    add_complex(table);
    add_fourier(table);
    add_frames(table);
    add_scans(table);
    add_orders(table);
    add_special(table);
    add_matrices(table);
    add_contractions(table);
    add_found(table);
    add_arrangements(table);
    add_losses(table);
    add_packed(table);
    add_strided(table);
    return table;
  }();
  return kTable;
}

}  // namespace ingot::aten
