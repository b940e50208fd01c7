// SPDX-License-Identifier: Apache-2.0
#include "tools/import/pt2/inputs.h"

#include <algorithm>

#include "tools/files/work_budget.h"

namespace ingot::pt2 {

using graph::Dim;
using graph::Dims;
using graph::fail_mismatch;

void Inputs::bind(const std::string& symbol, const Dim& to, const std::string& where) {
  const auto [found, added] = bound_.emplace(symbol, to);
  if (!added && found->second != to)
    fail_mismatch(where, "dimension '" + symbol + "' is bound to " + found->second.text() +
                             " and to " + to.text());
  const auto stated = stated_.find(symbol);
  const auto n = to.value();
  if (stated == stated_.end() || !n) return;
  if (*n < stated->second.low || (stated->second.high != 0 && *n > stated->second.high))
    fail_mismatch(where, "dimension '" + symbol + "' is bound to " + to.text() +
                             ", the program was exported for " +
                             std::to_string(stated->second.low) + ".." +
                             (stated->second.high ? std::to_string(stated->second.high) : ""));
}

Dim Inputs::free_symbol(const std::string& where, const std::string& name) {
  symbols_.insert(name);
  graph::SymbolBounds bounds;
  if (const auto stated = stated_.find(name); stated != stated_.end()) bounds = stated->second;
  const int64_t least = stated_.count(name) ? std::max<int64_t>(bounds.low, 0) : 0;
  bounds.low = options_.may_be_empty.count(name) ? 0 : std::max<int64_t>(bounds.low, 1);
  if (const auto asked = options_.dims.find(name); asked != options_.dims.end()) {
    if (asked->second.low == asked->second.high) {
      bind(name, Dim(asked->second.low), where);
      return Dim(asked->second.low);
    }
    if (asked->second.low < least ||
        (bounds.high != 0 && (asked->second.high == 0 || asked->second.high > bounds.high)))
      fail_mismatch(where, "--dim gives '" + name +
                               "' bounds that the program was not exported for, which are " +
                               std::to_string(bounds.low) + ".." +
                               (bounds.high ? std::to_string(bounds.high) : ""));
    bounds = asked->second;
  }
  model_.symbols[name] = bounds;
  return Dim::symbol(name, bounds.low, bounds.high);
}

Dim Inputs::resolved(const std::string& where, const Dim& declared, const Dim* wanted) {
  if (declared.is_static()) {
    if (wanted && wanted->is_static() && *wanted != declared)
      fail_mismatch(where, "the program was exported for " + declared.text() +
                               ", --input-shape says " + wanted->text() +
                               "; export it with a dynamic dimension there");
    return declared;
  }
  const std::vector<std::string> symbols = declared.symbols();
  if (symbols.size() == 1 && declared == Dim::symbol(symbols[0])) {
    if (wanted && wanted->is_static()) {
      symbols_.insert(symbols[0]);
      bind(symbols[0], *wanted, where);
      return *wanted;
    }
    return free_symbol(where, symbols[0]);
  }
  std::map<std::string, Dim> by;
  for (const std::string& symbol : symbols)
    by[symbol] = bound_.count(symbol) ? bound_.at(symbol) : free_symbol(where, symbol);
  const Dim made = declared.substitute(by);
  if (wanted && wanted->is_static() && made != *wanted)
    fail_mismatch(where, "is " + made.text() + ", --input-shape says " + wanted->text() +
                             "; bind its symbols with --dim");
  return made;
}

graph::ValueId Inputs::declare(const std::string& name, DType dtype, Dims dims) {
  inputs_.insert(name);
  const auto given = options_.input_shapes.find(name);
  if (given != options_.input_shapes.end() && given->second.size() != dims.size())
    fail_mismatch(file_, "input '" + name + "' has " + std::to_string(dims.size()) +
                             " dimensions, --input-shape gives " +
                             std::to_string(given->second.size()));
  for (size_t axis = 0; axis < dims.size(); axis++) {
    const std::string where = file_ + ": input '" + name + "' dimension " + std::to_string(axis);
    dims[axis] = resolved(where, dims[axis],
                          given == options_.input_shapes.end() ? nullptr : &given->second[axis]);
  }
  const graph::ValueId id = model_.add_value(name, dtype);
  model_.values[size_t(id)].dims = std::move(dims);
  model_.values[size_t(id)].shape_known = true;
  model_.graph.inputs.push_back(id);
  // A symbol bound at one place is bound at every place.
  const bool is_new = bound_.size() != substituted_;
  substituted_ = bound_.size();
  const auto& inputs = model_.graph.inputs;
  for (size_t i = is_new ? 0 : inputs.size() - 1; i < inputs.size(); i++) {
    host::charge_work(1);
    for (Dim& d : model_.values[size_t(inputs[i])].dims) d = d.substitute(bound_);
  }
  for (const auto& [symbol, to] : bound_) model_.symbols.erase(symbol);
  return id;
}

void Inputs::check_options() const {
  const auto listed = [](const std::set<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
    return all;
  };
  for (const auto& [name, dims] : options_.input_shapes)
    if (!inputs_.count(name))
      fail_mismatch(file_, "--input-shape names '" + name +
                               "', which is no input; the inputs are " + listed(inputs_));
  for (const auto& [name, bounds] : options_.dims)
    if (!symbols_.count(name))
      fail_mismatch(file_, "--dim " + name +
                               ": the program has no dynamic dimension of that name; " +
                               (symbols_.empty() ? "all of its dimensions are fixed"
                                                 : "it has " + listed(symbols_)));
}

}  // namespace ingot::pt2
