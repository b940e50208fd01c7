#include "tools/aten/value.h"

#include <algorithm>

namespace ingot::aten {
namespace {

Value of_kind(Value::Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}
Value of_items(Value::Kind kind, std::vector<Value> items) {
  Value value = of_kind(kind);
  value.items = std::make_shared<std::vector<Value>>(std::move(items));
  return value;
}

}  // namespace

Value Value::unknown() { return of_kind(Kind::kUnknown); }
Value Value::unavailable(std::string why) {
  Value value = unknown();
  value.text = std::move(why);
  return value;
}
Value Value::of(Tensor tensor) {
  Value value = of_kind(Kind::kTensor);
  value.tensor = std::move(tensor);
  return value;
}
Value Value::of(Dim integer) {
  Value value = of_kind(Kind::kInt);
  value.integer = std::move(integer);
  return value;
}
Value Value::of(double number) {
  Value value = of_kind(Kind::kFloat);
  value.number = number;
  return value;
}
Value Value::of(bool truth) {
  Value value = of_kind(Kind::kBool);
  value.truth = truth;
  return value;
}
Value Value::of(std::string text) {
  Value value = of_kind(Kind::kString);
  value.text = std::move(text);
  return value;
}
Value Value::of(std::shared_ptr<Foreign> foreign) {
  Value value = of_kind(Kind::kForeign);
  value.foreign = std::move(foreign);
  return value;
}
Value Value::list(std::vector<Value> items) { return of_items(Kind::kList, std::move(items)); }
Value Value::tuple(std::vector<Value> items) { return of_items(Kind::kTuple, std::move(items)); }
Value Value::tensors(const std::vector<Tensor>& items) {
  std::vector<Value> values;
  for (const Tensor& item : items) values.push_back(of(item));
  return list(std::move(values));
}
Value Value::dims(const Dims& items) {
  std::vector<Value> values;
  for (const Dim& item : items) values.push_back(of(item));
  return list(std::move(values));
}

bool Value::has_unknown() const {
  if (kind == Kind::kUnknown) return true;
  return items && std::any_of(items->begin(), items->end(), [](const Value& item) { return item.has_unknown(); });
}

std::string Value::reason() const {
  if (kind == Kind::kUnknown) return text;
  if (!items) return "";
  for (const Value& item : *items)
    if (const std::string why = item.reason(); !why.empty()) return why;
  return "";
}

std::string Value::describe() const {
  switch (kind) {
    case Kind::kUnknown: return "something that was refused";
    case Kind::kNone: return "None";
    case Kind::kTensor: return "a tensor";
    case Kind::kInt: return "the number " + integer.text();
    case Kind::kFloat: return "the number " + std::to_string(number);
    case Kind::kBool: return truth ? "True" : "False";
    case Kind::kString: return "the text '" + text + "'";
    case Kind::kList: return "a list of " + std::to_string(items->size());
    case Kind::kForeign: return "an object";
    case Kind::kTuple: return "a tuple of " + std::to_string(items->size());
  }
  return "nothing";
}

}  // namespace ingot::aten
