// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/trees/tree_ensemble.inl - TreeEnsemble. Contract: runtime/op/tree_ensemble.h.
//
// A step is a load, a comparison and an addition, each waiting for the one before: kWalks walks go
// side by side, of as many rows through one tree or, where rows are few, of one row through as many
// trees. Nothing branches on what is compared. Plain words, no vectors: what a step waits for are
// its loads.
#pragma once
#include "kernels/cpu/simd/share.inl"
#include "runtime/op/tree_ensemble.h"

namespace ingot::cpu {
namespace {
namespace tensors {

constexpr int kWalks = 8;  // of 12 and 16 registers spill: 1.05 times as long on Zen 5

/// The operands of one call, and how many there are of each.
template <class T>
struct Trees {
  const char* nodes;
  uint32_t pairs, features, leaves, depth;  // pairs: places where two nodes begin
  uint32_t feature_mask, missing;           // ~0 and 0 where bit 31 of a feature means nothing
};

// What is out of range becomes 0, and the addition comes last: a step is as long as the way from
// its node to the next, and this keeps the limits of `child` beside that way.
// `missing`: bit 31 of a feature may mean something.
template <class T, bool missing>
INGOT_INLINE uint32_t tree_step(const Trees<T>& t, const T* row, uint32_t at) {
  const char* const node = t.nodes + uint64_t(at) * (2 * sizeof(uint32_t) + sizeof(T));
  uint32_t feature, child;
  T threshold;
  std::memcpy(&feature, node, sizeof feature);
  std::memcpy(&child, node + sizeof feature, sizeof child);
  std::memcpy(&threshold, node + sizeof feature + sizeof child, sizeof threshold);
  const uint32_t column = missing ? feature & t.feature_mask : feature;
  // not `? :`: compilers jump then, which of a leaf, whose word is no feature, is a guess
  const T x = row[column & (0u - uint32_t(column < t.features))];
  const uint32_t next = (child < t.pairs ? child : 0) + uint32_t(x <= threshold);
  return missing ? next + (uint32_t(x != x) & feature >> 31 & t.missing) : next;
}

/// `depth` steps of each walk, from at[i] in row[i], to the row of weights that it ends at.
template <class T, bool missing>
void tree_walk(const Trees<T>& t, const T* const* row, uint32_t* at) {
  uint32_t now[kWalks];
  INGOT_UNROLL for (int i = 0; i < kWalks; i++) now[i] = at[i];
  const auto step = [&] {
    uint32_t moved = 0;
    INGOT_UNROLL for (int i = 0; i < kWalks; i++) {
      const uint32_t next = tree_step<T, missing>(t, row[i], now[i]);
      moved |= next ^ now[i];
      now[i] = next;
    }
    return moved;
  };
  for (uint32_t left = t.depth; left > 0; left -= 4) {
    for (uint32_t i = left < 4 ? left : 3; i > 0; i--) step();
    if (left < 4 || !step()) break;  // at the end, or all at leaves
  }
  INGOT_UNROLL for (int i = 0; i < kWalks; i++) {
    uint32_t leaf;
    std::memcpy(&leaf, t.nodes + uint64_t(now[i]) * (2 * sizeof leaf + sizeof(T)), sizeof leaf);
    if (missing) leaf &= t.feature_mask;
    at[i] = leaf < t.leaves ? leaf : 0;
  }
}

template <class T>
INGOT_INLINE T with_leaf(TreeAggregate aggregate, T so_far, T weight) {
  if (aggregate == TreeAggregate::kSum) return so_far + weight;
  return (aggregate == TreeAggregate::kMin ? so_far < weight : so_far > weight) ? so_far : weight;
}
/// A row of y takes the weights of a leaf.
template <class V>
void take_leaf(TreeAggregate aggregate, const float* weights, float* y, int64_t targets) {
  if (targets == 1) {
    y[0] = with_leaf(aggregate, y[0], weights[0]);
    return;
  }
  for (int64_t i = 0; i < targets; i += V::kLanes) {
    const int64_t n = least_of(targets - i, V::kLanes);
    const typename V::F weight = V::load_partial(weights + i, n),
                        so_far = V::load_partial(y + i, n);
    V::store_partial(y + i,
                     aggregate == TreeAggregate::kSum   ? V::add(so_far, weight)
                     : aggregate == TreeAggregate::kMin ? V::min(so_far, weight)
                                                        : V::max(so_far, weight),
                     n);
  }
}
template <class V>
void take_leaf(TreeAggregate aggregate, const double* weights, double* y, int64_t targets) {
  for (int64_t i = 0; i < targets; i++) y[i] = with_leaf(aggregate, y[i], weights[i]);
}

/// Rows that go through the ensemble together, so that their part of x, 32 KiB, stays in the cache
/// while all nodes pass by.
template <class T>
int64_t tree_block(int64_t features) {
  const int64_t rows = 32768 / (features * int64_t(sizeof(T)) + 1) / kWalks * kWalks;
  return most_of(kWalks, least_of(rows, 512));
}

template <class T>
void tree_walk_any(const Trees<T>& t, const T* const* row, uint32_t* at) {
  tree_walk<T, true>(t, row, at);
}
template <>
inline void tree_walk_any(const Trees<float>& t, const float* const* row, uint32_t* at) {
  (t.missing ? tree_walk<float, true> : tree_walk<float, false>)(t, row, at);
}

template <class V, class T>
void tree_rows(const OpArguments& a, const Part& mine) {
  const TensorView &x = a.inputs[0], &nodes = a.inputs[1], &weights = a.inputs[2],
                   &y = a.outputs[0];
  const TreeEnsembleAttributes& attributes = a.as<TreeEnsembleAttributes>();
  const Trees<T> t = {nodes.as<const char>(), uint32_t(nodes.dims[0] - 1),
                      attributes.features,    uint32_t(weights.dims[0]),
                      attributes.depth,       attributes.missing ? ~kMissingGoesOn : ~0u,
                      attributes.missing};
  const int64_t targets = y.dims[1];
  const uint32_t trees = attributes.trees;
  const auto x_row = [&](int64_t row) { return x.as<const T>() + row * x.row_stride; };
  const auto take = [&](uint32_t leaf, int64_t row) {
    take_leaf<V>(attributes.aggregate, weights.as<const T>() + int64_t(leaf) * targets,
                 y.as<T>() + row * y.row_stride, targets);
  };
  const T none = attributes.aggregate == TreeAggregate::kSum   ? T(0)
                 : attributes.aggregate == TreeAggregate::kMin ? T(__builtin_inff())
                                                               : T(-__builtin_inff());
  for (int64_t row = mine.begin; row < mine.end; row++)
    for (int64_t i = 0; i < targets; i++) y.as<T>()[row * y.row_stride + i] = none;

  const T* of[kWalks];
  uint32_t at[kWalks];
  const int64_t block = tree_block<T>(x.dims[1]);
  const int64_t whole = mine.begin + (mine.end - mine.begin) / kWalks * kWalks;
  for (int64_t begin = mine.begin; begin < whole; begin += block) {
    const int64_t end = least_of(begin + block, whole);
    for (uint32_t tree = 0; tree < trees; tree++)
      for (int64_t row = begin; row < end; row += kWalks) {
        for (int i = 0; i < kWalks; i++) of[i] = x_row(row + i), at[i] = tree;
        tree_walk_any(t, of, at);
        for (int i = 0; i < kWalks; i++) take(at[i], row + i);
      }
  }
  for (int64_t row = whole; row < mine.end; row++)
    for (uint32_t tree = 0; tree < trees; tree += kWalks) {
      const uint32_t count = trees - tree < kWalks ? trees - tree : kWalks;
      for (uint32_t i = 0; i < kWalks; i++) of[i] = x_row(row), at[i] = i < count ? tree + i : tree;
      tree_walk_any(t, of, at);
      for (uint32_t i = 0; i < count; i++) take(at[i], row);
    }
}

template <class V>
Status tree_ensemble(const OpArguments& a, const Team& team) {
  const TreeEnsembleAttributes& t = a.as<TreeEnsembleAttributes>();
  // a member has some 10 us of steps
  const int64_t steps = int64_t(t.trees) * (int64_t(t.depth) + 2);
  const Part mine = part_of(team, a.outputs[0].rows(), kWalks, most_of(kWalks, 8192 / steps));
  (a.inputs[0].dtype == DType::kF32 ? tree_rows<V, float> : tree_rows<V, double>)(a, mine);
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
