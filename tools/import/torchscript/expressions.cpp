// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/expressions.cpp - names, attributes, items and calls.
#include <cmath>
#include <limits>
#include <map>

#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/torchscript/interpreter.h"

namespace ingot::torchscript {

using Kind = Value::Kind;

Value Interpreter::evaluate(Frame& frame, ExpressionId id) {
  const File& file = *frame.file;
  const Expression& e = file.at(id);
  if (e.kind != ExpressionKind::kCall && e.kind != ExpressionKind::kOperator) wanted_.clear();
  switch (e.kind) {
    case ExpressionKind::kNothing: return Value::none();
    case ExpressionKind::kTrue: return Value::of(true);
    case ExpressionKind::kFalse: return Value::of(false);
    case ExpressionKind::kInteger: return Value::of(graph::Dim(e.integer));
    case ExpressionKind::kFloat: return Value::of(e.number);
    case ExpressionKind::kText: return Value::of(file.text(e));
    case ExpressionKind::kName: return evaluate_name(frame, id);
    default: break;
  }
  const std::string place = file.place(e.line);
  const Deeper deeper(this, place);
  switch (e.kind) {
    case ExpressionKind::kAttribute: {
      const std::string name = dotted(file, id);
      const std::string root = name.substr(0, name.find('.'));
      if (!name.empty() && !frame.names.count(root)) return evaluate_name(frame, id);
      return attribute(evaluate(frame, file.item(e, 0)), file.text(e), place);
    }
    case ExpressionKind::kSlot: {
      const Value owner = evaluate(frame, file.item(e, 0));
      return attribute(owner, slot_name(owner, e.integer), place);
    }
    case ExpressionKind::kCall: return call(frame, id);
    case ExpressionKind::kOperator: return call_by_place(frame, e);
    case ExpressionKind::kIndex: {
      const Value owner = evaluate(frame, file.item(e, 0));
      return index(owner, evaluate(frame, file.item(e, 1)), place);
    }
    case ExpressionKind::kSlice: {
      const Value owner = evaluate(frame, file.item(e, 0)),
                  begin = evaluate(frame, file.item(e, 1));
      return slice(owner, begin, evaluate(frame, file.item(e, 2)), place);
    }
    case ExpressionKind::kList:
    case ExpressionKind::kTuple: {
      std::vector<Value> items;
      for (uint32_t i = 0; i < e.count; i++) items.push_back(evaluate(frame, file.item(e, i)));
      if (e.kind == ExpressionKind::kTuple) return Value::tuple(std::move(items));
      Value list = Value::list(std::move(items));
      note_made(list.items.get());
      return list;
    }
    case ExpressionKind::kDict: {
      auto made = std::make_shared<Dictionary>();
      for (uint32_t i = 0; i + 1 < e.count; i += 2) {
        Value key = evaluate(frame, file.item(e, i));
        made->items.emplace_back(std::move(key), evaluate(frame, file.item(e, i + 1)));
      }
      note_made(made.get());
      return Value::of(std::shared_ptr<aten::Foreign>(made));
    }
    case ExpressionKind::kMinus: {
      Arguments arguments;
      arguments.positional.push_back(evaluate(frame, file.item(e, 0)));
      return call_operator(frame, "aten::neg", std::move(arguments), e.line);
    }
    default: graph::fail_corrupt(place, "an argument's name stands where a value is expected");
  }
}

Value Interpreter::evaluate_name(Frame& frame, ExpressionId id) {
  const File& file = *frame.file;
  const Expression& e = file.at(id);
  const std::string name = dotted(file, id);
  if (e.kind == ExpressionKind::kName) {
    const auto local = frame.names.find(name);
    if (local != frame.names.end()) {
      host::charge_work(1 + local->second.text.size() / 16);
      return local->second;
    }
    if (name == "inf") return Value::of(std::numeric_limits<double>::infinity());
    if (name == "nan") return Value::of(std::numeric_limits<double>::quiet_NaN());
  }
  if (name.compare(0, 10, "CONSTANTS.") == 0) return constant(name.substr(10), file.place(e.line));
  const bool known = name.compare(0, 10, "__torch__.") == 0 || name.compare(0, 6, "torch.") == 0 ||
                     name.compare(0, 4, "ops.") == 0;
  if (!known) graph::fail_corrupt(file.place(e.line), "'" + name + "' is not defined");
  // A value of an enumeration: __torch__.Colour.RED
  const size_t dot = name.rfind('.');
  if (name[0] == '_' && dot != std::string::npos) {
    const Library::Found found = library_.find(name.substr(0, dot));
    if (found.type && found.type->base == "Enum")
      for (const Field& field : found.type->fields)
        if (field.name == name.substr(dot + 1) && field.value != kNone) {
          Frame inside;
          inside.file = found.file;
          return evaluate(inside, field.value);
        }
  }
  auto named = std::make_shared<Named>();
  named->name = name;
  return Value::of(std::shared_ptr<aten::Foreign>(named));
}

Value Interpreter::constant(const std::string& name, const std::string& place) {
  size_t number = 0, used = 1;
  for (; used < name.size() && name[used] >= '0' && name[used] <= '9' && number < 1000000000;
       used++)
    number = number * 10 + size_t(name[used] - '0');
  const size_t count = constants_.items ? constants_.items->size() : 0;
  if (name.size() < 2 || name[0] != 'c' || used != name.size() || number >= count)
    graph::fail_corrupt(place, "refers to CONSTANTS." + name + ", the archive has " +
                                   std::to_string(count) + " constants");
  Value made = (*constants_.items)[number];
  // x * 2.0, traced
  if (made.is(Kind::kTensor) && builder_.rank(builder_.read(made.tensor)) == 0) made.wrapped = true;
  return made;
}

Value Interpreter::attribute(const Value& owner, const std::string& name,
                             const std::string& place) {
  if (owner.is(Kind::kUnknown)) return owner;
  if (const Object* object = as<Object>(owner)) {
    const auto found = object->attributes.find(name);
    if (found != object->attributes.end()) return found->second;
    const Library::Found type = library_.find(object->type);
    if (type.type) {
      for (const Field& field : type.type->fields)
        if (field.name == name && field.value != kNone) {
          Frame inside;
          inside.file = type.file;
          return evaluate(inside, field.value);
        }
    }
  }
  if (const Named* named = as<Named>(owner)) {
    auto made = std::make_shared<Named>();
    made->name = named->name + "." + name;
    return Value::of(std::shared_ptr<aten::Foreign>(made));
  }
  graph::fail_corrupt(place, describe(owner) + " has no '" + name + "'");
}

/// Of an object that the program made itself only the slot is known.
std::string Interpreter::slot_name(const Value& owner, int64_t slot) {
  const Object* const object = as<Object>(owner);
  if (object && slot >= 0 && uint64_t(slot) < object->slots.size())
    return object->slots[size_t(slot)];
  return "slot " + std::to_string(slot);
}

Value Interpreter::call_by_place(Frame& frame, const Expression& e) {
  const std::vector<std::string> wanted = std::move(wanted_);
  const File& file = *frame.file;
  Arguments given;
  given.overload = file.text(file.at(file.item(e, 1)));
  for (uint32_t i = 2; i < e.count; i++)
    given.positional.push_back(evaluate(frame, file.item(e, i)));
  wanted_ = wanted;
  Value made = call_operator(frame, file.text(file.at(file.item(e, 0))), std::move(given), e.line);
  wanted_.clear();
  return made;
}

Value Interpreter::index(const Value& owner, const Value& index, const std::string& place) {
  if (owner.is(Kind::kUnknown)) return owner;
  if (index.is(Kind::kUnknown)) return index;
  if (const Dictionary* dictionary = as<Dictionary>(owner)) {
    host::charge_work(dictionary->items.size());
    for (const auto& [key, value] : dictionary->items)
      if (same(key, index)) return value;
    throw Raised{place, "a dictionary has no key " + describe(index)};
  }
  if (!owner.items && !owner.is(Kind::kString))
    graph::fail_corrupt(place, "takes an item of " + describe(owner));
  const Value number = to_integer(index, place);
  const std::optional<int64_t> at = number.is(Kind::kInt) ? number.integer.value() : std::nullopt;
  if (!at)
    refuse("__getitem__", place,
           "which item of " + describe(owner) + " is taken depends on " +
               (number.is(Kind::kInt) ? number.integer.text() : "data"));
  const int64_t count = int64_t(owner.items ? owner.items->size() : owner.text.size());
  const int64_t i = *at < 0 ? *at + count : *at;
  if (i < 0 || i >= count)
    throw Raised{place, "item " + std::to_string(*at) + " of " + describe(owner)};
  return owner.items ? (*owner.items)[size_t(i)] : Value::of(owner.text.substr(size_t(i), 1));
}

Value Interpreter::slice(const Value& owner, const Value& begin, const Value& end,
                         const std::string& place) {
  if (owner.is(Kind::kUnknown)) return owner;
  if (!owner.items) graph::fail_corrupt(place, "takes a part of " + describe(owner));
  const int64_t count = int64_t(owner.items->size());
  const auto bound = [&](const Value& v, int64_t otherwise) {
    if (v.is(Kind::kNone)) return otherwise;
    const Value number = to_integer(v, place);
    const std::optional<int64_t> n = number.is(Kind::kInt) ? number.integer.value() : std::nullopt;
    if (!n) refuse("__getitem__", place, "a part of a list whose ends depend on shapes or data");
    return std::min(std::max<int64_t>(*n < 0 ? *n + count : *n, 0), count);
  };
  const int64_t from = bound(begin, 0), to = std::max(from, bound(end, count));
  std::vector<Value> items(owner.items->begin() + from, owner.items->begin() + to);
  return owner.is(Kind::kTuple) ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Interpreter::Arguments Interpreter::arguments(Frame& frame, const Expression& e) {
  const File& file = *frame.file;
  Arguments out;
  for (uint32_t i = 1; i < e.count; i++) {
    const Expression& item = file.at(file.item(e, i));
    if (item.kind == ExpressionKind::kKeyword)
      out.keywords.emplace_back(file.text(item), evaluate(frame, file.item(item, 0)));
    else
      out.positional.push_back(evaluate(frame, file.item(e, i)));
  }
  return out;
}

Value Interpreter::call(Frame& frame, ExpressionId id) {
  const std::vector<std::string> wanted = std::move(wanted_);
  wanted_.clear();
  const File& file = *frame.file;
  const Expression& e = file.at(id);
  const std::string place = file.place(e.line);
  const ExpressionId callee = file.item(e, 0);
  std::string name = dotted(file, callee);
  const std::string root = name.substr(0, name.find('.'));
  if (name.empty() || frame.names.count(root)) {
    const Expression& c = file.at(callee);
    if (c.kind == ExpressionKind::kAttribute) {
      const Value owner = evaluate(frame, file.item(c, 0));
      if (!as<Named>(owner)) return call_object(frame, owner, file.text(c), e);
      name = as<Named>(owner)->name + "." + file.text(c);
    } else {
      const Value function = evaluate(frame, callee);
      if (function.is(Kind::kUnknown)) return function;
      if (!as<Named>(function)) graph::fail_corrupt(place, "calls " + describe(function));
      name = as<Named>(function)->name;
    }
  }
  bool done = false;
  Value made = call_builtin(frame, name, e, &done);
  if (done) return made;
  if (name.compare(0, 10, "__torch__.") == 0) {
    constexpr const char* kNew = ".__new__";
    if (name.size() > 8 && name.compare(name.size() - 8, 8, kNew) == 0) {
      auto object = std::make_shared<Object>();
      object->type = name.substr(0, name.size() - 8);
      return Value::of(std::shared_ptr<aten::Foreign>(object));
    }
    const Library::Found found = library_.find(name);
    if (!found) graph::fail_corrupt(place, "'" + name + "' is not in the archive");
    if (found.type) return make_object(name, arguments(frame, e), place);
    return call_function(*found.file, *found.function, arguments(frame, e), frame.path, place);
  }
  const size_t dot = name.rfind('.');
  const std::string space = dot == std::string::npos ? "" : name.substr(0, dot);
  std::string op;
  if (space == "torch")
    op = "aten::" + name.substr(dot + 1);
  else if (space.compare(0, 4, "ops.") == 0)
    op = space.substr(4) + "::" + name.substr(dot + 1);
  else
    refuse(name, place, "the function is not known");
  Arguments given = arguments(frame, e);
  wanted_ = wanted;
  made = call_operator(frame, op, std::move(given), e.line);
  wanted_.clear();
  return made;
}

/// Whether it is of that type; nothing where the type is not known. A list is of its first item's.
static std::optional<bool> is_instance(const Value& v, const std::string& type) {
  static const std::map<std::string, Kind> kKinds = {
      {"Tensor", Kind::kTensor}, {"int", Kind::kInt},      {"float", Kind::kFloat},
      {"bool", Kind::kBool},     {"str", Kind::kString},   {"List", Kind::kList},
      {"list", Kind::kList},     {"Tuple", Kind::kTuple},  {"tuple", Kind::kTuple},
      {"None", Kind::kNone},     {"NoneType", Kind::kNone}};
  const size_t bracket = type.find('[');
  const std::string base = type.substr(0, bracket);
  if (const Object* object = as<Object>(v)) return object->type == type;
  if (base.compare(0, 10, "__torch__.") == 0) return false;
  if (base == "Dict" || base == "dict") return as<Dictionary>(v) != nullptr;
  const std::string inner =
      bracket == std::string::npos ? "" : type.substr(bracket + 1, type.size() - bracket - 2);
  if (base == "Optional") return v.is(Kind::kNone) ? true : is_instance(v, inner);
  if (base == "number") return v.is(Kind::kInt) || v.is(Kind::kFloat);
  const auto found = kKinds.find(base);
  if (found == kKinds.end()) return std::nullopt;
  if (base != "List" || !v.is(Kind::kList) || inner.empty() || v.items->empty() ||
      v.items->front().is(Kind::kUnknown))
    return v.is(found->second);
  return is_instance(v.items->front(), inner);
}

/// Functions of the language itself; types among their arguments are not evaluated.
Value Interpreter::call_builtin(Frame& frame, const std::string& name, const Expression& e,
                                bool* done) {
  const File& file = *frame.file;
  const std::string place = file.place(e.line);
  const auto argument = [&](uint32_t i) {
    if (i + 1 >= e.count) graph::fail_corrupt(place, "'" + name + "' lacks an argument");
    return file.item(e, i + 1);
  };
  *done = true;
  if (name == "annotate" || name == "unchecked_cast" || name == "ops.prim.unchecked_cast") {
    const Value v = evaluate(frame, argument(1));
    // A trace computes with sizes as tensors and takes them for numbers again.
    if (name != "annotate" || !v.is(Kind::kTensor) || type_text(file, argument(0)) != "number")
      return v;
    return graph::is_floating(builder_.dtype(builder_.read(v.tensor))) ? to_float(v, place)
                                                                       : to_integer(v, place);
  }
  if (name == "uninitialized") return Value::none();
  if (name == "getattr") {
    const Value owner = evaluate(frame, argument(0)), key = evaluate(frame, argument(1));
    return attribute(owner, key.text, place);
  }
  if (name == "setattr") {
    const Value owner = evaluate(frame, argument(0)), key = evaluate(frame, argument(1));
    set_attribute(owner, key.text, evaluate(frame, argument(2)), place);
    return Value::none();
  }
  if (name == "int") return to_integer(evaluate(frame, argument(0)), place);
  if (name == "float") {
    const Value v = evaluate(frame, argument(0));
    if (v.is(Kind::kString)) {
      const bool minus = !v.text.empty() && v.text[0] == '-';
      const std::string text = minus ? v.text.substr(1) : v.text;
      const double size = text == "inf" ? std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
      if (text == "inf" || text == "nan") return Value::of(minus ? -size : size);
      refuse("float", place, "of the text '" + v.text + "'");
    }
    return to_float(v, place);
  }
  if (name == "bool") return to_truth(evaluate(frame, argument(0)), place);
  if (name == "str") return Value::of(describe(evaluate(frame, argument(0))));
  if (name == "isinstance") {
    const Value v = evaluate(frame, argument(0));
    const std::string type = type_text(file, argument(1));
    const auto is = [&](const std::string& t) {
      const std::optional<bool> known = is_instance(v, t);
      if (!known) refuse(name, place, "of the type " + t + " is not supported");
      return *known;
    };
    if (v.is(Kind::kUnknown)) return v;
    if (type.find(", ") == std::string::npos || type.find('[') != std::string::npos)
      return Value::of(is(type));
    for (size_t at = 0; at < type.size();) {
      const size_t end = std::min(type.find(", ", at), type.size());
      if (is(type.substr(at, end - at))) return Value::of(true);
      at = end + 2;
    }
    return Value::of(false);
  }
  if (name == "print") {
    (void)arguments(frame, e);
    builder_.note(place + ": what the program prints is left out");
    return Value::none();
  }
  if (name == "fork" || name == "awaitable")
    refuse(name, place, "runs in parallel, which is not supported");
  *done = false;
  return {};
}

Value Interpreter::call_object(Frame& frame, const Value& owner, const std::string& method,
                               const Expression& e) {
  const std::string place = frame.file->place(e.line);
  if (owner.is(Kind::kUnknown)) return owner;
  const Object* const object = as<Object>(owner);
  if (!object) {
    if (as<Unreadable>(owner)) refuse(method, place, describe(owner));
    graph::fail_corrupt(place, "calls '" + method + "' of " + describe(owner));
  }
  const Library::Found found = library_.find(object->type);
  if (!found.type) {
    // A class of the library's own, written in C++ (a quantized layer's weights, say).
    refuse(object->type + "." + method, place, "the class is not in the archive");
  }
  const auto function = found.type->methods.find(method);
  if (function == found.type->methods.end())
    graph::fail_corrupt(place, "the class '" + object->type + "' has no method '" + method + "'");
  Arguments given = arguments(frame, e);
  given.positional.insert(given.positional.begin(), owner);
  const std::string path = object->path;
  return call_function(*found.file, function->second, std::move(given),
                       path.empty() ? frame.path : path, place);
}

Value Interpreter::make_object(const std::string& type, Arguments given, const std::string& place) {
  const Library::Found found = library_.find(type);
  if (found.type->base == "NamedTuple") return Value::tuple(std::move(given.positional));
  auto object = std::make_shared<Object>();
  object->type = type;
  const auto init = found.type->methods.find("__init__");
  if (init != found.type->methods.end()) {
    given.positional.insert(given.positional.begin(),
                            Value::of(std::static_pointer_cast<aten::Foreign>(object)));
    (void)call_function(*found.file, init->second, std::move(given), "", place);
  }
  return Value::of(std::shared_ptr<aten::Foreign>(object));
}

}  // namespace ingot::torchscript
