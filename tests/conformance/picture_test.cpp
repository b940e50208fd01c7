// Picture: every format, interpolation, range, matrix, siting and order; crops, letterboxes, tails
// and pitches; what is refused.
#include "runtime/op/picture.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct Geometry {
  const char* name;
  uint32_t width, height;
  PictureArea source;
  int64_t y_width, y_height;
  PictureArea target;
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

PictureAttributes attributes(PixelFormat format, const Geometry& g, uint32_t channels) {
  PictureAttributes t;
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

Tensor picture_of(const PictureAttributes& t, const Geometry& g, int64_t frames) {
  const int64_t c = t.channels;
  return t.planar ? Tensor(DType::kF32, {frames, c, g.y_height, g.y_width})
                  : Tensor(DType::kF32, {frames, g.y_height, g.y_width, c});
}

std::vector<Tensor> frame_of(const PictureAttributes& t, int64_t frames, int64_t gap, bool apart) {
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

void check(const PictureAttributes& t, const Geometry& g, int64_t frames, int64_t gap, bool apart) {
  const std::string name = std::string(pixel_format_name(t.format)) + " " + g.name;
  run_case({name,
            OpCode::kPicture,
            &t,
            frame_of(t, frames, gap, apart),
            {picture_of(t, g, frames)},
            {2e-6, 4e-5},
            {}});
}

}  // namespace

TEST_CASE("picture: every format, geometry and interpolation, in either order") {
  for (int format = 0; format < kPixelFormatCount; format++)
    for (const Geometry& g : kGeometries)
      for (int interpolation = 0; interpolation < 3; interpolation++)
        for (bool planar : {false, true}) {
          PictureAttributes t = attributes(PixelFormat(format), g, 3);
          t.interpolation = PixelInterpolation(interpolation);
          t.planar = planar;
          t.bgr = format % 2 == 1;
          check(t, g, 1, planar ? 6 : 0, false);
        }
}

TEST_CASE("picture: gray, matrices, ranges and sitings") {
  for (int format = 0; format < kPixelFormatCount; format++)
    for (int mode = 0; mode < 16; mode++) {
      PictureAttributes t = attributes(PixelFormat(format), kGeometries[3], mode & 1 ? 1 : 3);
      t.matrix = mode & 2 ? ColorMatrix::kBt709 : ColorMatrix::kBt601;
      t.full_range = (mode & 4) != 0;
      t.siting = mode & 8 ? ChromaSiting::kCenter : ChromaSiting::kLeft;
      check(t, kGeometries[3], 1, 0, false);
    }
}

TEST_CASE("picture: batches, and planes as operands of their own") {
  for (PixelFormat format :
       {PixelFormat::kNv12, PixelFormat::kNv21, PixelFormat::kI420, PixelFormat::kRgb})
    for (const Geometry& g : kGeometries)
      for (bool apart : {false, true}) {
        PictureAttributes t = attributes(format, g, 3);
        check(t, g, 3, 2, apart);
        t.interpolation = PixelInterpolation::kArea;
        check(t, g, 2, 4, apart);
      }
}

TEST_CASE("picture: white, black and primaries of video come out as the recommendations say") {
  // BT.601 limited: Y, U, V -> R, G, B.
  const struct {
    double y, u, v, r, g, b;
  } kColors[] = {{235, 128, 128, 255, 255, 255}, {16, 128, 128, 0, 0, 0},
                 {81, 90, 240, 255, 0, 0},       {145, 54, 34, 0, 255, 0},
                 {41, 240, 110, 0, 0, 255},      {0, 128, 128, 0, 0, 0}};
  const Geometry g = {"", 2, 2, {0, 0, 2, 2}, 2, 2, {0, 0, 2, 2}};
  for (const auto& color : kColors) {
    PictureAttributes t = attributes(PixelFormat::kNv12, g, 3);
    for (int c = 0; c < 3; c++) t.scale[c] = 1, t.bias[c] = 0;
    Case test{"color",
              OpCode::kPicture,
              &t,
              {Tensor(DType::kU8, {1, 3, 2})},
              {picture_of(t, g, 1)},
              {2e-6, 4e-5},
              {}};
    test.inputs[0].values({color.y, color.y, color.y, color.y, color.u, color.v});
    run_case(test);
    const double rgb[3] = {color.r, color.g, color.b};
    const PictureColor k = picture_color(t.matrix, t.full_range);
    const double l = (color.y - k.offset) * k.luma, u = color.u - 128, v = color.v - 128;
    const double got[3] = {l + k.red_v * v, l + k.green_u * u + k.green_v * v, l + k.blue_u * u};
    for (int c = 0; c < 3; c++)
      CHECK(std::fabs(std::fmin(std::fmax(got[c], 0), 255) - rgb[c]) < 1.5);
  }
}

TEST_CASE("picture: the contract refuses") {
  const Geometry& g = kGeometries[3];
  const PictureAttributes good = attributes(PixelFormat::kNv12, g, 3);
  PictureAttributes t = good;
  const auto rule = [&](std::vector<Tensor> frame, Tensor y) {
    return refusal({"refused", OpCode::kPicture, &t, std::move(frame), {std::move(y)}, {}, {}});
  };
  const auto attribute = [&] { return rule(frame_of(good, 1, 0, false), picture_of(good, g, 1)); };
  t = good, t.format = PixelFormat(10);
  CHECK(attribute() == "picture.format is known");
  t = good, t.interpolation = PixelInterpolation(3);
  CHECK(attribute() == "picture.interpolation is known");
  t = good, t.matrix = ColorMatrix(2);
  CHECK(attribute() == "picture.matrix is known");
  t = good, t.siting = ChromaSiting(2);
  CHECK(attribute() == "picture.siting is known");
  t = good, t.width = 0;
  CHECK(attribute() == "picture: a frame has 1 to 16384 columns and rows");
  t = good, t.height = 16386;
  CHECK(attribute() == "picture: a frame has 1 to 16384 columns and rows");
  t = good, t.width = 63;
  CHECK(attribute() == "picture: two columns share chroma, so their number is even");
  t = good, t.height = 39;
  CHECK(attribute() == "picture: two rows share chroma, so their number is even");
  t = good, t.source.left = 14;
  CHECK(attribute() == "picture.source lies in the frame and is not empty");
  t = good, t.source.height = 0;
  CHECK(attribute() == "picture.source lies in the frame and is not empty");
  t = good, t.source.left = 0xffffffffu;
  CHECK(attribute() == "picture.source lies in the frame and is not empty");
  t = good, t.target.top = 6;
  CHECK(attribute() == "picture.target lies in y and is not empty");
  t = good, t.target.width = 0;
  CHECK(attribute() == "picture.target lies in y and is not empty");
  t = good, t.channels = 1;
  CHECK(attribute() == "picture.pad, scale and bias have an entry a channel");
  t = good, t.pad[2] = 256;
  CHECK(attribute() == "picture.pad is within 0 .. 255");
  t = good, t.pad[0] = NAN;
  CHECK(attribute() == "picture.pad is within 0 .. 255");
  t = good, t.scale[1] = INFINITY;
  CHECK(attribute() == "picture.scale and bias are finite");
  t = good, t.bias[1] = NAN;
  CHECK(attribute() == "picture.scale and bias are finite");
  t = good;
  CHECK(rule({Tensor(DType::kI8, {1, 60, 64})}, picture_of(t, g, 1)) == "picture takes u8");
  CHECK(rule({Tensor(DType::kU8, {60, 64})}, picture_of(t, g, 1)) ==
        "picture takes [N, rows, pitch]");
  CHECK(rule({Tensor(DType::kU8, {2, 60, 64})}, picture_of(t, g, 1)) ==
        "picture has as many frames as pictures");
  CHECK(rule({Tensor(DType::kU8, {1, 40, 64})}, picture_of(t, g, 1)) ==
        "picture: rows of the operand");
  CHECK(rule({Tensor(DType::kU8, {1, 60, 63})}, picture_of(t, g, 1)) ==
        "picture: the pitch holds a row");
  CHECK(rule(frame_of(t, 1, 0, false), Tensor(DType::kF16, {1, g.y_height, g.y_width, 3})) ==
        "picture gives f32");
  CHECK(rule(frame_of(t, 1, 0, false), Tensor(DType::kF32, {g.y_height, g.y_width, 3})) ==
        "picture gives four dimensions");
  CHECK(rule(frame_of(t, 1, 0, false), Tensor(DType::kF32, {1, g.y_height, g.y_width, 4})) ==
        "picture gives one channel or three");
  CHECK(rule(frame_of(t, 1, 0, false), Tensor(DType::kF32, {1, 16385, g.y_width, 3})) ==
        "picture: y has at most 16384 columns and rows");
  t.format = PixelFormat::kI420;
  CHECK(rule({Tensor(DType::kU8, {1, 60, 65})}, picture_of(t, g, 1)) ==
        "picture: the pitch of i420 in one operand is even");
  CHECK(rule({Tensor(DType::kU8, {1, 40, 64}), Tensor(DType::kU8, {1, 20, 32})},
             picture_of(t, g, 1)) == "picture has one operand, or one for each plane");
}
