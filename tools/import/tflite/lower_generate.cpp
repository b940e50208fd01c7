// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_generate.cpp - tensors made of numbers: fills, ranges, ones at places,
// diagonals, places of what is true.
#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

void fill(Call& call) {
  const ValueId shape = call.b.cast(call.input(0), DType::kI64);
  call.give(call.b.emit(op::Expand, {call.b.reshape(call.input(1), {}), shape}));
}
void zeros_like(Call& call) {
  const ValueId x = call.input(0);
  call.give(call.b.expand(call.b.scalar(call.b.dtype(x), 0), call.b.dims(x)));
}
void range(Call& call) {
  std::vector<ValueId> all;
  for (size_t i = 0; i < 3; i++) all.push_back(call.b.reshape(call.input(i), {}));
  call.give(call.b.emit(op::Range, all));
}
void one_hot(Call& call) {
  aten::Builder& b = call.b;
  const int64_t depth = call.known_integer(1, "depth");
  const int64_t axis = call.axis(call.integer("axis"), call.rank(0) + 1);
  const ValueId on = b.reshape(call.input(2), {Dim(1)}), off = b.reshape(call.input(3), {Dim(1)});
  const ValueId values = b.emit(op::Concat, {off, on}, {{attr::axis, int64_t(0)}});
  // Indices below 0 are none, where the operator of the graph counts them from the end.
  const ValueId given = b.cast(call.input(0), DType::kI64);
  const ValueId inside = b.emit(op::Where, {b.emit(op::Less, {given, b.scalar(DType::kI64, 0)}),
                                            b.scalar(DType::kI64, double(depth)), given});
  call.give(b.emit(op::OneHot, {inside, b.scalar(DType::kI64, double(depth)), values},
                   {{attr::axis, axis}}));
}
/// Rows of indices of what is not zero.
void where(Call& call) {
  const ValueId at = call.b.emit(op::NonZero, {call.input(0)});
  call.give(call.b.cast(call.b.transpose(at, {1, 0}), call.output_dtype(0)));
}

/// True on the diagonal of the last two axes.
ValueId diagonal(Call& call, const Dim& rows, const Dim& columns) {
  aten::Builder& b = call.b;
  return b.emit(op::Equal, {b.reshape(b.counting(rows), {rows, Dim(1)}),
                            b.reshape(b.counting(columns), {Dim(1), columns})});
}
void matrix_diag(Call& call) {
  const ValueId x = call.input(0);
  Dims dims = call.b.dims(x);
  if (dims.empty()) call.corrupt("its input has no dimensions");
  const Dim n = dims.back();
  dims.insert(dims.end() - 1, Dim(1));
  call.give(call.b.emit(op::Where, {diagonal(call, n, n), call.b.reshape(x, dims),
                                    call.b.scalar(call.b.dtype(x), 0)}));
}
void matrix_set_diag(Call& call) {
  aten::Builder& b = call.b;
  const ValueId x = call.input(0);
  const Dims dims = b.dims(x);
  Dims line = b.dims(call.input(1));
  if (dims.size() < 2 || line.size() + 1 != dims.size())
    call.corrupt("its diagonal does not fit " + graph::text(dims));
  const size_t rank = dims.size();
  const auto rows = dims[rank - 2].value(), columns = dims[rank - 1].value();
  if (!rows || !columns) call.refuse("", "has a symbolic shape", "bind it with --dim");
  // As columns; where there are more of them than numbers, the rest is never looked at.
  ValueId values = call.input(1);
  if (*columns > *rows) {
    std::vector<int64_t> pads(2 * line.size(), 0);
    pads.back() = *columns - *rows;
    values = b.emit(op::Pad, {values, b.integers(pads)}, {{attr::mode, std::string("constant")}});
    line = b.dims(values);
  }
  line.insert(line.end() - 1, Dim(1));
  call.give(b.emit(op::Where,
                   {diagonal(call, dims[rank - 2], dims[rank - 1]), b.reshape(values, line), x}));
}

/// How many boundaries are not above each number.
void bucketize(Call& call) {
  aten::Builder& b = call.b;
  const std::vector<double> given = call.numbers("boundaries");
  const std::vector<float> boundaries(given.begin(), given.end());
  ValueId x = b.cast(call.input(0), DType::kF32);
  Dims dims = b.dims(x);
  dims.push_back(Dim(1));
  const ValueId list = b.constant(
      graph::make_constant(DType::kF32, {int64_t(boundaries.size())}, boundaries.data()));
  const ValueId reached = b.emit(op::GreaterOrEqual, {b.reshape(x, dims), list});
  const ValueId count =
      b.reduce(op::ReduceSum, b.cast(reached, DType::kI32), {int64_t(dims.size()) - 1}, false);
  call.give(b.cast(count, call.output_dtype(0)));
}

/// The different numbers in the order in which they come, and which of them each is.
void unique(Call& call) {
  call.expect_rank(0, 1);
  if (call.integer("idx_out_type") < 0) call.corrupt("its type of indices is none");
  const std::vector<ValueId> made =
      call.b.emit_many(op::Unique, {call.input(0)}, {{attr::sorted, int64_t(0)}}, 4);
  call.give_all({made[0], call.b.cast(made[2], call.output_dtype(1))});
}

}  // namespace

ValueId filled_up(Call& call, ValueId found, int64_t most) {
  aten::Builder& b = call.b;
  const ValueId zeros = b.expand(b.scalar(b.dtype(found), 0), {Dim(most)});
  const Dim count = b.dims(found)[0];
  return b.emit(op::ScatterND, {zeros, b.reshape(b.counting(count), {count, Dim(1)}), found},
                {{attr::reduction, std::string("none")}});
}

namespace {

template <bool soft>
void non_max_suppression(Call& call) {
  aten::Builder& b = call.b;
  const Dims boxes = b.dims(call.input(0));
  if (boxes.size() != 2 || b.rank(call.input(1)) != 1)
    call.corrupt("its boxes have shape " + graph::text(boxes));
  const int64_t most = call.known_integer(2, "max_output_size");
  if (most < 0 || most > (1 << 24)) call.corrupt("asks for " + std::to_string(most) + " boxes");
  if (soft && call.known_number(5, "soft_nms_sigma") != 0)
    call.refuse("soft_nms_sigma", "is not 0, which is not supported");
  const auto one = [&](size_t i) { return b.reshape(call.input(i), {Dim(1)}); };
  const ValueId chosen =
      b.emit(op::NonMaxSuppression,
             {b.reshape(call.input(0), {Dim(1), boxes[0], boxes[1]}),
              b.reshape(call.input(1), {Dim(1), Dim(1), b.dims(call.input(1))[0]}),
              b.integers({most}), one(3), one(4)},
             {{attr::center_point_box, int64_t(0)}});
  const Dim count = b.dims(chosen)[0];
  const ValueId at = b.reshape(b.slice(chosen, 1, Dim(2), Dim(3)), {count});
  const ValueId number = b.reshape(b.slice(b.emit(op::Shape, {chosen}), 0, Dim(0), Dim(1)), {});
  std::vector<ValueId> out = {b.cast(filled_up(call, at, most), call.output_dtype(0))};
  if (soft) {
    const ValueId scores = b.emit(op::Gather, {call.input(1), at}, {{attr::axis, int64_t(0)}});
    out.push_back(filled_up(call, scores, most));
  }
  out.push_back(b.cast(number, call.output_dtype(out.size())));
  call.give_all(out);
}

}  // namespace

void add_generate(TranslateTable& table) {
  table["FILL"] = {2, 2, fill};
  table["ZEROS_LIKE"] = {1, 1, zeros_like};
  table["RANGE"] = {3, 3, range};
  table["ONE_HOT"] = {4, 4, one_hot};
  table["WHERE"] = {1, 1, where};
  table["BUCKETIZE"] = {1, 1, bucketize};
  table["UNIQUE"] = {1, 1, unique};
  table["NON_MAX_SUPPRESSION_V4"] = {5, 5, non_max_suppression<false>};
  table["NON_MAX_SUPPRESSION_V5"] = {6, 6, non_max_suppression<true>};
  table["MATRIX_DIAG"] = {1, 1, matrix_diag};
  table["MATRIX_SET_DIAG"] = {2, 2, matrix_set_diag};
}

}  // namespace ingot::tflite
