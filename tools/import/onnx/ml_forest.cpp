// SPDX-License-Identifier: Apache-2.0
#include "tools/import/onnx/ml_forest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/op/tree_ensemble.h"

namespace ingot::onnx {
namespace {

constexpr int64_t kMaxForestNodes = int64_t(1) << 24, kMaxWeights = int64_t(1) << 27;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

int64_t Forest::add_leaf() {
  if (size() >= kMaxForestNodes) ml_.call.refuse("", "more than 2^24 nodes");
  nodes_.push_back({});
  rows_.push_back(-1);
  return size() - 1;
}

double Forest::before(double x) const {
  if (x == -kInfinity) return std::nan("");
  return dtype_ == DType::kF64 ? std::nextafter(x, -kInfinity)
                               : double(std::nextafter(float(x), -INFINITY));
}

void Forest::put(int64_t id, const Node& node) {
  nodes_[size_t(id)] = node;
  features_ = std::max(features_, node.feature + 1);
  missing_ = missing_ || node.nan_is_yes;
}

void Forest::compare(int64_t id, Branch mode, int64_t feature, double threshold, int64_t taken,
                     int64_t other, bool nan_taken) {
  if (mode == Branch::kNeq)  // no number differs from every number
    return compare(id, Branch::kEq, feature, threshold, other, taken, false);
  const int64_t nan_goes = nan_taken ? taken : other;
  const auto ask = [&](int64_t at, double limit, int64_t yes, int64_t no) {
    put(at, {feature, limit, yes, no, nan_goes == yes && yes != no});
  };
  if (std::isnan(threshold)) mode = Branch::kLeq;  // it fails for every number
  switch (mode) {
    case Branch::kLeq: return ask(id, threshold, taken, other);
    case Branch::kLt: return ask(id, before(threshold), taken, other);
    case Branch::kGt: return ask(id, threshold, other, taken);
    case Branch::kGte: return ask(id, before(threshold), other, taken);
    case Branch::kEq: {
      const int64_t second = add_leaf();
      ask(second, before(threshold), other, taken);
      put(id, {feature, threshold, second, other, nan_taken});
      return;
    }
    case Branch::kNeq:
    case Branch::kLeaf: return;
  }
}

void Forest::find(int64_t id, int64_t feature, std::vector<double> members, int64_t taken,
                  int64_t other, bool nan_taken) {
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (members.empty()) return compare(id, Branch::kLeq, feature, std::nan(""), taken, other, false);
  find_sorted(id, feature, members.data(), members.size(), taken, other, nan_taken);
}

void Forest::find_sorted(int64_t id, int64_t feature, const double* members, size_t count,
                         int64_t taken, int64_t other, bool nan_taken) {
  if (count == 1) return compare(id, Branch::kEq, feature, members[0], taken, other, nan_taken);
  const size_t half = count / 2;
  const int64_t low = add_leaf(), high = add_leaf();
  put(id, {feature, members[half - 1], low, high, false});
  find_sorted(low, feature, members, half, taken, other, nan_taken);
  find_sorted(high, feature, members + half, count - half, taken, other, nan_taken);
}

void Forest::weigh(int64_t leaf, int64_t target, double weight) {
  if (target < 0 || target >= targets_)
    ml_.call.translator().corrupt(describe(ml_.call.node()) + ": a leaf names target " +
                                  std::to_string(target) + " of " + std::to_string(targets_));
  if (rows_[size_t(leaf)] < 0) rows_[size_t(leaf)] = row_count_++;
  weights_.push_back({rows_[size_t(leaf)], target, weight});
}

int64_t Forest::deepest(const std::vector<int64_t>& roots) const {
  constexpr int32_t kNew = -2, kOpen = -1;
  std::vector<int32_t> below(nodes_.size(), kNew);
  std::vector<int64_t> open(roots.rbegin(), roots.rend());
  while (!open.empty()) {
    const int64_t id = open.back();
    const Node& node = nodes_[size_t(id)];
    int32_t& depth = below[size_t(id)];
    if (depth == kNew) {
      depth = kOpen;
      if (node.is_leaf()) depth = 0;
      for (const int64_t next : {node.yes, node.no}) {
        if (node.is_leaf()) break;
        if (below[size_t(next)] == kOpen)
          ml_.call.translator().corrupt(describe(ml_.call.node()) +
                                        ": its nodes are no trees: one is its own descendant");
        if (below[size_t(next)] == kNew) open.push_back(next);
      }
      continue;
    }
    if (depth == kOpen) depth = 1 + std::max(below[size_t(node.yes)], below[size_t(node.no)]);
    open.pop_back();
  }
  int64_t most = 0;
  for (const int64_t root : roots) most = std::max<int64_t>(most, below[size_t(root)]);
  return most;
}

ValueId Forest::packed_nodes(const std::vector<int64_t>& roots) {
  // the roots, then tree by tree and level by level the pairs of children; a node that several lead
  // to stands in several pairs, and its children once
  std::vector<int64_t> places = roots, pair(nodes_.size(), -1);
  for (const int64_t root : roots) {
    std::vector<int64_t> level = {root};
    for (size_t i = 0; i < level.size(); i++) {
      const int64_t id = level[i];
      const Node& node = nodes_[size_t(id)];
      if (node.is_leaf() || pair[size_t(id)] >= 0) continue;
      pair[size_t(id)] = int64_t(places.size());
      for (const int64_t child : {node.no, node.yes})
        places.push_back(child), level.push_back(child);
    }
  }
  const int words = tree_node_words(dtype_);
  graph::Constant packed;
  std::vector<int32_t> all((places.size() + 1) * size_t(words));  // the last one is nobody's
  for (size_t i = 0; i < places.size(); i++) {
    const int64_t id = places[i];
    const Node& node = nodes_[size_t(id)];
    int32_t* const word = &all[i * size_t(words)];
    const double threshold = node.is_leaf() ? std::nan("") : node.threshold;
    const int64_t row = rows_[size_t(id)];
    word[0] = int32_t(node.is_leaf() ? row < 0 ? row_count_ : row : node.feature);
    if (node.nan_is_yes) word[0] = int32_t(uint32_t(word[0]) | kMissingGoesOn);
    word[1] = int32_t(node.is_leaf() ? int64_t(i) : pair[size_t(id)]);
    const float narrow = float(threshold);
    if (dtype_ == DType::kF64)
      std::memcpy(word + 2, &threshold, sizeof threshold);
    else
      std::memcpy(word + 2, &narrow, sizeof narrow);
  }
  return ml_.constant(
      graph::make_constant(DType::kI32, {int64_t(places.size()) + 1, words}, all.data()));
}

/// One row for each leaf that gives something, and a last one of those that give nothing.
ValueId Forest::weight_table(double none, bool* complete) {
  const size_t given = size_t(row_count_ * targets_);
  std::vector<double> table(given + size_t(targets_), none);
  std::vector<bool> has(given, false);
  for (const Weight& weight : weights_) {
    const size_t at = size_t(weight.leaf * targets_ + weight.target);
    table[at] = (has[at] ? table[at] : 0) + weight.number;
    has[at] = true;
  }
  *complete = std::find(has.begin(), has.end(), false) == has.end();
  for (size_t i = 0; i < nodes_.size(); i++)
    if (nodes_[i].is_leaf() && rows_[i] < 0) *complete = false;
  return ml_.floats({row_count_ + 1, targets_}, table, dtype_);
}

graph::Attribute Forest::aggregate_name(const std::string& aggregate) const {
  return std::string(aggregate == "MIN" ? "min" : aggregate == "MAX" ? "max" : "sum");
}

ValueId Forest::run(ValueId x, const std::vector<int64_t>& roots, const std::string& aggregate) {
  if (targets_ > kMaxWeights / (row_count_ + 1)) {
    ml_.call.refuse("", std::to_string(row_count_) + " leaves with " + std::to_string(targets_) +
                            " weights each");
    return x;
  }
  const int64_t depth = deepest(roots);
  if (depth > int64_t(kMaxTreeDepth)) {
    ml_.call.refuse("", "a tree has " + std::to_string(depth) + " levels, at most " +
                            std::to_string(kMaxTreeDepth) + " are supported");
    return x;
  }
  bool complete = true;
  const double none = aggregate == "MIN" ? kInfinity : aggregate == "MAX" ? -kInfinity : 0;
  const ValueId weights = weight_table(none, &complete);
  const ValueId y = ml_(op::TreeEnsemble, {x, packed_nodes(roots), weights},
                        {{attr::trees, int64_t(roots.size())},
                         {attr::features, features_},
                         {attr::depth, depth},
                         {attr::aggregate, aggregate_name(aggregate)},
                         {attr::missing, int64_t(missing_)}});
  if (aggregate == "AVERAGE") return ml_(op::Div, {y, ml_.number(double(roots.size()), dtype_)});
  if (aggregate == "SUM" || complete) return y;
  const ValueId is_none = ml_(op::Equal, {y, ml_.number(none, dtype_)});
  return ml_(op::Where, {is_none, ml_.number(0, dtype_), y});
}

}  // namespace ingot::onnx
