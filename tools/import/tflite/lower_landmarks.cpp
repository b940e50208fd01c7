// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_landmarks.cpp - customs of MediaPipe's landmark networks, second
// version: a box around some landmarks as a matrix, an image cut out by it, landmarks moved back by
// it. In f32, in the order that MediaPipe computes them on a CPU.
#include <cmath>
#include <limits>

#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/custom_options.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

constexpr int kVersion = 2;
constexpr int64_t kMaxExtent = 1 << 16;

void expect_version(Call& call) {
  const int version = call.translator.file().kind(call.op).version;
  if (version != kVersion)
    call.refuse("", "is version " + std::to_string(version) + " of it; supported is " +
                        std::to_string(kVersion));
}

/// Arithmetic of f32 scalars and tensors that broadcast.
struct Floats {
  aten::Builder& b;
  ValueId of(double number) { return b.scalar(DType::kF32, number); }
  ValueId add(ValueId x, ValueId y) { return b.emit(op::Add, {x, y}); }
  ValueId sub(ValueId x, ValueId y) { return b.emit(op::Sub, {x, y}); }
  ValueId mul(ValueId x, ValueId y) { return b.emit(op::Mul, {x, y}); }
  ValueId div(ValueId x, ValueId y) { return b.emit(op::Div, {x, y}); }
};

/// [1, n, 3] at these places of axis 1: their x (0) or y (1), of shape [count].
ValueId coordinates(Call& call, const std::vector<int64_t>& places, int64_t which) {
  aten::Builder& b = call.b;
  const ValueId some =
      b.emit(op::Gather, {call.input(0), b.integers(places)}, {{attr::axis, int64_t(1)}});
  return b.reshape(b.slice(some, 2, Dim(which), Dim(which + 1)), {Dim(int64_t(places.size()))});
}

/// The numbers of a matrix's first two rows, [1, 4, 4] otherwise the identity.
ValueId matrix_of(aten::Builder& b, const ValueId (&rows)[2][3]) {
  const ValueId zero = b.scalar(DType::kF32, 0), one = b.scalar(DType::kF32, 1);
  std::vector<ValueId> all;
  for (const auto& row : rows) all.insert(all.end(), {row[0], row[1], zero, row[2]});
  all.insert(all.end(), {zero, zero, one, zero, zero, zero, zero, one});
  for (ValueId& x : all) x = b.reshape(x, {Dim(1)});
  return b.reshape(b.emit(op::Concat, all, {{attr::axis, int64_t(0)}}), {Dim(1), Dim(4), Dim(4)});
}

/// The box around landmarks, turned as the line from the left to the right one is: what takes a
/// pixel of the part to a place in the image.
void landmarks_to_matrix(Call& call) {
  expect_version(call);
  const Dims dims = call.b.dims(call.input(0));
  const auto count = dims.size() == 3 ? dims[1].value() : std::nullopt;
  if (!count || dims[0] != Dim(1) || dims[2] != Dim(3))
    call.corrupt("its landmarks have shape " + graph::text(dims) + ", expected [1, N, 3]");
  CustomOptions options(call);
  const int64_t left = options.whole("left_rotation_idx", 0, *count - 1),
                right = options.whole("right_rotation_idx", 0, *count - 1);
  const double height = double(options.whole("output_height", 1, kMaxExtent)),
               width = double(options.whole("output_width", 1, kMaxExtent));
  constexpr double kTiny = std::numeric_limits<float>::min(), kHuge = 1e6, kTurn = 1e3;
  const double scale_x = options.number("scale_x", kTiny, kHuge),
               scale_y = options.number("scale_y", kTiny, kHuge),
               target = options.number("target_rotation_radians", -kTurn, kTurn);
  const std::vector<int64_t> around = options.integers("subset_idxs");
  for (const int64_t place : around)
    if (place < 0 || place >= *count)
      call.corrupt("its option subset_idxs names landmark " + std::to_string(place) + " of " +
                   std::to_string(*count));
  options.expect_all_read();

  aten::Builder& b = call.b;
  Floats f{b};
  // The cosine and the sine of target - atan2(dy, dx); of no line at all it is the target.
  const auto difference = [&](int64_t axis) {
    return b.reshape(f.sub(coordinates(call, {right}, axis), coordinates(call, {left}, axis)), {});
  };
  const ValueId dx = difference(0), dy = difference(1);
  const ValueId length = b.emit(op::Sqrt, {f.add(f.mul(dx, dx), f.mul(dy, dy))});
  const ValueId is_none = b.emit(op::Equal, {length, f.of(0)});
  const ValueId along = b.emit(op::Where, {is_none, f.of(1), f.div(dx, length)}),
                across = b.emit(op::Where, {is_none, f.of(0), f.div(dy, length)});
  const ValueId cos_t = f.of(std::cos(target)), sin_t = f.of(std::sin(target));
  const ValueId cos_r = f.add(f.mul(cos_t, along), f.mul(sin_t, across)),
                sin_r = f.sub(f.mul(sin_t, along), f.mul(cos_t, across));

  const ValueId x = coordinates(call, around, 0), y = coordinates(call, around, 1);
  const ValueId turned[] = {f.sub(f.mul(cos_r, x), f.mul(sin_r, y)),
                            f.add(f.mul(sin_r, x), f.mul(cos_r, y))};
  ValueId extent[2], middle[2];
  for (int axis = 0; axis < 2; axis++) {
    const ValueId most = b.reduce(op::ReduceMax, turned[axis], {0}, false),
                  least = b.reduce(op::ReduceMin, turned[axis], {0}, false);
    extent[axis] = f.sub(most, least);
    middle[axis] = f.div(f.add(least, most), f.of(2));
  }
  const ValueId center_x = f.add(f.mul(cos_r, middle[0]), f.mul(sin_r, middle[1])),
                center_y = f.sub(f.mul(cos_r, middle[1]), f.mul(sin_r, middle[0]));
  const ValueId size_x = f.div(f.mul(f.of(scale_x), extent[0]), f.of(width)),
                size_y = f.div(f.mul(f.of(scale_y), extent[1]), f.of(height));
  const ValueId turn[2][2] = {{f.mul(cos_r, size_x), f.mul(sin_r, size_y)},
                              {b.emit(op::Neg, {f.mul(sin_r, size_x)}), f.mul(cos_r, size_y)}};
  const auto shifted = [&](const ValueId(&row)[2], ValueId center) {
    return f.add(f.add(f.mul(row[0], f.of(-width / 2)), f.mul(row[1], f.of(-height / 2))), center);
  };
  call.give(matrix_of(b, {{turn[0][0], turn[0][1], shifted(turn[0], center_x)},
                          {turn[1][0], turn[1][1], shifted(turn[1], center_y)}}));
}

/// The numbers 0, 1 and 3 of a row of the matrix that is input 1.
struct Row {
  ValueId x, y, shift;
};
Row row_of(Call& call, int64_t which) {
  aten::Builder& b = call.b;
  if (graph::product(b.dims(call.input(1))) != Dim(16))
    call.corrupt("its matrix has shape " + graph::text(b.dims(call.input(1))) +
                 ", expected [1, 4, 4]");
  const ValueId all = b.reshape(call.input(1), {Dim(16)});
  const auto at = [&](int64_t i) { return b.reshape(b.slice(all, 0, Dim(i), Dim(i + 1)), {}); };
  return {at(4 * which), at(4 * which + 1), at(4 * which + 3)};
}

/// A part of an image, read between pixels; 0 outside of it.
void transform_image(Call& call) {
  expect_version(call);
  aten::Builder& b = call.b;
  const Dims dims = b.dims(call.input(0));
  const auto rows = dims.size() == 4 ? dims[1].value() : std::nullopt,
             columns = dims.size() == 4 ? dims[2].value() : std::nullopt;
  if (!rows || !columns || dims[0] != Dim(1))
    call.corrupt("its image has shape " + graph::text(dims) + ", expected [1, H, W, C]");
  CustomOptions options(call);
  const int64_t height = options.whole("output_height", 1, kMaxExtent),
                width = options.whole("output_width", 1, kMaxExtent);
  options.expect_all_read();
  Floats f{b};
  const ValueId across =
                    b.reshape(b.cast(b.counting(Dim(width)), DType::kF32), {Dim(1), Dim(width)}),
                down =
                    b.reshape(b.cast(b.counting(Dim(height)), DType::kF32), {Dim(height), Dim(1)});
  const double last[] = {double(*columns - 1), double(*rows - 1)},
               extents[] = {double(*columns), double(*rows)};
  ValueId inside = kAbsent, places[2];
  for (int axis = 0; axis < 2; axis++) {
    const Row row = row_of(call, axis);
    // From the middles of pixels to the middles of pixels.
    const ValueId half = f.sub(f.add(f.mul(row.x, f.of(0.5)), f.mul(row.y, f.of(0.5))), f.of(0.5));
    const ValueId at =
        f.add(f.add(f.mul(row.x, across), f.mul(row.y, down)), f.add(row.shift, half));
    for (const ValueId holds : {b.emit(op::GreaterOrEqual, {at, f.of(0)}),
                                b.emit(op::LessOrEqual, {at, f.of(last[axis])})})
      inside = inside == kAbsent ? holds : b.emit(op::And, {inside, holds});
    // As GridSample counts with align_corners 0: -1 and 1 are the outer edges.
    const ValueId scaled =
        f.sub(f.div(f.add(f.mul(at, f.of(2)), f.of(1)), f.of(extents[axis])), f.of(1));
    places[axis] = b.reshape(scaled, {Dim(1), Dim(height), Dim(width), Dim(1)});
  }
  const ValueId grid = b.emit(op::Concat, {places[0], places[1]}, {{attr::axis, int64_t(3)}});
  const ValueId sampled = b.emit(op::GridSample, {call.channels_second(call.input(0)), grid},
                                 {{attr::mode, std::string("linear")},
                                  {attr::padding_mode, std::string("zeros")},
                                  {attr::align_corners, int64_t(0)}});
  const ValueId mask = b.reshape(inside, {Dim(1), Dim(height), Dim(width), Dim(1)});
  call.give(b.emit(op::Where, {mask, call.channels_last(sampled), f.of(0)}));
}

void transform_landmarks(Call& call) {
  expect_version(call);
  aten::Builder& b = call.b;
  const Dims dims = b.dims(call.input(0));
  const auto numbers = dims.size() == 3 ? dims[2].value() : std::nullopt;
  if (!numbers || dims[0] != Dim(1) || (*numbers != 2 && *numbers != 3))
    call.corrupt("its landmarks have shape " + graph::text(dims) +
                 ", expected [1, N, 2] or [1, N, 3]");
  Floats f{b};
  const auto part = [&](int64_t i) { return b.slice(call.input(0), 2, Dim(i), Dim(i + 1)); };
  std::vector<ValueId> moved;
  for (int64_t axis = 0; axis < 2; axis++) {
    const Row row = row_of(call, axis);
    moved.push_back(f.add(f.add(f.mul(row.x, part(0)), f.mul(row.y, part(1))), row.shift));
  }
  if (*numbers == 3) moved.push_back(part(2));
  call.give(b.emit(op::Concat, moved, {{attr::axis, int64_t(2)}}));
}

}  // namespace

void add_landmarks(TranslateTable& table) {
  table["Landmarks2TransformMatrix"] = {1, 1, landmarks_to_matrix};
  table["TransformTensorBilinear"] = {2, 2, transform_image};
  table["TransformLandmarks"] = {2, 2, transform_landmarks};
}

}  // namespace ingot::tflite
