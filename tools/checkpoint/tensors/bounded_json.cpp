// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/tensors/bounded_json.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "tools/files/failure.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

using Ordered = nlohmann::ordered_json;
using Sorted = nlohmann::json;
using Members = std::vector<std::pair<const std::string, Ordered>>;  // what ordered_map is

const std::string* key_twice(const Ordered::object_t& object) {
  const Members& members = object;
  std::vector<const std::string*> keys;
  keys.reserve(members.size());
  for (const auto& member : members) keys.push_back(&member.first);
  std::sort(keys.begin(), keys.end(), [](auto* a, auto* b) { return *a < *b; });
  const auto twice =
      std::adjacent_find(keys.begin(), keys.end(), [](auto* a, auto* b) { return *a == *b; });
  return twice == keys.end() ? nullptr : *twice;
}

/// Builds values as they come. Members in the order of the file are put behind one another, and
/// equal keys are looked for at the end of their object.
template <class Json>
class Builder : public nlohmann::json_sax<Json> {
 public:
  using Base = nlohmann::json_sax<Json>;
  Json root;
  std::string error;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(typename Base::number_integer_t value) override { return add(value); }
  bool number_unsigned(typename Base::number_unsigned_t value) override { return add(value); }
  bool number_float(typename Base::number_float_t value, const std::string&) override {
    return add(value);
  }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(typename Base::binary_t&) override { return false; }  // is in no text
  bool start_object(std::size_t) override { return add(Json::object(), true); }
  bool start_array(std::size_t) override { return add(Json::array(), true); }
  bool key(std::string& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override {
    if constexpr (std::is_same_v<Json, Ordered>)
      if (const std::string* twice =
              key_twice(open_.back()->template get_ref<Ordered::object_t&>()))
        return refuse_key(*twice);
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& why) override {
    error = why.what();
    return false;
  }

 private:
  /// A value that is open is the last of what it lies in, which gets no other before it is closed:
  /// pointers stay valid.
  bool add(Json value, bool opens = false) {
    Json* made = &root;
    if (open_.empty()) {
      root = std::move(value);
    } else if (open_.back()->is_array()) {
      auto& items = open_.back()->template get_ref<typename Json::array_t&>();
      items.push_back(std::move(value));
      made = &items.back();
    } else {
      auto& members = open_.back()->template get_ref<typename Json::object_t&>();
      if constexpr (std::is_same_v<Json, Ordered>) {
        static_cast<Members&>(members).emplace_back(std::move(key_), std::move(value));
        made = &members.back().second;
      } else {
        const auto [place, is_new] = members.try_emplace(std::move(key_), std::move(value));
        if (!is_new) return refuse_key(place->first);
        made = &place->second;
      }
    }
    if (opens) open_.push_back(made);
    return true;
  }

  bool refuse_key(const std::string& name) {
    error = "key '" + name + "' is there twice";
    return false;
  }

  std::vector<Json*> open_;
  std::string key_;
};

template <class Json>
Json parse_bounded(std::string_view text, const std::string& where, int most_depth) {
  check_json_bounds(text, where, most_depth);
  Builder<Json> builder;
  try {
    if (Json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
  } catch (const nlohmann::json::exception& error) {
    builder.error = error.what();
  }
  host::fail(host::Exit::kCorrupt, where + ": is no sound JSON: " + builder.error);
}

}  // namespace

void check_json_bounds(std::string_view text, const std::string& where, int most_depth) {
  int depth = 0;
  bool quoted = false;
  uint64_t values = 1;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        i++;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      values++;
      if (++depth > most_depth)
        host::fail(host::Exit::kCorrupt,
                   where + ": nests more than " + std::to_string(most_depth) + " levels");
    } else if (c == '}' || c == ']') {
      depth--;
    } else if (c == ',') {
      values++;
    }
  }
  host::charge_work(text.size() / 16 + values);
  host::charge_metadata(values * sizeof(Members::value_type));
}

Ordered parse_bounded_json(std::string_view text, const std::string& where, int most_depth) {
  return parse_bounded<Ordered>(text, where, most_depth);
}
Sorted parse_sorted_json(std::string_view text, const std::string& where, int most_depth) {
  return parse_bounded<Sorted>(text, where, most_depth);
}

}  // namespace ingot::checkpoint
