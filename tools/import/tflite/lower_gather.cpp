// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_gather.cpp - elements by index, and written by index.
#include <algorithm>

#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

ValueId zeros(Call& call, DType dtype, const Dims& dims) {
  return call.b.expand(call.b.scalar(dtype, 0), dims);
}

void gather(Call& call) {
  aten::Builder& b = call.b;
  const ValueId x = call.input(0), indices = call.input(1);
  const int64_t rank = b.rank(x), axis = call.axis(call.integer("axis"), rank);
  int64_t batch = call.integer("batch_dims");
  if (batch < 0) batch += b.rank(indices);
  if (batch == 0) return call.give(b.emit(op::Gather, {x, indices}, {{attr::axis, axis}}));
  if (batch < 0 || batch > axis || batch > b.rank(indices))
    call.corrupt("has " + std::to_string(batch) + " batch dimensions");
  // The axis behind the batch, then what each index takes is whole.
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < batch; d++) perm.push_back(d);
  perm.push_back(axis);
  for (int64_t d = batch; d < rank; d++)
    if (d != axis) perm.push_back(d);
  Dims one = b.dims(indices);
  one.push_back(Dim(1));
  ValueId made = b.emit(op::GatherND, {b.transpose(x, perm), b.reshape(indices, one)},
                        {{attr::batch_dims, batch}});
  // batch, indices, before the axis, behind it: the middle two change places.
  const int64_t count = b.rank(indices) - batch, before = axis - batch;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < batch; d++) order.push_back(d);
  for (int64_t d = 0; d < before; d++) order.push_back(batch + count + d);
  for (int64_t d = 0; d < count; d++) order.push_back(batch + d);
  for (int64_t d = batch + count + before; d < b.rank(made); d++) order.push_back(d);
  call.give(b.transpose(made, order));
}
void embedding_lookup(Call& call) {
  call.give(call.b.emit(op::Gather, {call.input(1), call.input(0)}, {{attr::axis, int64_t(0)}}));
}

/// What is written to one place more than once is added.
void scatter_nd(Call& call) {
  const ValueId indices = call.b.cast(call.input(0), DType::kI64);
  const DType dtype = call.b.dtype(call.input(1));
  const bool is_bool = dtype == DType::kBool;  // true where anything true is written
  const ValueId updates = is_bool ? call.b.cast(call.input(1), DType::kI32) : call.input(1);
  const ValueId empty = zeros(call, call.b.dtype(updates), call.known_dims(2, "shape"));
  const ValueId sum = call.b.emit(op::ScatterND, {empty, indices, updates},
                                  {{attr::reduction, std::string("add")}});
  call.give(is_bool ? call.b.cast(sum, dtype) : sum);
}

void sparse_to_dense(Call& call) {
  aten::Builder& b = call.b;
  const Dims shape = call.known_dims(1, "output_shape");
  ValueId indices = b.cast(call.input(0), DType::kI64), values = call.input(2);
  const Dims given = b.dims(indices);
  if (given.size() < 2) {  // one index, or one of a vector each
    const Dim rows = given.empty() ? Dim(1) : given[0];
    indices = b.reshape(indices, {rows, Dim(1)});
  }
  values = b.expand(values, {b.dims(indices)[0]});
  const ValueId filled = b.expand(call.input(3), shape);
  call.give(
      b.emit(op::ScatterND, {filled, indices, values}, {{attr::reduction, std::string("none")}}));
}

/// Rows of one segment are folded; segments that have none are `empty`.
void segments(Call& call, Dim count, const char* reduction, double empty) {
  aten::Builder& b = call.b;
  const ValueId x = call.input(0);
  Dims dims = b.dims(x), rows = b.dims(call.input(1));
  if (rows.size() != 1 || dims.empty()) call.corrupt("its segments are of no rows");
  dims[0] = count;
  const ValueId start = b.expand(b.scalar(b.dtype(x), empty), dims);
  const ValueId indices = b.reshape(b.cast(call.input(1), DType::kI64), {rows[0], Dim(1)});
  call.give(
      b.emit(op::ScatterND, {start, indices, x}, {{attr::reduction, std::string(reduction)}}));
}
void segment_sum(Call& call) {
  const std::vector<int64_t> ids = call.known_integers(1, "segment_ids");
  int64_t count = 0;
  for (const int64_t id : ids) {
    if (id < 0 || id > (int64_t{1} << 31)) call.corrupt("a segment is " + std::to_string(id));
    count = std::max(count, id + 1);
  }
  segments(call, Dim(count), "add", 0);
}
void unsorted_sum(Call& call) {
  segments(call, Dim(call.known_integer(2, "num_segments")), "add", 0);
}
void unsorted_product(Call& call) {
  segments(call, Dim(call.known_integer(2, "num_segments")), "mul", 1);
}
void unsorted_extreme(Call& call, const char* reduction, double empty) {
  const DType dtype = call.b.dtype(call.input(0));
  if (dtype == DType::kI32)
    empty = empty < 0 ? INT32_MIN : INT32_MAX;
  else if (dtype != DType::kF32)
    call.refuse("", "is supported of float32 and int32");
  segments(call, Dim(call.known_integer(2, "num_segments")), reduction, empty);
}
void unsorted_maximum(Call& call) { unsorted_extreme(call, "max", -3.4028234663852886e38); }
void unsorted_minimum(Call& call) { unsorted_extreme(call, "min", 3.4028234663852886e38); }

}  // namespace

void add_gather(TranslateTable& table) {
  table["GATHER"] = {2, 2, gather};
  table["EMBEDDING_LOOKUP"] = {2, 2, embedding_lookup};
  table["SCATTER_ND"] = {3, 3, scatter_nd};
  table["SPARSE_TO_DENSE"] = {4, 4, sparse_to_dense};
  table["SEGMENT_SUM"] = {2, 2, segment_sum};
  table["UNSORTED_SEGMENT_SUM"] = {3, 3, unsorted_sum};
  table["UNSORTED_SEGMENT_PROD"] = {3, 3, unsorted_product};
  table["UNSORTED_SEGMENT_MAX"] = {3, 3, unsorted_maximum};
  table["UNSORTED_SEGMENT_MIN"] = {3, 3, unsorted_minimum};
}

}  // namespace ingot::tflite
