// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/gather.cpp - Gather, GatherElements, GatherNd and their inverses, element by
// element.
#include "runtime/op/gather.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

/// Index number `at` of `indices` into an extent; false when outside. Negative ones count from the
/// end.
bool read_index(const TensorView& indices, int64_t at, int64_t extent, int64_t* out) {
  const int64_t i = read_integer(indices, at);
  if (i < -extent || i >= extent) return false;
  *out = i < 0 ? i + extent : i;
  return true;
}

double reduce(ScatterReduction r, double old, double update) {
  switch (r) {
    case ScatterReduction::kAdd: return old + update;
    case ScatterReduction::kMul: return old * update;
    case ScatterReduction::kMax: return old > update || old != old ? old : update;
    case ScatterReduction::kMin: return old < update || old != old ? old : update;
    case ScatterReduction::kNone: return update;
  }
  return update;
}
int64_t reduce(ScatterReduction r, int64_t old, int64_t update, bool is_unsigned) {
  const bool more = is_unsigned ? uint64_t(old) > uint64_t(update) : old > update;
  switch (r) {
    case ScatterReduction::kAdd: return int64_t(uint64_t(old) + uint64_t(update));
    case ScatterReduction::kMul: return int64_t(uint64_t(old) * uint64_t(update));
    case ScatterReduction::kMax: return more ? old : update;
    case ScatterReduction::kMin: return more ? update : old;
    case ScatterReduction::kNone: return update;
  }
  return update;
}
void scatter_one(ScatterReduction r, const TensorView& y, int64_t at, const TensorView& updates,
                 int64_t from) {
  if (r == ScatterReduction::kNone)
    copy_element(y, at, updates, from);
  else if (is_integer(y.dtype))
    write_integer(
        y, at, reduce(r, read_integer(y, at), read_integer(updates, from), y.dtype == DType::kU64));
  else
    write(y, at, reduce(r, read(y, at), read(updates, from)));
}
void copy_all(const TensorView& from, const TensorView& to) {
  for_each_index(to, [&](const int64_t* index) {
    copy_element(to, offset_of(to, index), from, offset_of(from, index));
  });
}

}  // namespace

Status gather(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const int axis = int(a.as<GatherAttributes>().axis);
  bool good = true;
  for_each_index(y, [&](const int64_t* index) {
    int64_t source[kMaxRank];
    for (int i = 0; i < axis; i++) source[i] = index[i];
    for (int i = axis + 1; i < data.rank; i++) source[i] = index[i + indices.rank - 1];
    if (read_index(indices, offset_of(indices, index + axis), data.dims[axis], &source[axis]))
      copy_element(y, offset_of(y, index), data, offset_of(data, source));
    else
      good = false;
  });
  return good ? Status() : Status(Code::kBadIndexValue);
}

Status gather_elements(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const int axis = int(a.as<GatherElementsAttributes>().axis);
  bool good = true;
  for_each_index(y, [&](const int64_t* index) {
    int64_t source[kMaxRank];
    for (int i = 0; i < data.rank; i++) source[i] = index[i];
    if (read_index(indices, offset_of(indices, index), data.dims[axis], &source[axis]))
      copy_element(y, offset_of(y, index), data, offset_of(data, source));
    else
      good = false;
  });
  return good ? Status() : Status(Code::kBadIndexValue);
}

Status gather_nd(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const int batch = int(a.as<GatherNdAttributes>().batch_dims), leading = indices.rank - 1,
            depth = int(indices.row_length());
  bool good = true;
  for_each_index(y, [&](const int64_t* index) {
    int64_t at[kMaxRank], source[kMaxRank];
    for (int i = 0; i < leading; i++) at[i] = index[i];
    for (int i = 0; i < batch; i++) source[i] = index[i];
    for (int k = 0; k < depth; k++) {
      at[leading] = k;
      if (!read_index(indices, offset_of(indices, at), data.dims[batch + k], &source[batch + k])) {
        good = false;
        return;
      }
    }
    for (int i = batch + depth; i < data.rank; i++) source[i] = index[leading + i - batch - depth];
    copy_element(y, offset_of(y, index), data, offset_of(data, source));
  });
  return good ? Status() : Status(Code::kBadIndexValue);
}

Status scatter_nd(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &updates = a.inputs[2],
                   &y = a.outputs[0];
  const int leading = indices.rank - 1, depth = int(indices.row_length());
  copy_all(data, y);
  bool good = true;
  for_each_index(updates, [&](const int64_t* index) {
    int64_t at[kMaxRank], target[kMaxRank];
    for (int i = 0; i < leading; i++) at[i] = index[i];
    for (int k = 0; k < depth; k++) {
      at[leading] = k;
      if (!read_index(indices, offset_of(indices, at), data.dims[k], &target[k])) {
        good = false;
        return;
      }
    }
    for (int i = depth; i < data.rank; i++) target[i] = index[leading + i - depth];
    scatter_one(a.as<ScatterNdAttributes>().reduction, y, offset_of(y, target), updates,
                offset_of(updates, index));
  });
  return good ? Status() : Status(Code::kBadIndexValue);
}

Status scatter_elements(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &updates = a.inputs[2],
                   &y = a.outputs[0];
  const ScatterElementsAttributes& t = a.as<ScatterElementsAttributes>();
  copy_all(data, y);
  bool good = true;
  for_each_index(updates, [&](const int64_t* index) {
    int64_t target[kMaxRank];
    for (int i = 0; i < data.rank; i++) target[i] = index[i];
    if (read_index(indices, offset_of(indices, index), data.dims[t.axis], &target[t.axis]))
      scatter_one(t.reduction, y, offset_of(y, target), updates, offset_of(updates, index));
    else
      good = false;
  });
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace ingot::cpu::oracle
