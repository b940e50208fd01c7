// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/elementwise/grid.inl - the output's dims with neighbours merged where every operand
// allows, and how each operand is walked: consecutive rows of `length` elements, each operand with
// a stride of 0 or 1 inside a row.
#pragma once
#include "runtime/op/elementwise.h"

namespace ingot::cpu {
namespace {
namespace tensors {

enum class Walk : uint8_t {
  kLinear,    // element i of the output is element i of the operand
  kScalar,    // one element for all
  kPeriodic,  // every row is the same row
  kGeneral,
};

struct GridOperand {
  char* data = nullptr;
  DType dtype = DType::kInvalid;
  uint8_t bytes = 0;  // of an element
  Walk walk = Walk::kGeneral;
  int64_t strides[kMaxRank] = {};  // elements, along the merged dims
};

constexpr int kGridOperands = kMaxElementwiseInputs + 1;  // the output is the last

struct Grid {
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t rows = 1, length = 1;
  int count = 0;
  GridOperand operands[kGridOperands];
};

inline void set_strides(const TensorView& x, const TensorType& y, GridOperand* o) {
  int64_t stride = 1;
  for (int i = y.rank - 1, k = x.rank - 1; i >= 0; i--, k--) {
    o->strides[i] = k >= 0 && x.dims[k] != 1 ? stride : 0;
    if (k >= 0) stride = k == x.rank - 1 ? int64_t{x.row_stride} : stride * x.dims[k];
  }
  o->data = x.as<char>();
  o->dtype = x.dtype;
  o->bytes = uint8_t(dtype_bytes(x.dtype));
}

/// Merges dimension i into i + 1 wherever each operand's step over i is its whole run over i + 1.
inline void merge_dims(Grid* g) {
  int out = g->rank - 1;
  for (int i = g->rank - 2; i >= 0; i--) {
    bool merges = true;
    for (int k = 0; k < g->count; k++) {
      const int64_t* s = g->operands[k].strides;
      merges = merges && s[i] == s[out] * g->dims[out];
    }
    if (merges) {
      g->dims[out] *= g->dims[i];
    } else {
      out--;
      g->dims[out] = g->dims[i];
      for (int k = 0; k < g->count; k++) g->operands[k].strides[out] = g->operands[k].strides[i];
    }
  }
  const int dropped = out;
  g->rank -= dropped;
  for (int i = 0; i < g->rank; i++) {
    g->dims[i] = g->dims[i + dropped];
    for (int k = 0; k < g->count; k++)
      g->operands[k].strides[i] = g->operands[k].strides[i + dropped];
  }
}

inline Walk walk_of(const Grid& g, const GridOperand& o) {
  bool linear = true, outer_still = true;
  int64_t step = 1;
  for (int i = g.rank - 1; i >= 0; i--) {
    linear = linear && o.strides[i] == step;
    step *= g.dims[i];
    if (i + 1 < g.rank) outer_still = outer_still && o.strides[i] == 0;
  }
  if (linear) return Walk::kLinear;
  if (!outer_still) return Walk::kGeneral;
  return o.strides[g.rank - 1] == 0 ? Walk::kScalar : Walk::kPeriodic;
}

/// Rows of one element that lie apart stay rows: inside a row no operand may step by more than 1.
/// Only the last dimension has a stride of its own, so it was 1 and there is room for it.
inline void keep_rows_of_one(Grid* g) {
  bool apart = false;
  for (int k = 0; k < g->count; k++) apart = apart || g->operands[k].strides[g->rank - 1] > 1;
  if (!apart) return;
  for (int k = 0; k < g->count; k++) {
    bool moves = false;
    for (int i = 0; i < g->rank; i++) moves = moves || g->operands[k].strides[i] != 0;
    g->operands[k].strides[g->rank] = moves ? 1 : 0;
  }
  g->dims[g->rank++] = 1;
}

/// The grid where each operand is one element, or lies as the output does without gaps: one row.
/// False where it is not so; what was set is set again.
inline bool make_one_row(const OpArguments& a, Grid* g) {
  const TensorView& y = a.outputs[0];
  const int64_t length = y.elements();
  for (int k = 0; k < g->count; k++) {
    const bool is_output = k + 1 == g->count;
    const TensorView& x = is_output ? y : a.inputs[k];
    const int64_t elements = x.elements();
    const bool is_one = elements == 1 && !is_output;
    if (!is_one && (elements != length || !x.is_dense())) return false;
    GridOperand& o = g->operands[k];
    o.data = x.as<char>(), o.dtype = x.dtype, o.bytes = uint8_t(dtype_bytes(x.dtype));
    o.walk = is_one ? Walk::kScalar : Walk::kLinear;
    o.strides[0] = is_one ? 0 : 1;
  }
  g->rank = 1;
  g->dims[0] = g->length = length;
  return true;
}

/// The operands in order, then the output. Dimensions of extent 1 disappear.
inline void make_grid(const OpArguments& a, Grid* g) {
  const TensorView& y = a.outputs[0];
  g->count = a.input_count + 1;
  if (make_one_row(a, g)) return;
  for (int k = 0; k < g->count; k++)
    set_strides(k + 1 == g->count ? y : a.inputs[k], y, &g->operands[k]);
  for (int i = 0; i < y.rank; i++) {
    if (y.dims[i] == 1) continue;
    g->dims[g->rank] = y.dims[i];
    for (int k = 0; k < g->count; k++) g->operands[k].strides[g->rank] = g->operands[k].strides[i];
    g->rank++;
  }
  if (g->rank == 0) {
    g->rank = 1;
    g->dims[0] = 1;
    for (int k = 0; k < g->count; k++) g->operands[k].strides[0] = 0;
    g->operands[g->count - 1].strides[0] = 1;
  }
  keep_rows_of_one(g);
  merge_dims(g);
  for (int i = 0; i + 1 < g->rank; i++) g->rows *= g->dims[i];
  g->length = g->dims[g->rank - 1];
  for (int k = 0; k < g->count; k++) g->operands[k].walk = walk_of(*g, g->operands[k]);
}

/// Elements from the operand's start to the start of row `row`; `index` receives the row's
/// coordinates.
inline int64_t row_offset(const Grid& g, const GridOperand& o, int64_t row, int64_t* index) {
  int64_t at = 0;
  for (int i = g.rank - 2; i >= 0; i--) {
    index[i] = row % g.dims[i];
    row /= g.dims[i];
    at += index[i] * o.strides[i];
  }
  return at;
}
/// Moves to the next row.
INGOT_INLINE void next_row(const Grid& g, const GridOperand& o, int64_t* index, int64_t* at) {
  for (int i = g.rank - 2; i >= 0; i--) {
    *at += o.strides[i];
    if (++index[i] < g.dims[i]) return;
    *at -= o.strides[i] * g.dims[i];
    index[i] = 0;
  }
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
