// SPDX-License-Identifier: Apache-2.0
// ImageInput: every format, interpolation, range, matrix, siting and order; crops, letterboxes,
// tails and pitches; what is refused.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op/image_input.h"
#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct Geometry {
  const char* name;
  uint32_t width, height;
  ImageArea source;
  int64_t y_width, y_height;
  ImageArea target;
};
const Geometry kGeometries[] = {
    {"as it is", 34, 6, {0, 0, 34, 6}, 34, 6, {0, 0, 34, 6}},
    {"down to a tail", 70, 34, {0, 0, 70, 34}, 33, 15, {0, 0, 33, 15}},
    {"up, letterbox", 12, 10, {0, 0, 12, 10}, 37, 24, {4, 0, 28, 24}},
    {"odd crop, down", 64, 40, {7, 3, 51, 35}, 23, 21, {2, 3, 17, 16}},
    {"third", 66, 36, {0, 0, 66, 36}, 22, 16, {0, 2, 22, 12}},
    {"one pixel", 8, 4, {3, 1, 1, 1}, 5, 4, {0, 0, 5, 4}},
    {"to one pixel", 20, 12, {1, 1, 18, 11}, 1, 1, {0, 0, 1, 1}},
};

ImageInputAttributes attributes(PixelFormat format, const Geometry& g, uint32_t channels) {
  ImageInputAttributes t;
  t.format = format;
  t.width = g.width, t.height = g.height;
  t.source = g.source, t.target = g.target;
  t.channels = channels;
  for (uint32_t c = 0; c < channels; c++) {
    t.pad[c] = 114 + float(c);
    t.scale[c] = 1.0f / (58.0f + float(c));
    t.bias[c] = -2.1f + 0.1f * float(c);
  }
  return t;
}

Tensor image_of(const ImageInputAttributes& t, const Geometry& g, int64_t frames) {
  const int64_t c = t.channels;
  return t.planar ? Tensor(DType::kF32, {frames, c, g.y_height, g.y_width})
                  : Tensor(DType::kF32, {frames, g.y_height, g.y_width, c});
}

std::vector<Tensor> frame_of(const ImageInputAttributes& t, int64_t frames, int64_t gap,
                             bool apart) {
  const int planes = pixel_layout(t.format).planes;
  std::vector<Tensor> operands;
  for (int i = 0; i < (apart ? planes : 1); i++) {
    const int64_t rows = apart ? plane_rows(t.format, t.height, i) : frame_rows(t.format, t.height);
    operands.push_back(
        Tensor(DType::kU8, {frames, rows, plane_row_bytes(t.format, t.width, i) + gap})
            .random(uint32_t(7 + i), 0, 255));
  }
  return operands;
}

void check(const ImageInputAttributes& t, const Geometry& g, int64_t frames, int64_t gap,
           bool apart) {
  const std::string name = std::string(pixel_format_name(t.format)) + " " + g.name;
  run_case({name,
            OpCode::kImageInput,
            &t,
            frame_of(t, frames, gap, apart),
            {image_of(t, g, frames)},
            {2e-6, 4e-5}});
}

}  // namespace

TEST_CASE("image_input: every format, geometry and interpolation, in either order") {
  for (int format = 0; format < kPixelFormatCount; format++)
    for (const Geometry& g : kGeometries)
      for (int interpolation = 0; interpolation < 3; interpolation++)
        for (bool planar : {false, true}) {
          ImageInputAttributes t = attributes(PixelFormat(format), g, 3);
          t.interpolation = PixelInterpolation(interpolation);
          t.planar = planar;
          t.bgr = format % 2 == 1;
          check(t, g, 1, planar ? 6 : 0, false);
        }
}

TEST_CASE("image_input: gray, matrices, ranges and sitings") {
  for (int format = 0; format < kPixelFormatCount; format++)
    for (int mode = 0; mode < 16; mode++) {
      ImageInputAttributes t = attributes(PixelFormat(format), kGeometries[3], mode & 1 ? 1 : 3);
      t.matrix = mode & 2 ? ColorMatrix::kBt709 : ColorMatrix::kBt601;
      t.full_range = (mode & 4) != 0;
      t.siting = mode & 8 ? ChromaSiting::kCenter : ChromaSiting::kLeft;
      check(t, kGeometries[3], 1, 0, false);
    }
}

TEST_CASE("image_input: batches, and planes as operands of their own") {
  for (PixelFormat format :
       {PixelFormat::kNv12, PixelFormat::kNv21, PixelFormat::kI420, PixelFormat::kRgb})
    for (const Geometry& g : kGeometries)
      for (bool apart : {false, true}) {
        ImageInputAttributes t = attributes(format, g, 3);
        check(t, g, 3, 2, apart);
        t.interpolation = PixelInterpolation::kArea;
        check(t, g, 2, 4, apart);
      }
}

TEST_CASE("image_input: white, black and primaries of video come out as the recommendations say") {
  // BT.601 limited: Y, U, V -> R, G, B.
  const struct {
    double y, u, v, r, g, b;
  } kColors[] = {{235, 128, 128, 255, 255, 255}, {16, 128, 128, 0, 0, 0},
                 {81, 90, 240, 255, 0, 0},       {145, 54, 34, 0, 255, 0},
                 {41, 240, 110, 0, 0, 255},      {0, 128, 128, 0, 0, 0}};
  const Geometry g = {"", 2, 2, {0, 0, 2, 2}, 2, 2, {0, 0, 2, 2}};
  for (const auto& color : kColors) {
    ImageInputAttributes t = attributes(PixelFormat::kNv12, g, 3);
    for (int c = 0; c < 3; c++) t.scale[c] = 1, t.bias[c] = 0;
    Case test{
        "color",     OpCode::kImageInput, &t, {Tensor(DType::kU8, {1, 3, 2})}, {image_of(t, g, 1)},
        {2e-6, 4e-5}};
    test.inputs[0].values({color.y, color.y, color.y, color.y, color.u, color.v});
    run_case(test);
    const double rgb[3] = {color.r, color.g, color.b};
    const ImageColor k = image_color(t.matrix, t.full_range);
    const double l = (color.y - k.offset) * k.luma, u = color.u - 128, v = color.v - 128;
    const double got[3] = {l + k.red_v * v, l + k.green_u * u + k.green_v * v, l + k.blue_u * u};
    for (int c = 0; c < 3; c++)
      CHECK(std::fabs(std::fmin(std::fmax(got[c], 0), 255) - rgb[c]) < 1.5);
  }
}

TEST_CASE("image_input: the contract refuses") {
  const Geometry& g = kGeometries[3];
  const ImageInputAttributes good = attributes(PixelFormat::kNv12, g, 3);
  ImageInputAttributes t = good;
  const auto rule = [&](std::vector<Tensor> frame, Tensor y) {
    return refusal({"refused", OpCode::kImageInput, &t, std::move(frame), {std::move(y)}});
  };
  const auto attribute = [&] { return rule(frame_of(good, 1, 0, false), image_of(good, g, 1)); };
  t = good, t.format = PixelFormat(10);
  CHECK(attribute() == "image_input.format is known");
  t = good, t.interpolation = PixelInterpolation(3);
  CHECK(attribute() == "image_input.interpolation is known");
  t = good, t.matrix = ColorMatrix(2);
  CHECK(attribute() == "image_input.matrix is known");
  t = good, t.siting = ChromaSiting(2);
  CHECK(attribute() == "image_input.siting is known");
  t = good, t.width = 0;
  CHECK(attribute() == "image_input: a frame has 1 to 16384 columns and rows");
  t = good, t.height = 16386;
  CHECK(attribute() == "image_input: a frame has 1 to 16384 columns and rows");
  t = good, t.width = 63;
  CHECK(attribute() == "image_input: two columns share chroma, so their number is even");
  t = good, t.height = 39;
  CHECK(attribute() == "image_input: two rows share chroma, so their number is even");
  t = good, t.source.left = 14;
  CHECK(attribute() == "image_input.source lies in the frame and is not empty");
  t = good, t.source.height = 0;
  CHECK(attribute() == "image_input.source lies in the frame and is not empty");
  t = good, t.source.left = 0xffffffffu;
  CHECK(attribute() == "image_input.source lies in the frame and is not empty");
  t = good, t.target.top = 6;
  CHECK(attribute() == "image_input.target lies in y and is not empty");
  t = good, t.target.width = 0;
  CHECK(attribute() == "image_input.target lies in y and is not empty");
  t = good, t.channels = 1;
  CHECK(attribute() == "image_input.pad, scale and bias have an entry a channel");
  t = good, t.pad[2] = 256;
  CHECK(attribute() == "image_input.pad is within 0 .. 255");
  t = good, t.pad[0] = NAN;
  CHECK(attribute() == "image_input.pad is within 0 .. 255");
  t = good, t.scale[1] = INFINITY;
  CHECK(attribute() == "image_input.scale and bias are finite");
  t = good, t.bias[1] = NAN;
  CHECK(attribute() == "image_input.scale and bias are finite");
  t = good;
  CHECK(rule({Tensor(DType::kI8, {1, 60, 64})}, image_of(t, g, 1)) == "image_input takes u8");
  CHECK(rule({Tensor(DType::kU8, {60, 64})}, image_of(t, g, 1)) ==
        "image_input takes [N, rows, pitch]");
  CHECK(rule({Tensor(DType::kU8, {2, 60, 64})}, image_of(t, g, 1)) ==
        "image_input has as many frames as images");
  CHECK(rule({Tensor(DType::kU8, {1, 40, 64})}, image_of(t, g, 1)) ==
        "image_input: rows of the operand");
  CHECK(rule({Tensor(DType::kU8, {1, 60, 63})}, image_of(t, g, 1)) ==
        "image_input: the pitch holds a row");
  CHECK(rule(frame_of(t, 1, 0, false), Tensor(DType::kF16, {1, g.y_height, g.y_width, 3})) ==
        "image_input gives f32");
  CHECK(rule(frame_of(t, 1, 0, false), Tensor(DType::kF32, {g.y_height, g.y_width, 3})) ==
        "image_input gives four dimensions");
  CHECK(rule(frame_of(t, 1, 0, false), Tensor(DType::kF32, {1, g.y_height, g.y_width, 4})) ==
        "image_input gives one channel or three");
  CHECK(rule(frame_of(t, 1, 0, false), Tensor(DType::kF32, {1, 16385, g.y_width, 3})) ==
        "image_input: y has at most 16384 columns and rows");
  t.format = PixelFormat::kI420;
  CHECK(rule({Tensor(DType::kU8, {1, 60, 65})}, image_of(t, g, 1)) ==
        "image_input: the pitch of i420 in one operand is even");
  CHECK(rule({Tensor(DType::kU8, {1, 40, 64}), Tensor(DType::kU8, {1, 20, 32})},
             image_of(t, g, 1)) == "image_input has one operand, or one for each plane");
}
