// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/value.h"

#include <algorithm>

#include "tools/files/work_budget.h"

namespace ingot::aten {
namespace {

Value of_kind(Value::Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}
Value of_items(Value::Kind kind, std::vector<Value> items) {
  charge_items(items.size());
  Value value = of_kind(kind);
  value.items = std::shared_ptr<std::vector<Value>>(new std::vector<Value>(std::move(items)),
                                                    [](auto* dropped) {
                                                      drop_values(std::move(*dropped));
                                                      delete dropped;
                                                    });
  return value;
}

constexpr int kMaxNesting = 200;
thread_local int nesting = 0;
// Plain pointers, because what is dropped when the thread ends may come after a vector of the
// thread's own.
thread_local std::vector<std::vector<Value>>* dropping = nullptr;

}  // namespace

Nesting::Nesting() {
  host::charge_work(1);
  if (nesting >= kMaxNesting)
    graph::fail_unsupported("a list nests more than " + std::to_string(kMaxNesting) +
                            " levels, or holds itself");
  nesting++;
}
Nesting::~Nesting() { nesting--; }

void drop_values(std::vector<Value>&& values) {
  const auto holds_others = [](const Value& v) { return v.items || v.foreign; };
  if (std::none_of(values.begin(), values.end(), holds_others)) return;
  if (dropping) return dropping->push_back(std::move(values));  // an outer call drops it
  std::vector<std::vector<Value>> waiting;
  dropping = &waiting;
  waiting.push_back(std::move(values));
  while (!waiting.empty()) {
    const std::vector<Value> next = std::move(waiting.back());  // what these hold alone is added
    waiting.pop_back();
  }
  dropping = nullptr;
}

void charge_items(size_t count) {
  constexpr size_t kSmall = 64;  // sizes of tensors, arguments: as many as the steps that make them
  host::charge_work(count);
  if (count > kSmall) host::charge_memory(count * sizeof(Value));
}

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
  constexpr size_t kSmall = 4096;
  host::charge_work(text.size() / 16);
  if (text.size() > kSmall) host::charge_memory(text.size());
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
  if (!items) return false;
  const Nesting level;
  return std::any_of(items->begin(), items->end(),
                     [](const Value& item) { return item.has_unknown(); });
}

std::string Value::reason() const {
  if (kind == Kind::kUnknown) return text;
  if (!items) return "";
  const Nesting level;
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
