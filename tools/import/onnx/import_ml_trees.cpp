// tools/import/onnx/import_ml_trees.cpp - ensembles of decision trees of ai.onnx.ml. Every tree is
// brought to one form: at a node x[feature] <= threshold decides between two nodes, and a leaf is
// its own successor. All trees of all rows then take one step together, as often as the deepest one
// has levels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tools/import/onnx/ml_emitter.h"
#include "tools/import/onnx/tensor.h"

namespace ingot::onnx {
namespace {

constexpr int64_t kMaxTreeNodes = int64_t(1) << 24, kMaxTreeDepth = 4096,
                  kMaxWeights = int64_t(1) << 27;

enum class Branch : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kLeaf };

struct ForestNode {
  int64_t feature = 0;
  double threshold = std::numeric_limits<double>::infinity();
  int64_t yes = 0, no = 0;  // where x <= threshold, and where not
  bool nan_is_yes = false;
};

class Forest {
 public:
  Forest(MlEmitter& m, DType d, int64_t t) : ml(m), dtype(d), targets(t) {}

  int64_t add_leaf() {
    const int64_t id = add({});
    nodes_[size_t(id)].yes = nodes_[size_t(id)].no = id;
    return id;
  }
  int64_t add(const ForestNode& node) {
    if (int64_t(nodes_.size()) >= kMaxTreeNodes) ml.call.refuse("", "more than 2^24 nodes");
    nodes_.push_back(node);
    return int64_t(nodes_.size()) - 1;
  }
  ForestNode& at(int64_t id) { return nodes_[size_t(id)]; }
  int64_t size() const { return int64_t(nodes_.size()); }

  /// The node where a comparison of any kind begins; `taken` and `other` follow it. NaN goes where
  /// `nan_taken` says, else where the comparison fails. `id`: a node to overwrite.
  void compare(int64_t id, Branch mode, int64_t feature, double threshold, int64_t taken,
               int64_t other, bool nan_taken) {
    nan_taken = nan_taken || mode == Branch::kNeq;  // no number differs from every number
    const auto put = [&](int64_t at_id, double limit, int64_t yes, int64_t no) {
      const int64_t nan_goes = nan_taken ? taken : other;
      at(at_id) = {feature, limit, yes, no, nan_goes == yes && yes != no};
    };
    switch (mode) {
      case Branch::kLeq: return put(id, threshold, taken, other);
      case Branch::kLt: return put(id, before(threshold), taken, other);
      case Branch::kGt: return put(id, threshold, other, taken);
      case Branch::kGte: return put(id, before(threshold), other, taken);
      case Branch::kEq:
      case Branch::kNeq: {
        const int64_t same = mode == Branch::kEq ? taken : other,
                      not_same = mode == Branch::kEq ? other : taken;
        const int64_t second = add({});
        put(second, before(threshold), not_same, same);
        put(id, threshold, second, not_same);
        if ((nan_taken ? taken : other) == same) {  // no number is no number's equal but by a flag
          at(id).nan_is_yes = true;
          at(second).nan_is_yes = false;
        }
        return;
      }
      case Branch::kLeaf: return;
    }
  }

  void weigh(int64_t leaf, int64_t target, double weight) {
    if (target < 0 || target >= targets)
      ml.call.translator().corrupt(describe(ml.call.node()) + ": a leaf names target " +
                                   std::to_string(target) + " of " + std::to_string(targets));
    weights_[{leaf, target}] += weight;
  }

  /// [N, targets] of x [N, F]: what the leaves hold, by `aggregate`: SUM, AVERAGE, MIN or MAX.
  ValueId run(ValueId x, const std::vector<int64_t>& roots, const std::string& aggregate) {
    if (targets > kMaxWeights / size()) {
      ml.call.refuse(
          "", std::to_string(size()) + " nodes with " + std::to_string(targets) + " weights each");
      return x;
    }
    const int64_t depth = deepest(roots);
    std::vector<int64_t> features, children;
    std::vector<double> thresholds;
    std::vector<int64_t> nan_yes;
    bool has_nan = false;
    for (const ForestNode& node : nodes_) {
      features.push_back(node.feature);
      thresholds.push_back(node.threshold);
      children.insert(children.end(), {node.no, node.yes});
      nan_yes.push_back(node.nan_is_yes);
      has_nan = has_nan || node.nan_is_yes;
    }
    const ValueId all_features = ml.integers({size()}, features),
                  all_thresholds = ml.floats({size()}, thresholds, dtype),
                  all_children = ml.integers({2 * size()}, children),
                  all_nan = ml.integers({size()}, nan_yes, DType::kBool);
    const MlEmitter::Attributes first = {{"axis", int64_t(0)}}, second = {{"axis", int64_t(1)}};
    ValueId at = ml.integers({int64_t(roots.size())}, roots);
    for (int64_t level = 0; level < std::max<int64_t>(depth, 1); level++) {
      const ValueId feature = ml("Gather", {all_features, at}, first);
      const ValueId value = level == 0 ? ml("Gather", {x, feature}, second)
                                       : ml("GatherElements", {x, feature}, second);
      ValueId yes = ml("LessOrEqual", {value, ml("Gather", {all_thresholds, at}, first)});
      if (has_nan)
        yes =
            ml("Or", {yes, ml("And", {ml("IsNaN", {value}), ml("Gather", {all_nan, at}, first)})});
      const ValueId place = ml("Add", {ml("Add", {at, at}), ml.cast(yes, DType::kI64)});
      at = ml("Gather", {all_children, place}, first);
    }
    return aggregated(ml("Gather", {weight_table(aggregate), at}, first), int64_t(roots.size()),
                      aggregate);
  }

  MlEmitter& ml;
  const DType dtype;
  const int64_t targets;

 private:
  double before(double x) const {
    return dtype == DType::kF64 ? std::nextafter(x, -std::numeric_limits<double>::infinity())
                                : double(std::nextafter(float(x), -INFINITY));
  }
  int64_t deepest(const std::vector<int64_t>& roots) const {
    std::vector<std::pair<int64_t, int64_t>> open;
    for (const int64_t root : roots) open.push_back({root, 0});
    int64_t most = 0, walked = 0;
    while (!open.empty()) {
      const auto [id, depth] = open.back();
      open.pop_back();
      const ForestNode& node = nodes_[size_t(id)];
      if (node.yes == id && node.no == id) continue;
      most = std::max(most, depth + 1);
      if (depth > kMaxTreeDepth || ++walked > 8 * kMaxTreeNodes)
        ml.call.translator().corrupt(describe(ml.call.node()) +
                                     ": its nodes are no trees: one is its own descendant");
      open.push_back({node.yes, depth + 1}), open.push_back({node.no, depth + 1});
    }
    return most;
  }
  static bool is_extreme(const std::string& aggregate) {
    return aggregate == "MIN" || aggregate == "MAX";
  }
  ValueId weight_table(const std::string& aggregate) {
    constexpr double kMaxNumber = std::numeric_limits<double>::infinity();
    const double none = aggregate == "MIN" ? kMaxNumber : aggregate == "MAX" ? -kMaxNumber : 0;
    std::vector<double> table(size_t(size() * targets), none);
    for (const auto& [place, weight] : weights_)
      table[size_t(place.first * targets + place.second)] = weight;
    return ml.floats({size(), targets}, table, dtype);
  }
  ValueId aggregated(ValueId leaves, int64_t trees, const std::string& aggregate) {
    if (aggregate == "SUM") return ml.over("ReduceSum", leaves, 1, false);
    if (aggregate == "AVERAGE")
      return ml("Div", {ml.over("ReduceSum", leaves, 1, false), ml.number(double(trees), dtype)});
    const ValueId most = ml.over(aggregate == "MIN" ? "ReduceMin" : "ReduceMax", leaves, 1, false);
    const ValueId is_none =
        ml("GreaterOrEqual",
           {ml("Abs", {most}), ml.number(std::numeric_limits<double>::infinity(), dtype)});
    return ml("Where", {is_none, ml.number(0, dtype), most});
  }

  std::vector<ForestNode> nodes_;
  std::map<std::pair<int64_t, int64_t>, double> weights_;
};

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
  n.values = tensor_or_floats(call, "nodes_values_as_tensor", "nodes_values", &n.dtype);
  n.weights = tensor_or_floats(call, tensor, floats, &n.dtype);
  n.base = tensor_or_floats(call, "base_values_as_tensor", "base_values", &n.dtype);
  return n;
}

void tree_regressor(Call& call) {
  call.expect_inputs(1, 1);
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
  if (!base.empty()) y = ml("Add", {y, ml.floats({int64_t(base.size())}, base, dtype)});
  y = ml.cast(post_transform(ml, y, call.text("post_transform", "NONE")), DType::kF32);
  ml.give(0, y);
}

void tree_classifier(Call& call) {
  call.expect_inputs(1, 1);
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
    ValueId s = ml("Gather", {scores, ml.integers({1}, {ids[0]})}, {{"axis", int64_t(1)}});
    if (!base.empty()) s = ml("Add", {s, ml.floats({1}, base, dtype)});
    const bool positive =
        std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; });
    const ValueId flat = ml("Squeeze", {s}, {{"axes", std::vector<int64_t>{1}}});
    ml.give(0, labels.of_two(ml("Greater", {flat, ml.number(positive ? 0.5 : 0, dtype)})));
    if (ids[0] == 1) {
      ml.give(1, ml.cast(post_transform(ml, scores, transform), DType::kF32));
      return;
    }
    ValueId first = positive ? ml("Sub", {ml.number(1, dtype), s}) : ml("Neg", {s}), second = s;
    if (transform == "LOGISTIC")
      first = ml("Sigmoid", {ml("Neg", {s})}), second = ml("Sigmoid", {s});
    if (transform == "PROBIT")
      return ml.give(1, ml.cast(post_transform(ml, s, transform), DType::kF32));
    ml.give(1, ml.cast(ml("Concat", {first, second}, {{"axis", int64_t(1)}}), DType::kF32));
    return;
  }
  if (!base.empty() && int64_t(base.size()) != labels.count())
    call.translator().corrupt(describe(call.node()) + ": has " + std::to_string(base.size()) +
                              " base values for " + std::to_string(labels.count()) + " classes");
  if (!base.empty()) scores = ml("Add", {scores, ml.floats({int64_t(base.size())}, base, dtype)});
  ml.give(0, labels.of_largest(scores));
  ml.give(1, ml.cast(post_transform(ml, scores, transform), DType::kF32));
}

/// The newer form: inner nodes and leaves are two lists, which refer to each other by place.
void tree_ensemble(Call& call) {
  call.expect_inputs(1, 1);
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
    // one of a set, which ends with NaN: a chain of comparisons
    int64_t at = int64_t(i);
    bool any = false;
    for (; member < members.size() && !std::isnan(members[member]); member++) {
      const bool last = member + 1 >= members.size() || std::isnan(members[member + 1]);
      const int64_t next = last ? other : forest.add_leaf();
      forest.compare(at, Branch::kEq, features[i], members[member], taken, next, nan_taken);
      at = next, any = true;
    }
    if (!any) forest.compare(at, Branch::kLeq, features[i], 0, other, other, false);
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
  table["TreeEnsembleRegressor"] = tree_regressor;
  table["TreeEnsembleClassifier"] = tree_classifier;
  table["TreeEnsemble"] = tree_ensemble;
}

}  // namespace ingot::onnx
