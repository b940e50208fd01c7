// SPDX-License-Identifier: Apache-2.0
// tools/graph/custom_node.h - the node Custom: an operator of a plugin's, with the attributes that
// the source gave it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/include/ingot/ingot.h"
#include "tools/graph/graph.h"

namespace ingot::graph {

/// What the node says in attr::domain, attr::operator_name and `custom`, as the operator reads it.
/// Immutable; copies share.
class CustomCall {
 public:
  explicit CustomCall(const Node& node);
  const std::string& domain() const { return held_->domain; }
  const std::string& name() const { return held_->name; }
  const std::vector<ingot_custom_attribute>& attributes() const { return held_->list; }

 private:
  struct Held {
    std::string domain, name;
    std::vector<std::string> names, texts;
    std::vector<std::vector<int64_t>> integers;
    std::vector<std::vector<double>> numbers;
    std::vector<ingot_custom_attribute> list;
  };
  std::shared_ptr<const Held> held_;
};

}  // namespace ingot::graph
