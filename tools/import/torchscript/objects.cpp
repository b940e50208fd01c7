// SPDX-License-Identifier: Apache-2.0
#include "tools/import/torchscript/objects.h"

#include <utility>

#include "tools/files/work_budget.h"

namespace ingot::torchscript {
namespace {

constexpr uint64_t kCompared = 8;  // steps of work for each pair of values

}  // namespace

Object::~Object() {
  std::vector<Value> held;
  for (auto& [name, value] : attributes)
    if (value.items || value.foreign) held.push_back(std::move(value));
  if (state) held.push_back(std::move(*state));
  aten::drop_values(std::move(held));
}
Dictionary::~Dictionary() {
  std::vector<Value> held;
  for (auto& [key, value] : items) {
    held.push_back(std::move(key));
    held.push_back(std::move(value));
  }
  aten::drop_values(std::move(held));
}

void Containers::note(const Value& container, const Value& item) {
  if (!item.items && !item.foreign) return;  // ends here: it cannot lead back
  if (container.items) lists_[container.items.get()] = container.items;
  if (container.foreign) others_[container.foreign.get()] = container.foreign;
}

void Containers::empty() {
  std::vector<Value> held;
  for (auto& [address, list] : lists_)
    if (const auto items = list.lock())
      for (Value& item : *items) held.push_back(std::exchange(item, Value::none()));
  for (auto& [address, other] : others_) {
    const auto shared = other.lock();
    if (auto* const object = dynamic_cast<Object*>(shared.get())) {
      if (object->state) held.push_back(std::exchange(*object->state, Value::none()));
      for (auto& [name, value] : object->attributes)
        held.push_back(std::exchange(value, Value::none()));
    }
    if (auto* const dictionary = dynamic_cast<Dictionary*>(shared.get()))
      for (auto& [key, value] : dictionary->items)
        held.push_back(std::exchange(value, Value::none()));
  }
  aten::drop_values(std::move(held));
}

bool same(const Value& a, const Value& b) {
  using Kind = Value::Kind;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kUnknown: return false;
    case Kind::kNone: return true;
    case Kind::kTensor: return a.tensor == b.tensor;
    case Kind::kInt: return a.integer == b.integer;
    case Kind::kFloat:
      return a.number == b.number || (a.number != a.number && b.number != b.number);
    case Kind::kBool: return a.truth == b.truth;
    case Kind::kString: return a.text == b.text;
    case Kind::kForeign: return a.foreign == b.foreign;
    case Kind::kList:
    case Kind::kTuple: break;
  }
  if (a.items == b.items) return true;
  if (a.items->size() != b.items->size()) return false;
  const aten::Nesting level;
  host::charge_work(kCompared * a.items->size());
  for (size_t i = 0; i < a.items->size(); i++)
    if (!same((*a.items)[i], (*b.items)[i])) return false;
  return true;
}

std::string describe(const Value& value) {
  if (const Object* object = as<Object>(value))
    return "an object of class '" + object->type + "'" +
           (object->path.empty() ? "" : " ('" + object->path + "')");
  if (as<Dictionary>(value))
    return "a dictionary of " + std::to_string(as<Dictionary>(value)->items.size());
  if (const Named* named = as<Named>(value)) return "'" + named->name + "'";
  if (const Unreadable* tensor = as<Unreadable>(value)) return "a tensor that " + tensor->why;
  return value.describe();
}

}  // namespace ingot::torchscript
