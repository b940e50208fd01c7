// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/gather.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_indices(const TensorType& indices, Violation* v) {
  return rules::is_index(indices.dtype) ||
         rules::refuse(v, "indices are i32 or i64", 1, int64_t(DType::kI64),
                       int64_t(indices.dtype));
}

bool check_gather(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kGatherContract, {}, v)) return false;
  const TensorType &data = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const uint32_t axis = a.as<GatherAttributes>().axis;
  if (!check_indices(indices, v) || !rules::check_same_dtype(data, y, rules::output(0), v))
    return false;
  if (axis >= data.rank)
    return rules::refuse(v, "gather.axis is below the rank", Violation::kAttribute, data.rank,
                         axis);
  if (y.rank != data.rank - 1 + indices.rank)
    return rules::refuse(v, "gather's output rank", rules::output(0), data.rank - 1 + indices.rank,
                         y.rank);
  for (int i = 0; i < y.rank; i++) {
    const int64_t want = i < int(axis)                  ? data.dims[i]
                         : i < int(axis) + indices.rank ? indices.dims[i - axis]
                                                        : data.dims[i - indices.rank + 1];
    if (y.dims[i] != want)
      return rules::refuse(v, "gather's output dims", rules::output(0), want, y.dims[i]);
  }
  return true;
}

bool check_gather_elements(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kGatherElementsContract, {}, v)) return false;
  const TensorType &data = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const uint32_t axis = a.as<GatherElementsAttributes>().axis;
  if (!check_indices(indices, v) || !rules::check_same_dtype(data, y, rules::output(0), v))
    return false;
  if (axis >= data.rank)
    return rules::refuse(v, "gather_elements.axis is below the rank", Violation::kAttribute,
                         data.rank, axis);
  if (indices.rank != data.rank)
    return rules::refuse(v, "indices have data's rank", 1, data.rank, indices.rank);
  for (int i = 0; i < data.rank; i++)
    if (i != int(axis) && indices.dims[i] > data.dims[i])
      return rules::refuse(v, "indices lie inside data", 1, data.dims[i], indices.dims[i]);
  return rules::check_same_dims(indices, y, rules::output(0), v);
}

/// indices [batch.., leading.., depth] index data [batch.., depth dims.., slice..].
bool check_nd(const TensorType& data, const TensorType& indices, uint32_t batch_dims,
              Violation* v) {
  if (!check_indices(indices, v)) return false;
  if (indices.rank == 0 || data.rank == 0)
    return rules::refuse(v, "data and indices have a dimension", 1, 1, 0);
  if (batch_dims >= indices.rank || batch_dims >= data.rank)
    return rules::refuse(v, "batch_dims is below both ranks", Violation::kAttribute, data.rank,
                         batch_dims);
  for (uint32_t i = 0; i < batch_dims; i++)
    if (data.dims[i] != indices.dims[i])
      return rules::refuse(v, "batch dims agree", 1, data.dims[i], indices.dims[i]);
  const int64_t depth = indices.row_length();
  if (depth < 1 || depth > data.rank - int64_t(batch_dims))
    return rules::refuse(v, "an index has at most the dimensions of data", 1,
                         data.rank - int64_t(batch_dims), depth);
  return true;
}

/// dims of t are those of indices but the last, then those of data that an index does not name.
bool check_nd_dims(const TensorType& t, int operand, const TensorType& data,
                   const TensorType& indices, uint32_t batch_dims, Violation* v) {
  const int leading = indices.rank - 1, first_slice = int(batch_dims) + int(indices.row_length());
  if (t.rank != leading + data.rank - first_slice)
    return rules::refuse(v, "rank follows from indices and data", operand,
                         leading + data.rank - first_slice, t.rank);
  for (int i = 0; i < t.rank; i++) {
    const int64_t want = i < leading ? indices.dims[i] : data.dims[first_slice + i - leading];
    if (t.dims[i] != want)
      return rules::refuse(v, "dims follow from indices and data", operand, want, t.dims[i]);
  }
  return true;
}

bool check_gather_nd(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kGatherNdContract, {}, v)) return false;
  const uint32_t batch_dims = a.as<GatherNdAttributes>().batch_dims;
  return rules::check_same_dtype(a.inputs[0], a.outputs[0], rules::output(0), v) &&
         check_nd(a.inputs[0], a.inputs[1], batch_dims, v) &&
         check_nd_dims(a.outputs[0], rules::output(0), a.inputs[0], a.inputs[1], batch_dims, v);
}

bool check_scatter(const OpArguments& a, ScatterReduction reduction, Violation* v) {
  const TensorType &data = a.inputs[0], &updates = a.inputs[2], &y = a.outputs[0];
  if (uint8_t(reduction) > uint8_t(ScatterReduction::kMin))
    return rules::refuse(v, "scatter's reduction is known", Violation::kAttribute, 4,
                         int64_t(reduction));
  if (data.dtype == DType::kBool && reduction != ScatterReduction::kNone)
    return rules::refuse(v, "bool scatters without a reduction", 0, 0, int64_t(reduction));
  return rules::check_same_dtype(data, updates, 2, v) &&
         rules::check_same_dtype(data, y, rules::output(0), v) &&
         rules::check_same_dims(data, y, rules::output(0), v);
}

bool check_scatter_nd(const OpArguments& a, Violation* v) {
  return rules::check_operands(a, kScatterNdContract, {}, v) &&
         check_scatter(a, a.as<ScatterNdAttributes>().reduction, v) &&
         check_nd(a.inputs[0], a.inputs[1], 0, v) &&
         check_nd_dims(a.inputs[2], 2, a.inputs[0], a.inputs[1], 0, v);
}

bool check_scatter_elements(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kScatterElementsContract, {}, v)) return false;
  const TensorType &data = a.inputs[0], &indices = a.inputs[1], &updates = a.inputs[2];
  const ScatterElementsAttributes& t = a.as<ScatterElementsAttributes>();
  if (!check_scatter(a, t.reduction, v) || !check_indices(indices, v)) return false;
  if (t.axis >= data.rank)
    return rules::refuse(v, "scatter_elements.axis is below the rank", Violation::kAttribute,
                         data.rank, t.axis);
  if (indices.rank != data.rank)
    return rules::refuse(v, "indices have data's rank", 1, data.rank, indices.rank);
  for (int i = 0; i < data.rank; i++)
    if (i != int(t.axis) && indices.dims[i] > data.dims[i])
      return rules::refuse(v, "indices lie inside data", 1, data.dims[i], indices.dims[i]);
  return rules::check_same_dims(indices, updates, 2, v);
}

}  // namespace

const OpContract kGatherContract = {OpCode::kGather, 1,       2,       2, 1, 1,
                                    check_gather,    nullptr, nullptr, 0, 0};
const OpContract kGatherElementsContract = {OpCode::kGatherElements, 1,       2,       2, 1, 1,
                                            check_gather_elements,   nullptr, nullptr, 0, 0};
const OpContract kGatherNdContract = {OpCode::kGatherNd, 1,       2,       2, 1, 1,
                                      check_gather_nd,   nullptr, nullptr, 0, 0};
const OpContract kScatterNdContract = {OpCode::kScatterNd,    1,       3, 3, 1, 1, check_scatter_nd,
                                       rules::in_place_first, nullptr, 0, 0};
const OpContract kScatterElementsContract = {
    OpCode::kScatterElements, 1,       3, 3, 1, 1, check_scatter_elements,
    rules::in_place_first,    nullptr, 0, 0};

}  // namespace ingot
