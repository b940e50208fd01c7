// SPDX-License-Identifier: Apache-2.0
// tools/import/pt2/json.h - access to JSON that anybody may have written: what is missing or of
// another kind is an error that says where.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/graph/graph.h"

namespace ingot::pt2 {

using Json = nlohmann::json;

[[noreturn]] inline void corrupt(const std::string& what) { graph::fail_corrupt(what); }

/// @throws host::Failure when it is no JSON, has a key twice, or nests deeper than any program
/// does.
inline Json parse(const std::vector<uint8_t>& text) {
  constexpr int kDeepest = 200;
  return checkpoint::parse_sorted_json({reinterpret_cast<const char*>(text.data()), text.size()},
                                       "its program", kDeepest);
}
inline const Json& field(const Json& object, const char* name) {
  static const Json kNothing;
  if (!object.is_object())
    corrupt(std::string("expected an object with '") + name + "', found " + object.type_name());
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}
inline const Json& object(const Json& from, const char* name) {
  const Json& found = field(from, name);
  if (!found.is_object())
    corrupt(std::string("'") + name + "' is " + found.type_name() + ", expected an object");
  return found;
}
inline const Json& array(const Json& from, const char* name) {
  const Json& found = field(from, name);
  if (!found.is_array())
    corrupt(std::string("'") + name + "' is " + found.type_name() + ", expected a list");
  return found;
}
inline std::string text(const Json& from, const char* name) {
  const Json& found = field(from, name);
  if (!found.is_string())
    corrupt(std::string("'") + name + "' is " + found.type_name() + ", expected a text");
  return found.get<std::string>();
}
inline int64_t integer(const Json& value, const char* what) {
  if (!value.is_number_integer())
    corrupt(std::string(what) + " is " + value.type_name() + ", expected a whole number");
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX)) return INT64_MAX;
  return value.get<int64_t>();
}
/// Of a value: itself, or its name.
inline std::string name_in(const Json& value) {
  return value.is_string() ? value.get<std::string>() : text(value, "name");
}
/// A tagged union: {"as_tensor": ...}. The tag, and what it holds.
inline std::pair<std::string, const Json*> tagged(const Json& value) {
  if (!value.is_object() || value.size() != 1) corrupt("an argument is no tagged value");
  return {value.begin().key(), &value.begin().value()};
}

}  // namespace ingot::pt2
