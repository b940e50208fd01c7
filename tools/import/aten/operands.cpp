// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/operands.h"

#include <algorithm>

#include "tools/graph/tensor_math.h"
#include "tools/import/aten/no_effect.h"

namespace ingot::aten {

DType dtype_of_c10(int64_t scalar_type) {
  switch (scalar_type) {
    case 0: return DType::kU8;
    case 1: return DType::kI8;
    case 2: return DType::kI16;
    case 3: return DType::kI32;
    case 4: return DType::kI64;
    case 5: return DType::kF16;
    case 6: return DType::kF32;
    case 7: return DType::kF64;
    case 11: return DType::kBool;
    case 15: return DType::kBF16;
    case 27: return DType::kU16;
    case 28: return DType::kU32;
    case 29: return DType::kU64;
    default: return DType::kInvalid;
  }
}

std::string name_of_c10(int64_t scalar_type) {
  static constexpr const char* kNames[] = {"uint8",           "int8",
                                           "int16",           "int32",
                                           "int64",           "float16",
                                           "float32",         "float64",
                                           "complex32",       "complex64",
                                           "complex128",      "bool",
                                           "qint8",           "quint8",
                                           "qint32",          "bfloat16",
                                           "quint4x2",        "quint2x4",
                                           "bits1x8",         "bits2x4",
                                           "bits4x2",         "bits8",
                                           "bits16",          "float8_e5m2",
                                           "float8_e4m3fn",   "float8_e5m2fnuz",
                                           "float8_e4m3fnuz", "uint16",
                                           "uint32",          "uint64"};
  const auto count = int64_t(sizeof kNames / sizeof kNames[0]);
  if (scalar_type < 0 || scalar_type >= count)
    return "element type " + std::to_string(scalar_type) + " of PyTorch";
  return std::string("torch.") + kNames[scalar_type];
}

namespace {

/// As Value::describe(), with the items of a list.
std::string spelled(const Value& value) {
  if (!value.items) return value.describe();
  std::string all;
  for (const Value& item : *value.items)
    all += (all.empty() ? "" : ", ") +
           (item.is(Value::Kind::kInt) ? item.integer.text() : item.describe());
  return "the list [" + all + "]";
}

}  // namespace

int64_t wrapped_axis(int64_t axis, int64_t rank, const std::string& owner) {
  const int64_t count = std::max<int64_t>(rank, 1);
  if (axis < -count || axis >= count)
    graph::fail_corrupt(owner, "dimension " + std::to_string(axis) + " is out of range for rank " +
                                   std::to_string(rank));
  return axis < 0 ? axis + count : axis;
}

bool Operands::has(const char* name) const {
  return std::any_of(schema_.parameters.begin(), schema_.parameters.end(),
                     [&](const Parameter& p) { return p.name == name; });
}
const Value& Operands::value(const char* name) const {
  for (size_t i = 0; i < schema_.parameters.size(); i++)
    if (schema_.parameters[i].name == name) {
      read_[i] = true;
      return values_[i];
    }
  throw std::logic_error(qualified() + " has no argument " + name);
}
bool Operands::given(const char* name) const {
  for (size_t i = 0; i < schema_.parameters.size(); i++) {
    if (schema_.parameters[i].name != name) continue;
    const bool none = values_[i].is(Value::Kind::kNone);
    if (none) read_[i] = true;  // that something is there is not yet read
    return !none;
  }
  return false;
}

Tensor Operands::tensor(const char* name) const {
  const Value& v = value(name);
  if (!v.is(Value::Kind::kTensor)) refuse(name, "is " + v.describe() + ", expected a tensor");
  return v.tensor;
}
std::vector<ValueId> Operands::read_all(const char* name) {
  std::vector<ValueId> out;
  for (const Value& item : *value(name).items) {
    if (!item.is(Value::Kind::kTensor))
      refuse(name, "has " + item.describe() + " in it, expected tensors");
    out.push_back(b.read(item.tensor));
  }
  return out;
}
Dims Operands::dims(const char* name) const {
  const Value& v = value(name);
  if (v.is(Value::Kind::kNone)) return {};
  if (!v.items) return {v.integer};
  Dims out;
  for (const Value& item : *v.items)
    out.push_back(item.is(Value::Kind::kBool) ? Dim(item.truth) : item.integer);
  return out;
}
int64_t Operands::integer(const char* name) const {
  const Value& v = value(name);
  if (v.is(Value::Kind::kBool)) return v.truth;
  const auto n = v.integer.value();
  if (!n)
    refuse(name, "depends on a symbolic dimension (" + v.integer.text() + ")",
           "bind it with --dim");
  return *n;
}
std::vector<int64_t> Operands::integers(const char* name) const {
  std::vector<int64_t> out;
  for (const Dim& d : dims(name)) {
    if (!d.is_static())
      refuse(name, "depends on a symbolic dimension (" + d.text() + ")", "bind it with --dim");
    out.push_back(*d.value());
  }
  return out;
}
std::vector<int64_t> Operands::integers(const char* name, size_t count) const {
  std::vector<int64_t> out = integers(name);
  if (out.size() == 1) out.resize(count, out[0]);
  if (out.size() != count)
    corrupt(std::string(name) + " has " + std::to_string(out.size()) + " numbers, expected " +
            std::to_string(count));
  return out;
}
ValueId Operands::floating(const char* name) {
  const ValueId x = read(name);
  return graph::is_floating(b.dtype(x)) ? x : b.cast(x, DType::kF32);
}
double Operands::number(const char* name) const {
  const Value& v = value(name);
  if (v.is(Value::Kind::kFloat)) return v.number;
  return double(integer(name));
}
double Operands::known_number(const char* name) {
  const Value& v = value(name);
  if (!v.is(Value::Kind::kTensor)) return number(name);
  const graph::Constant* const held = b.model.constant(b.read(v.tensor));
  if (!held || held->elements() != 1) refuse(name, "is known only at run time");
  return graph::read_number(*held, 0);
}
bool Operands::flag(const char* name) const {
  const Value& v = value(name);
  return v.is(Value::Kind::kBool) ? v.truth : v.is(Value::Kind::kInt) && integer(name) != 0;
}
std::string Operands::text(const char* name) const { return value(name).text; }
int64_t Operands::axis(const char* name, int64_t rank) const {
  return wrapped_axis(integer(name), rank, qualified());
}
std::vector<int64_t> Operands::axes(const char* name, int64_t rank) const {
  std::vector<int64_t> out = integers(name);
  for (int64_t& axis : out) axis = wrapped_axis(axis, rank, qualified());
  std::vector<int64_t> sorted = out;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    corrupt(std::string(name) + " names a dimension twice");
  return out;
}
DType Operands::dtype(const char* name, DType otherwise) const {
  if (!given(name)) return otherwise;
  const DType found = dtype_of_c10(integer(name));
  if (found == DType::kInvalid)
    refuse(name, "is " + name_of_c10(integer(name)) + ", which is not supported");
  return found;
}

void Operands::refuse_unread() const {
  for (size_t i = 0; i < values_.size(); i++) {
    const Parameter& p = schema_.parameters[i];
    if (read_[i] || is_neutral(p, values_[i]) || no_effect(schema_, p.name)) continue;
    refuse(p.name, "is " + spelled(values_[i]) + ", which is not supported",
           p.otherwise ? "leave it at its default, " + spelled(*p.otherwise) : "");
  }
}
void Operands::refuse(const std::string& argument, const std::string& why,
                      const std::string& hint) const {
  throw Refused{argument, why, hint};
}
void Operands::corrupt(const std::string& what) const { graph::fail_corrupt(qualified(), what); }

Lower one_node(graph::Operator op, Attributes fixed,
               std::vector<std::pair<graph::AttributeName, const char*>> numbers) {
  return [=](Operands& o) {
    Attributes attributes = fixed;
    for (const auto& [attribute, argument] : numbers) attributes[attribute] = o.number(argument);
    return o.result(o.b.emit(op, {o.read("self")}, std::move(attributes)));
  };
}
Lower one_node_of_floats(graph::Operator op) {
  return [=](Operands& o) { return o.result(o.b.emit(op, {o.floating("self")})); };
}

}  // namespace ingot::aten
