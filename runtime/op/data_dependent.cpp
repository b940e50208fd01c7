// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/data_dependent.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

using rules::output;
using rules::refuse;

bool check_count(const OpArguments& a, int at, Violation* v) {
  const TensorType& count = a.outputs[at];
  if (count.dtype != DType::kI64 || count.rank != 0)
    return refuse(v, "what is found is an i64 scalar", output(at), int64_t(DType::kI64),
                  int64_t(count.dtype));
  return true;
}

/// An i64 output of these dims.
bool check_indices(const OpArguments& a, int at, int rank, const int64_t* dims, Violation* v) {
  const TensorType& y = a.outputs[at];
  if (!y.present()) return true;
  if (y.dtype != DType::kI64)
    return refuse(v, "indices and counts are i64", output(at), int64_t(DType::kI64),
                  int64_t(y.dtype));
  if (y.rank != rank) return refuse(v, "rank of indices", output(at), rank, y.rank);
  for (int i = 0; i < rank; i++)
    if (y.dims[i] != dims[i])
      return refuse(v, "extents of indices are planned for the most", output(at), dims[i],
                    y.dims[i]);
  return true;
}

bool check_nonzero(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kNonZeroContract, {}, v)) return false;
  const int64_t dims[2] = {a.inputs[0].rank, a.inputs[0].elements()};
  return check_indices(a, 0, 2, dims, v) && check_count(a, 1, v);
}

bool check_unique(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kUniqueContract, {1, 0x10u, 0}, v)) return false;
  const UniqueAttributes& t = a.as<UniqueAttributes>();
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  if (!t.flat && t.axis >= x.rank)
    return refuse(v, "unique.axis is below the rank", Violation::kAttribute, x.rank, t.axis);
  const int64_t m = t.flat ? x.elements() : int64_t{x.dims[t.axis]};
  if (y.present()) {
    if (!rules::check_same_dtype(x, y, output(0), v)) return false;
    if (t.flat && (y.rank != 1 || y.dims[0] != m))
      return refuse(v, "unique's y is planned for the most", output(0), m,
                    y.rank ? int64_t{y.dims[0]} : 0);
    if (!t.flat && !rules::check_same_dims(x, y, output(0), v)) return false;
  }
  for (int i = 1; i <= 3; i++)
    if (!check_indices(a, i, 1, &m, v)) return false;
  return check_count(a, 4, v);
}

/// Order of the items, where each kind is in it, and the rank of each kind.
ScratchNeed unique_scratch(const OpArguments& a, int) {
  const UniqueAttributes& t = a.as<UniqueAttributes>();
  const uint64_t m = uint64_t(t.flat ? a.inputs[0].elements() : int64_t{a.inputs[0].dims[t.axis]});
  return {0, 3 * m * sizeof(int64_t)};
}

bool check_setting(const OpArguments& a, int at, DType dtype, Violation* v) {
  const TensorView* x = a.optional(at);
  if (!x) return true;
  if (x->dtype != dtype)
    return refuse(v, "a setting of non_max_suppression has this type", at, int64_t(dtype),
                  int64_t(x->dtype));
  return x->elements() == 1 ||
         refuse(v, "a setting of non_max_suppression is one number", at, 1, x->elements());
}

bool check_nms(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kNonMaxSuppressionContract, {3, 3, 0}, v)) return false;
  const TensorType &boxes = a.inputs[0], &scores = a.inputs[1], &y = a.outputs[0];
  if (boxes.dtype != DType::kF32)
    return refuse(v, "boxes are f32", 0, int64_t(DType::kF32), int64_t(boxes.dtype));
  if (scores.dtype != DType::kF32)
    return refuse(v, "scores are f32", 1, int64_t(DType::kF32), int64_t(scores.dtype));
  if (boxes.rank != 3 || boxes.dims[2] != 4)
    return refuse(v, "boxes are [B, N, 4]", 0, 4,
                  boxes.rank == 3 ? int64_t{boxes.dims[2]} : boxes.rank);
  if (scores.rank != 3 || scores.dims[0] != boxes.dims[0] || scores.dims[2] != boxes.dims[1])
    return refuse(v, "scores are [B, C, N]", 1, boxes.dims[1],
                  scores.rank == 3 ? int64_t{scores.dims[2]} : scores.rank);
  if (!check_setting(a, 2, DType::kI64, v) || !check_setting(a, 3, DType::kF32, v) ||
      !check_setting(a, 4, DType::kF32, v))
    return false;
  if (y.dtype != DType::kI64 || y.rank != 2 || y.dims[1] != 3)
    return refuse(v, "non_max_suppression's y is i64 [n, 3]", output(0), 3,
                  y.rank == 2 ? int64_t{y.dims[1]} : y.rank);
  return check_count(a, 1, v);
}

/// The order of the boxes of a class, and those that were picked.
ScratchNeed nms_scratch(const OpArguments& a, int) {
  return {0, 2 * uint64_t(a.inputs[0].dims[1]) * sizeof(int64_t)};
}

}  // namespace

int found_axis(OpCode op, const void* attributes, uint32_t output) {
  if (op == OpCode::kNonZero && output == 0) return 1;
  if (op == OpCode::kNonMaxSuppression && output == 0) return 0;
  if (op != OpCode::kUnique) return -1;
  const UniqueAttributes& t = *static_cast<const UniqueAttributes*>(attributes);
  if (output == 0) return t.flat ? 0 : int(t.axis);
  return output == 1 || output == 3 ? 0 : -1;
}

const OpContract kNonZeroContract = {OpCode::kNonZero, 1,       1,       1, 2, 2,
                                     check_nonzero,    nullptr, nullptr, 0, 0};
const OpContract kUniqueContract = {OpCode::kUnique, 1, 1, 1, 5, 5, check_unique, nullptr,
                                    unique_scratch,  0, 0};
const OpContract kNonMaxSuppressionContract = {
    OpCode::kNonMaxSuppression, 1, 2, 5, 2, 2, check_nms, nullptr, nms_scratch, 0, 0};

}  // namespace ingot
