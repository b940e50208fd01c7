// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_ml_trees.cpp - ensembles of decision trees of ai.onnx.ml, in their older
// and their newer form.
#include <algorithm>
#include <cmath>
#include <map>

#include "tools/import/onnx/ml_forest.h"
#include "tools/import/onnx/tensor.h"

namespace ingot::onnx {
namespace {

std::vector<double> tensor_or_floats(Call& call, Text tensor, Text floats, DType* dtype) {
  if (const Attribute* given = call.attribute(tensor, kAttributeTensor)) {
    try {
      const graph::Constant read =
          read_tensor(*given->tensor, std::string(tensor), call.translator().external());
      if (read.dtype == DType::kF64) *dtype = DType::kF64;
      return graph::read_numbers(read);
    } catch (const TensorRefused& refused) {
      call.refuse(std::string(tensor), refused.why);
      return {};
    }
  }
  return floats.empty() ? std::vector<double>()
                        : call.numbers(floats).value_or(std::vector<double>());
}

Branch branch_of(Call& call, Text mode) {
  static const std::map<Text, Branch> kModes = {
      {"BRANCH_LEQ", Branch::kLeq}, {"BRANCH_LT", Branch::kLt}, {"BRANCH_GTE", Branch::kGte},
      {"BRANCH_GT", Branch::kGt},   {"BRANCH_EQ", Branch::kEq}, {"BRANCH_NEQ", Branch::kNeq},
      {"LEAF", Branch::kLeaf}};
  const auto found = kModes.find(mode);
  if (found == kModes.end())
    call.translator().corrupt(describe(call.node()) + ": has a node of mode '" + std::string(mode) +
                              "'");
  return found->second;
}

/// The older forms: nodes are named by tree and node.
struct NamedTrees {
  std::map<std::pair<int64_t, int64_t>, int64_t> ids;  // tree, node: of the forest
  std::vector<int64_t> roots;
};
NamedTrees read_named(Call& call, Forest& forest, const std::vector<double>& values) {
  static const std::vector<int64_t> kNone;
  const auto list = [&](const char* name) { return call.integers(name).value_or(kNone); };
  const std::vector<int64_t> trees = list("nodes_treeids"), nodes = list("nodes_nodeids"),
                             features = list("nodes_featureids"), yes = list("nodes_truenodeids"),
                             no = list("nodes_falsenodeids"),
                             missing = list("nodes_missing_value_tracks_true");
  const Attribute* modes = call.attribute("nodes_modes", kAttributeStrings);
  const size_t count = nodes.size();
  if (count == 0 || trees.size() != count || features.size() != count || yes.size() != count ||
      no.size() != count || values.size() != count || !modes || modes->strings.size() != count ||
      (!missing.empty() && missing.size() != count))
    call.translator().corrupt(describe(call.node()) + ": its lists of nodes differ in length");
  NamedTrees named;
  std::map<int64_t, bool> seen;
  std::vector<int64_t> ids;
  for (size_t i = 0; i < count; i++) {
    ids.push_back(forest.add_leaf());
    if (!named.ids.emplace(std::pair{trees[i], nodes[i]}, ids[i]).second)
      call.translator().corrupt(describe(call.node()) + ": a node is listed twice");
    if (!seen[trees[i]]) named.roots.push_back(ids[i]);  // the first of a tree is its root
    seen[trees[i]] = true;
  }
  for (size_t i = 0; i < count; i++) {
    const Branch mode = branch_of(call, modes->strings[i]);
    if (mode == Branch::kLeaf) continue;
    const auto follow = [&](int64_t node) {
      const auto found = named.ids.find({trees[i], node});
      if (found == named.ids.end())
        call.translator().corrupt(describe(call.node()) + ": node " + std::to_string(nodes[i]) +
                                  " of tree " + std::to_string(trees[i]) + " leads to " +
                                  std::to_string(node) + ", which is not there");
      return found->second;
    };
    if (features[i] < 0)
      call.translator().corrupt(describe(call.node()) + ": a node reads a negative feature");
    forest.compare(ids[i], mode, features[i], values[i], follow(yes[i]), follow(no[i]),
                   !missing.empty() && missing[i] != 0);
  }
  return named;
}

/// Weights of leaves by tree and node; gives the class or target of each.
std::vector<int64_t> read_leaves(Call& call, Forest& forest, const NamedTrees& named, bool classes,
                                 const std::vector<double>& weights) {
  static const std::vector<int64_t> kNone;
  const auto list = [&](const char* name) { return call.integers(name).value_or(kNone); };
  const std::vector<int64_t> trees = list(classes ? "class_treeids" : "target_treeids"),
                             nodes = list(classes ? "class_nodeids" : "target_nodeids"),
                             ids = list(classes ? "class_ids" : "target_ids");
  if (trees.size() != nodes.size() || ids.size() != nodes.size() || weights.size() != nodes.size())
    call.translator().corrupt(describe(call.node()) + ": its lists of leaves differ in length");
  for (size_t i = 0; i < nodes.size(); i++) {
    const auto found = named.ids.find({trees[i], nodes[i]});
    if (found == named.ids.end())
      call.translator().corrupt(describe(call.node()) +
                                ": a weight stands at a node that is not "
                                "there");
    forest.weigh(found->second, ids[i], weights[i]);
  }
  return ids;
}

/// Numbers of the older forms. `tensor`, `floats`: names of the leaves' weights.
struct OlderNumbers {
  DType dtype = DType::kF32;
  std::vector<double> values, weights, base;
};
OlderNumbers read_older_numbers(Call& call, Text tensor, Text floats) {
  call.numbers("nodes_hitrates");  // of no use to inference
  call.attribute("nodes_hitrates_as_tensor", kAttributeTensor);
  OlderNumbers n;
  if (call.translator().model.values[size_t(call.input(0))].dtype == DType::kF64)
    n.dtype = DType::kF64;  // thresholds in f32 are compared with it as they are
  n.values = tensor_or_floats(call, "nodes_values_as_tensor", "nodes_values", &n.dtype);
  n.weights = tensor_or_floats(call, tensor, floats, &n.dtype);
  n.base = tensor_or_floats(call, "base_values_as_tensor", "base_values", &n.dtype);
  return n;
}

void tree_regressor(Call& call) {
  MlEmitter ml(call);
  const auto [dtype, values, weights, base] =
      read_older_numbers(call, "target_weights_as_tensor", "target_weights");
  const std::string aggregate = call.text("aggregate_function", "SUM");
  if (aggregate != "SUM" && aggregate != "AVERAGE" && aggregate != "MIN" && aggregate != "MAX")
    return call.refuse("aggregate_function", "'" + aggregate + "' is not known");
  Forest forest(ml, dtype, std::max<int64_t>(call.integer("n_targets", 1), 1));
  const NamedTrees named = read_named(call, forest, values);
  read_leaves(call, forest, named, false, weights);
  ValueId y = forest.run(ml.cast(call.input(0), dtype), named.roots, aggregate);
  if (!base.empty()) y = ml(op::Add, {y, ml.floats({int64_t(base.size())}, base, dtype)});
  y = ml.cast(post_transform(ml, y, call.text("post_transform", "NONE")), DType::kF32);
  ml.give(0, y);
}

void tree_classifier(Call& call) {
  MlEmitter ml(call);
  const auto [dtype, values, weights, base] =
      read_older_numbers(call, "class_weights_as_tensor", "class_weights");
  ClassLabels labels(ml);
  if (labels.count() < 1)
    call.translator().corrupt(describe(call.node()) + ": lacks its class labels");
  Forest forest(ml, dtype, labels.count());
  const NamedTrees named = read_named(call, forest, values);
  const std::vector<int64_t> ids = read_leaves(call, forest, named, true, weights);
  const std::string transform = call.text("post_transform", "NONE");
  ValueId scores = forest.run(ml.cast(call.input(0), dtype), named.roots, "SUM");
  const bool single = std::all_of(ids.begin(), ids.end(), [&](int64_t id) { return id == ids[0]; });
  if (labels.count() == 2 && single && !ids.empty() && base.size() < 2) {
    // one column of scores: that of the second class, whichever the leaves name
    ValueId s = ml(op::Gather, {scores, ml.integers({1}, {ids[0]})}, {{attr::axis, int64_t(1)}});
    if (!base.empty()) s = ml(op::Add, {s, ml.floats({1}, base, dtype)});
    const bool positive =
        std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; });
    const ValueId flat = ml(op::Squeeze, {s}, {{attr::axes, std::vector<int64_t>{1}}});
    ml.give(0, labels.of_two(ml(op::Greater, {flat, ml.number(positive ? 0.5 : 0, dtype)})));
    if (ids[0] == 1) {
      ml.give(1, ml.cast(post_transform(ml, scores, transform), DType::kF32));
      return;
    }
    ValueId first = positive ? ml(op::Sub, {ml.number(1, dtype), s}) : ml(op::Neg, {s}), second = s;
    if (transform == "LOGISTIC")
      first = ml(op::Sigmoid, {ml(op::Neg, {s})}), second = ml(op::Sigmoid, {s});
    if (transform == "PROBIT")
      return ml.give(1, ml.cast(post_transform(ml, s, transform), DType::kF32));
    ml.give(1, ml.cast(ml(op::Concat, {first, second}, {{attr::axis, int64_t(1)}}), DType::kF32));
    return;
  }
  if (!base.empty() && int64_t(base.size()) != labels.count())
    call.translator().corrupt(describe(call.node()) + ": has " + std::to_string(base.size()) +
                              " base values for " + std::to_string(labels.count()) + " classes");
  if (!base.empty()) scores = ml(op::Add, {scores, ml.floats({int64_t(base.size())}, base, dtype)});
  ml.give(0, labels.of_largest(scores));
  ml.give(1, ml.cast(post_transform(ml, scores, transform), DType::kF32));
}

/// The newer form: inner nodes and leaves are two lists, which refer to each other by place.
void tree_ensemble(Call& call) {
  MlEmitter ml(call);
  DType dtype = DType::kF32;
  call.attribute("nodes_hitrates", kAttributeTensor);
  static const std::vector<int64_t> kNone;
  const auto list = [&](const char* name) { return call.integers(name).value_or(kNone); };
  const std::vector<double> splits = tensor_or_floats(call, "nodes_splits", "", &dtype),
                            modes = tensor_or_floats(call, "nodes_modes", "", &dtype),
                            weights = tensor_or_floats(call, "leaf_weights", "", &dtype),
                            members = tensor_or_floats(call, "membership_values", "", &dtype);
  const std::vector<int64_t> features = list("nodes_featureids"), yes = list("nodes_truenodeids"),
                             no = list("nodes_falsenodeids"), yes_leaf = list("nodes_trueleafs"),
                             no_leaf = list("nodes_falseleafs"),
                             missing = list("nodes_missing_value_tracks_true"),
                             roots = list("tree_roots"), targets = list("leaf_targetids");
  const size_t count = splits.size();
  if (modes.size() != count || features.size() != count || yes.size() != count ||
      no.size() != count || yes_leaf.size() != count || no_leaf.size() != count ||
      (!missing.empty() && missing.size() != count) || targets.size() != weights.size() ||
      roots.empty())
    call.translator().corrupt(describe(call.node()) + ": its lists differ in length");
  Forest forest(ml, dtype, std::max<int64_t>(call.integer("n_targets", 1), 1));
  for (size_t i = 0; i < count + weights.size(); i++) forest.add_leaf();
  for (size_t i = 0; i < weights.size(); i++)
    forest.weigh(int64_t(count + i), targets[i], weights[i]);
  const auto follow = [&](int64_t id, bool leaf) {
    if (id < 0 || id >= int64_t(leaf ? weights.size() : count))
      call.translator().corrupt(describe(call.node()) + ": a node leads to " + std::to_string(id) +
                                ", which is not there");
    return leaf ? int64_t(count) + id : id;
  };
  size_t member = 0;
  for (size_t i = 0; i < count; i++) {
    const int64_t taken = follow(yes[i], yes_leaf[i] != 0), other = follow(no[i], no_leaf[i] != 0);
    const bool nan_taken = !missing.empty() && missing[i] != 0;
    static constexpr Branch kModes[] = {Branch::kLeq, Branch::kLt, Branch::kGte,
                                        Branch::kGt,  Branch::kEq, Branch::kNeq};
    const int64_t mode = modes[i] >= 0 && modes[i] <= 6 ? int64_t(modes[i]) : -1;
    if (features[i] < 0 || mode < 0)
      call.translator().corrupt(describe(call.node()) +
                                ": a node reads a negative feature or has "
                                "mode " +
                                std::to_string(mode));
    if (mode < 6) {
      forest.compare(int64_t(i), kModes[mode], features[i], splits[i], taken, other, nan_taken);
      continue;
    }
    std::vector<double> set;  // it ends with NaN
    for (; member < members.size() && !std::isnan(members[member]); member++)
      set.push_back(members[member]);
    forest.find(int64_t(i), features[i], std::move(set), taken, other, nan_taken);
    member++;
  }
  // a tree of one leaf is a node whose both ways lead to it
  static const char* const kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static const char* const kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                            "PROBIT"};
  const int64_t aggregate = call.integer("aggregate_function", 1),
                transform = call.integer("post_transform", 0);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
    call.translator().corrupt(describe(call.node()) +
                              ": aggregate_function or post_transform is not known");
  for (const int64_t root : roots) follow(root, false);
  const ValueId y = forest.run(ml.cast(call.input(0), dtype), roots, kAggregates[aggregate]);
  ml.give(0, post_transform(ml, y, kTransforms[transform]));
}

}  // namespace

void add_ml_trees(TranslateTable& table) {
  table["TreeEnsembleRegressor"] = {1, 1, tree_regressor};
  table["TreeEnsembleClassifier"] = {1, 1, tree_classifier};
  table["TreeEnsemble"] = {1, 1, tree_ensemble};
}

}  // namespace ingot::onnx
