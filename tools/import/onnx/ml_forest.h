// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/ml_forest.h - an ensemble of decision trees in one form, and the node that it
// becomes: at an inner node x[feature] <= threshold decides between two nodes. Inside
// tools/import/onnx only.
#pragma once
#include <string>
#include <vector>

#include "tools/import/onnx/ml_emitter.h"

namespace ingot::onnx {

enum class Branch : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kLeaf };

class Forest {
 public:
  /// `dtype`: f32 or f64, of comparisons and sums.
  Forest(MlEmitter& m, DType dtype, int64_t targets) : ml_(m), dtype_(dtype), targets_(targets) {}

  /// A new node, a leaf until a comparison is put there.
  int64_t add_leaf();
  int64_t size() const { return int64_t(nodes_.size()); }
  /// Node `id` becomes a comparison of any kind; `taken` and `other` follow it. NaN goes where
  /// `nan_taken` says, else where the comparison fails.
  void compare(int64_t id, Branch mode, int64_t feature, double threshold, int64_t taken,
               int64_t other, bool nan_taken);
  /// Node `id` asks whether the feature is one of `members`.
  void find(int64_t id, int64_t feature, std::vector<double> members, int64_t taken, int64_t other,
            bool nan_taken);
  /// A leaf gives a target that much.
  void weigh(int64_t leaf, int64_t target, double weight);

  /// [N, targets] of x [N, F]: what the leaves give, by `aggregate`: SUM, AVERAGE, MIN or MAX. Of
  /// a target to which no leaf gives anything: 0.
  ValueId run(ValueId x, const std::vector<int64_t>& roots, const std::string& aggregate);

 private:
  struct Node {
    int64_t feature = 0;
    double threshold = 0;
    int64_t yes = -1, no = -1;  // where x <= threshold, and where not; -1: a leaf
    bool nan_is_yes = false;
    bool is_leaf() const { return yes < 0; }
  };
  struct Weight {  // `leaf`: its row
    int64_t leaf, target;
    double number;
  };
  void put(int64_t id, const Node& node);
  /// The largest number below x, so that `< x` is `<= before(x)`; NaN where there is none.
  double before(double x) const;
  void find_sorted(int64_t id, int64_t feature, const double* members, size_t count, int64_t taken,
                   int64_t other, bool nan_taken);
  /// Comparisons on the longest way from a root to a leaf.
  int64_t deepest(const std::vector<int64_t>& roots) const;
  ValueId packed_nodes(const std::vector<int64_t>& roots);
  ValueId weight_table(double none, bool* complete);
  graph::Attribute aggregate_name(const std::string& aggregate) const;

  MlEmitter& ml_;
  const DType dtype_;
  const int64_t targets_;
  std::vector<Node> nodes_;
  std::vector<Weight> weights_;
  std::vector<int64_t> rows_;  // of weights, by node: -1 where it has none
  int64_t row_count_ = 0, features_ = 1;
  bool missing_ = false;
};

}  // namespace ingot::onnx
