// SPDX-License-Identifier: Apache-2.0
// tools/serve/protocol/chat_values.h - JSON as the values of a chat template.
#pragma once
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/include/ingot/text.h"
#include "tools/serve/core/serve_error.h"

namespace ingot::serve {

/// Holds the lists; texts lie in the JSON, which has to outlive it.
class ChatValues {
 public:
  ingot_value of(const nlohmann::ordered_json& json) {
    using Kind = nlohmann::ordered_json::value_t;
    ingot_value value = {INGOT_VALUE_NONE, 0, {}};
    switch (json.type()) {
      case Kind::boolean:
        value.kind = INGOT_VALUE_BOOLEAN;
        value.as.integer = json.get<bool>();
        break;
      case Kind::number_unsigned:
        if (json.get<uint64_t>() > uint64_t{INT64_MAX})
          refuse(Refusal::kInvalid, "a chat template takes integers of 64 bits, found " +
                                        std::to_string(json.get<uint64_t>()));
        [[fallthrough]];
      case Kind::number_integer:
        value.kind = INGOT_VALUE_INTEGER;
        value.as.integer = json.get<int64_t>();
        break;
      case Kind::number_float:
        value.kind = INGOT_VALUE_FLOAT;
        value.as.number = json.get<double>();
        break;
      case Kind::string: return text_of(json.get_ref<const std::string&>());
      case Kind::array: {
        std::vector<ingot_value> items;
        for (const auto& item : json) items.push_back(of(item));
        return list_of(INGOT_VALUE_LIST, json.size(), std::move(items));
      }
      case Kind::object: {
        std::vector<ingot_value> items;
        for (const auto& [key, item] : json.items()) {
          items.push_back(text_of(key));
          items.push_back(of(item));
        }
        return list_of(INGOT_VALUE_DICT, json.size(), std::move(items));
      }
      default: break;
    }
    return value;
  }

 private:
  static ingot_value text_of(const std::string& text) {
    ingot_value value = {INGOT_VALUE_TEXT, uint32_t(text.size()), {}};
    value.as.text = text.data();
    return value;
  }
  ingot_value list_of(ingot_value_kind kind, size_t count, std::vector<ingot_value> items) {
    ingot_value value = {kind, uint32_t(count), {}};
    value.as.items = lists_.emplace_back(std::move(items)).data();
    return value;
  }
  std::deque<std::vector<ingot_value>> lists_;
};

}  // namespace ingot::serve
