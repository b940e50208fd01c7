// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/custom_node.h"

namespace ingot::graph {

CustomCall::CustomCall(const Node& node) {
  auto held = std::make_shared<Held>();
  held->domain = node.text(attr::domain, "");
  held->name = node.text(attr::operator_name, "");
  // the list points into the others, which grow no more once it is filled
  for (const auto& [key, attribute] : node.custom) {
    held->names.push_back(key);
    held->texts.emplace_back();
    held->integers.emplace_back();
    held->numbers.emplace_back();
    if (const auto* text = std::get_if<std::string>(&attribute)) held->texts.back() = *text;
    if (const auto* n = std::get_if<int64_t>(&attribute)) held->integers.back() = {*n};
    if (const auto* x = std::get_if<double>(&attribute)) held->numbers.back() = {*x};
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute))
      held->integers.back() = *list;
    if (const auto* list = std::get_if<std::vector<double>>(&attribute))
      held->numbers.back() = *list;
  }
  static const int64_t kNoInteger = 0;
  static const double kNoNumber = 0;
  size_t i = 0;
  for (const auto& [key, attribute] : node.custom) {
    ingot_custom_attribute made = {};
    made.name = held->names[i].c_str();
    if (std::holds_alternative<std::string>(attribute)) {
      made.text = held->texts[i].c_str();
    } else if (std::holds_alternative<double>(attribute) ||
               std::holds_alternative<std::vector<double>>(attribute)) {
      made.numbers = held->numbers[i].empty() ? &kNoNumber : held->numbers[i].data();
      made.count = uint32_t(held->numbers[i].size());
    } else {
      made.integers = held->integers[i].empty() ? &kNoInteger : held->integers[i].data();
      made.count = uint32_t(held->integers[i].size());
    }
    held->list.push_back(made);
    i++;
  }
  held_ = std::move(held);
}

}  // namespace ingot::graph
