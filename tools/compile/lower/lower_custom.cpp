// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/lower_custom.cpp - Custom: a node of a plugin's operator to attributes that
// its contract can ask the plugin about.
#include <deque>
#include <mutex>

#include "runtime/op/custom.h"
#include "tools/compile/lower/lower_attributes.h"
#include "tools/graph/custom_node.h"
#include "tools/plugins/plugins.h"

namespace ingot::convert {
namespace {

/// A program's attributes are plain structs that point to what they do not hold. A conversion makes
/// few of these, and they stay as long as the plugins: until the process ends.
const graph::CustomCall& keep(graph::CustomCall call) {
  static std::mutex busy;
  static std::deque<graph::CustomCall> kept;
  const std::lock_guard<std::mutex> lock(busy);
  return kept.emplace_back(std::move(call));
}

}  // namespace

CustomAttributes custom_attributes(const graph::Node& node) {
  const graph::CustomCall& call = keep(graph::CustomCall(node));
  CustomAttributes a;
  a.domain = call.domain().c_str();
  a.name = call.name().c_str();
  // the same struct: runtime/api/custom_operators.cpp compares them
  a.list = reinterpret_cast<const CustomAttribute*>(call.attributes().data());
  a.count = uint32_t(call.attributes().size());
  KernelTable table = {};
  table.custom = plugins::handed_in();
  if (!find_custom(table, &a)) refuse_attribute(node, attr::operator_name, "no plugin has it");
  return a;
}

}  // namespace ingot::convert
