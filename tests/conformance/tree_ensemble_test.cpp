// SPDX-License-Identifier: Apache-2.0
// TreeEnsemble: aggregates, types, missing values, rows and trees beside the walks that go side by
// side, and nodes that say anything at all.
#include "runtime/op/tree_ensemble.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

/// Numbers that follow from a seed.
class Draw {
 public:
  explicit Draw(uint32_t seed) : state_(seed * 2654435761u + 1) {}
  uint32_t operator()() {
    state_ ^= state_ << 13, state_ ^= state_ >> 17, state_ ^= state_ << 5;
    return state_;
  }
  uint32_t below(uint32_t n) { return (*this)() % n; }

 private:
  uint32_t state_;
};

/// Nodes as the contract has them.
struct Nodes {
  DType dtype;
  std::vector<int32_t> words;

  uint32_t count() const { return uint32_t(words.size()) / uint32_t(tree_node_words(dtype)); }
  void add(size_t n) { words.resize(words.size() + n * size_t(tree_node_words(dtype))); }
  void put(uint32_t at, uint32_t feature, uint32_t child, double threshold) {
    int32_t* const word = &words[at * size_t(tree_node_words(dtype))];
    word[0] = int32_t(feature), word[1] = int32_t(child);
    const float narrow = float(threshold);
    if (dtype == DType::kF64)
      std::memcpy(word + 2, &threshold, sizeof threshold);
    else
      std::memcpy(word + 2, &narrow, sizeof narrow);
  }
  Tensor tensor() const {
    Tensor t(DType::kI32, {count(), tree_node_words(dtype)});
    for (size_t i = 0; i < words.size(); i++) t.set(int64_t(i), words[i]);
    return t;
  }
};

/// Trees whose leaves lie 0 .. depth levels deep.
Nodes grow(Draw& draw, DType dtype, const TreeEnsembleAttributes& t, uint32_t leaves) {
  Nodes nodes = {dtype, {}};
  nodes.add(t.trees);
  std::vector<uint32_t> level(t.trees, 0);
  for (uint32_t at = 0; at < nodes.count(); at++) {
    if (level[at] == t.depth || draw.below(6) == 0) {
      nodes.put(at, draw.below(leaves), at, NAN);
      continue;
    }
    const uint32_t nan_goes_on = t.missing && draw.below(2) ? kMissingGoesOn : 0;
    const uint32_t child = nodes.count(), below = level[at] + 1;
    nodes.add(2), level.push_back(below), level.push_back(below);
    nodes.put(at, draw.below(t.features) | nan_goes_on, child, double(draw.below(17)) / 4 - 2);
  }
  nodes.add(1);  // the last node is no leaf
  return nodes;
}

/// On a coarse grid, so that thresholds are met; `nan_every`: one in so many is NaN.
Tensor rows_of(Draw& draw, DType dtype, Dims dims, int64_t padding, uint32_t nan_every) {
  Tensor x(dtype, dims, padding);
  for (int64_t i = 0; i < dims[0] * dims[1]; i++)
    x.set(i, nan_every && draw.below(nan_every) == 0 ? NAN : double(draw.below(17)) / 4 - 2);
  return x;
}

Case case_of(const TreeEnsembleAttributes& t, const Tensor& x, const Tensor& nodes,
             const Tensor& weights, int64_t padding = 0) {
  const Tensor y(x.view().dtype, {x.view().dims[0], weights.view().dims[1]}, padding);
  return {"tree_ensemble", OpCode::kTreeEnsemble, &t, {x, nodes, weights}, {y}, {2e-5, 2e-5}};
}

}  // namespace

TEST_CASE("tree_ensemble: the product of its attributes") {
  Combinations all("tree_ensemble", 1500, 3, 0);
  const Axis<DType> dtype = all.axis<DType>("dtype", {DType::kF32, DType::kF64});
  const Axis<int64_t> rows = all.axis<int64_t>("rows", {0, 1, 7, 8, 19, 70});
  const Axis<int64_t> columns = all.axis<int64_t>("columns", {1, 5, 33, 20000});
  const Axis<uint32_t> trees = all.axis<uint32_t>("trees", {1, 3, 8, 21});
  const Axis<uint32_t> depth = all.axis<uint32_t>("depth", {0, 1, 4, 6, 9});
  const Axis<int64_t> targets = all.axis<int64_t>("targets", {0, 1, 2, 17});
  const Axis<TreeAggregate> aggregate = all.axis<TreeAggregate>(
      "aggregate", {TreeAggregate::kSum, TreeAggregate::kMin, TreeAggregate::kMax});
  const Axis<bool> missing = all.axis<bool>("missing", {false, true});
  const Axis<uint32_t> nan_every = all.axis<uint32_t>("nan_every", {0, 4});
  const Axis<int> padding = all.axis<int>("padding", {0, 3});
  TreeEnsembleAttributes t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    if (columns() > 10000 && rows() > 19) return false;  // the oracle takes long
    Draw draw(seed += 2);
    t = {trees(), uint32_t(columns() > 33 ? 700 : columns()), depth(), aggregate(), missing()};
    const uint32_t leaves = 1 + draw.below(40);
    c = case_of(t, rows_of(draw, dtype(), {rows(), columns()}, padding(), nan_every()),
                grow(draw, dtype(), t, leaves).tensor(),
                Tensor(dtype(), {leaves, targets()}).random(seed), padding());
    return true;
  });
}

TEST_CASE("tree_ensemble: nodes that say anything read nothing outside") {
  for (const DType dtype : {DType::kF32, DType::kF64})
    for (const bool missing : {false, true})
      for (const uint32_t depth : {0u, 3u, 8u, 500u})
        for (const int64_t rows : {1, 8, 13})
          for (uint32_t seed = 1; seed < 6; seed++) {
            Draw draw(seed);
            const TreeEnsembleAttributes t = {5, 6, depth, TreeAggregate::kSum, missing};
            Nodes nodes = {dtype, {}};
            nodes.add(31);
            for (uint32_t i = 0; i < nodes.count(); i++)
              nodes.put(i, seed == 1 ? ~0u : draw(), seed < 4 ? draw.below(40) - 2 : draw(),
                        seed == 2 ? NAN : double(draw.below(5)) - 2);
            run_case(case_of(t, rows_of(draw, dtype, {rows, 7}, 0, 5), nodes.tensor(),
                             Tensor(dtype, {9, 2}).random(seed)));
          }
}

TEST_CASE("tree_ensemble: sums are one chain over the trees, in their order") {
  // 1 + 2^-24 + 2^-24: from the left 1, from the right more
  const double small = std::ldexp(1, -24);
  Nodes nodes = {DType::kF32, {}};
  nodes.add(4);
  for (uint32_t i = 0; i < 3; i++) nodes.put(i, i, i, NAN);
  const TreeEnsembleAttributes t = {3, 1, 0, TreeAggregate::kSum, false};
  for (const bool large_first : {true, false}) {
    Case c = case_of(t, Tensor(DType::kF32, {9, 1}), nodes.tensor(),
                     Tensor(DType::kF32, {3, 1})
                         .values(large_first ? std::vector<double>{1, small, small}
                                             : std::vector<double>{small, small, 1}));
    c.tolerance = {1e-6, 1e-6};
    run_case(c);
    const TensorView inputs[] = {c.inputs[0].view(), c.inputs[1].view(), c.inputs[2].view()},
                     outputs[] = {c.outputs[0].view()};
    const OpArguments arguments = {&t, inputs, outputs, 3, 1};
    REQUIRE(find_kernel(*cpu_kernels("scalar"), OpCode::kTreeEnsemble, arguments)
                ->run(arguments, Team())
                .ok());
    for (int64_t i = 0; i < 9; i++) CHECK(c.outputs[0].at(i) == 1 + (large_first ? 0 : 2 * small));
  }
}

TEST_CASE("tree_ensemble: infinities and NaN among the weights") {
  Nodes nodes = {DType::kF32, {}};
  nodes.add(4);
  for (uint32_t i = 0; i < 3; i++) nodes.put(i, i, i, NAN);
  for (const TreeAggregate aggregate :
       {TreeAggregate::kSum, TreeAggregate::kMin, TreeAggregate::kMax})
    for (const int64_t targets : {1, 5}) {
      const TreeEnsembleAttributes t = {3, 1, 0, aggregate, false};
      for (const std::vector<double>& of :
           std::vector<std::vector<double>>{{NAN, 1, 2},
                                            {1, NAN, 2},
                                            {1, 2, NAN},
                                            {INFINITY, 3, -INFINITY},
                                            {-0.0, 0.0, -0.0}}) {
        std::vector<double> all;
        for (const double weight : of) all.insert(all.end(), size_t(targets), weight);
        run_case(case_of(t, Tensor(DType::kF32, {9, 1}), nodes.tensor(),
                         Tensor(DType::kF32, {3, targets}).values(all)));
      }
    }
}

TEST_CASE("tree_ensemble: the contract refuses") {
  const Tensor x(DType::kF32, {4, 5}), nodes(DType::kI32, {7, 3}), weights(DType::kF32, {6, 2}),
      y(DType::kF32, {4, 2});
  const TreeEnsembleAttributes good = {3, 5, 2, TreeAggregate::kSum, false};
  TreeEnsembleAttributes t = good;
  const auto rule = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& out) {
    return refusal({"refused", OpCode::kTreeEnsemble, &t, {a, b, c}, {out}});
  };
  t.aggregate = TreeAggregate(3);
  CHECK(rule(x, nodes, weights, y) == "tree_ensemble.aggregate is known");
  t = good, t.trees = 0;
  CHECK(rule(x, nodes, weights, y) == "tree_ensemble has trees");
  for (const uint32_t features : {0u, kMissingGoesOn}) {
    t = good, t.features = features;
    CHECK(rule(x, nodes, weights, y) == "tree_ensemble.features is 1 .. 2^31 - 1");
  }
  t = good, t.depth = kMaxTreeDepth + 1;
  CHECK(rule(x, nodes, weights, y) == "tree_ensemble.depth is limited");
  t = good, t.trees = 7;
  CHECK(rule(x, nodes, weights, y) == "nodes are more than trees, and at most 2^28");
  t = good, t.features = 6;
  CHECK(rule(x, nodes, weights, y) == "x has the features that its trees read");
  t = good;
  const auto f32 = [](Dims dims) { return Tensor(DType::kF32, std::move(dims)); };
  const auto i32 = [](Dims dims) { return Tensor(DType::kI32, std::move(dims)); };
  CHECK(rule(Tensor(DType::kF16, {4, 5}), nodes, weights, y) == "tree_ensemble takes f32 and f64");
  CHECK(rule(x, Tensor(DType::kI64, {7, 3}), weights, y) == "nodes of trees are i32");
  CHECK(rule(f32({5}), nodes, weights, y) == "tree_ensemble takes rows");
  CHECK(rule(x, i32({21}), weights, y) == "tree_ensemble takes rows");
  CHECK(rule(x, nodes, f32({12}), y) == "tree_ensemble takes rows");
  CHECK(rule(x, nodes, weights, f32({8})) == "tree_ensemble gives rows");
  CHECK(rule(x, i32({7, 4}), weights, y) == "a node is three words, of f64 four");
  CHECK(rule(x, nodes, f32({0, 2}), y) == "trees have leaves");
  CHECK(rule(x, nodes, weights, f32({3, 2})) == "tree_ensemble keeps the rows");
  CHECK(rule(x, nodes, weights, f32({4, 3})) == "y has the targets");
  CHECK(rule(x, nodes, Tensor(DType::kF64, {6, 2}), y) == "same dtype");
  CHECK(rule(x, nodes, weights, Tensor(DType::kF64, {4, 2})) == "same dtype");
}
