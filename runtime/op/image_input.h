// SPDX-License-Identifier: Apache-2.0
// runtime/op/image_input.h - frames of a camera to images for a network: crop, resize, letterbox,
// colour, normalize. One pass.
//
//   frame  u8 [N, rows, pitch]: the planes one below another, rows `pitch` bytes apart (i420:
//          chroma rows pitch / 2 apart); or one
//          such operand for each plane
//   y      f32 [N,H,W,C], planar: [N,C,H,W]; C is 3, or 1 for gray
//
// Each component is sampled in its own plane at its own resolution, then the sampled pixel is
// converted: chroma is never brought to the resolution of luma first. Positions are ratios of
// integers (below 2^31), so no rounding moves one; everything else is f32:
//   bilinear  down, then across: a + (b - a) * w, one fma; w is one division; past the edge of the
//             source area: the edge.
//   nearest   the pixel of the frame in which the centre of y's pixel lies, with the chroma that
//             belongs to it.
//   area      the mean over what y's pixel covers: down, then across, one chain of fma from zero in
//             ascending order.
//   colour    l = (Y - 16) * luma (full range: Y); R = fma(red_v, V, l), G = fma(green_v, V,
//             fma(green_u, U, l)), B = fma(blue_u, U, l)
//             with U and V less 128, each limited to 0..255; gray of RGB: fma(gray_b, B,
//             fma(gray_g, G, gray_r * R)); of YUV: l, limited.
//   y         fma(x, scale, bias); outside the target area x is `pad`.
//
// Functions here are part of kernels, each instruction set with a copy of its own: static, so that
// no linker merges two.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

enum class PixelFormat : uint8_t {
  kRgb = 0,
  kBgr = 1,
  kRgba = 2,
  kBgra = 3,
  kGray = 4,
  kNv12 = 5,
  kNv21 = 6,
  kI420 = 7,
  kYuyv = 8,
  kUyvy = 9
};
constexpr int kPixelFormatCount = 10;
enum class PixelInterpolation : uint8_t { kBilinear = 0, kNearest = 1, kArea = 2 };
enum class ColorMatrix : uint8_t { kBt601 = 0, kBt709 = 1 };
enum class ChromaSiting : uint8_t { kLeft = 0, kCenter = 1 };

struct ImageArea {
  uint32_t left = 0, top = 0, width = 0, height = 0;
};
struct ImageInputAttributes {
  PixelFormat format = PixelFormat::kRgb;
  PixelInterpolation interpolation = PixelInterpolation::kBilinear;
  ColorMatrix matrix = ColorMatrix::kBt601;
  ChromaSiting siting = ChromaSiting::kLeft;
  bool full_range = false;
  bool bgr = false;                // of y
  bool planar = false;             // y is [N,C,H,W]
  uint32_t width = 0, height = 0;  // of a frame, pixels
  ImageArea source;                // of the frame
  ImageArea target;                // of y
  uint32_t channels = 0;           // of y, and entries below
  float pad[3] = {}, scale[3] = {}, bias[3] = {};
};
constexpr uint32_t kMaxImageExtent = 16384;
constexpr int kMaxImagePlanes = 3;
extern const OpContract kImageInputContract;

/// "nv12"; as the command line spells it.
const char* pixel_format_name(PixelFormat format);

/// Where a component lies: sample k of a row is the byte origin + k * step; it stands for `across`
/// x `down` pixels.
struct PixelComponent {
  uint8_t plane, origin, step, across, down;
};
/// Components are R, G, B, or Y, U, V, or Y.
struct PixelLayout {
  uint8_t planes, components;
  bool is_yuv;
  PixelComponent at[3];
};
static constexpr PixelLayout pixel_layout(PixelFormat format) {
  switch (format) {
    case PixelFormat::kRgb:
      return {1, 3, false, {{0, 0, 3, 1, 1}, {0, 1, 3, 1, 1}, {0, 2, 3, 1, 1}}};
    case PixelFormat::kBgr:
      return {1, 3, false, {{0, 2, 3, 1, 1}, {0, 1, 3, 1, 1}, {0, 0, 3, 1, 1}}};
    case PixelFormat::kRgba:
      return {1, 3, false, {{0, 0, 4, 1, 1}, {0, 1, 4, 1, 1}, {0, 2, 4, 1, 1}}};
    case PixelFormat::kBgra:
      return {1, 3, false, {{0, 2, 4, 1, 1}, {0, 1, 4, 1, 1}, {0, 0, 4, 1, 1}}};
    case PixelFormat::kGray: return {1, 1, false, {{0, 0, 1, 1, 1}, {}, {}}};
    case PixelFormat::kNv12:
      return {2, 3, true, {{0, 0, 1, 1, 1}, {1, 0, 2, 2, 2}, {1, 1, 2, 2, 2}}};
    case PixelFormat::kNv21:
      return {2, 3, true, {{0, 0, 1, 1, 1}, {1, 1, 2, 2, 2}, {1, 0, 2, 2, 2}}};
    case PixelFormat::kI420:
      return {3, 3, true, {{0, 0, 1, 1, 1}, {1, 0, 1, 2, 2}, {2, 0, 1, 2, 2}}};
    case PixelFormat::kYuyv:
      return {1, 3, true, {{0, 0, 2, 1, 1}, {0, 1, 4, 2, 1}, {0, 3, 4, 2, 1}}};
    case PixelFormat::kUyvy:
      return {1, 3, true, {{0, 1, 2, 1, 1}, {0, 0, 4, 2, 1}, {0, 2, 4, 2, 1}}};
  }
  return {};
}

/// Bytes of pixels in a row of a plane, and its rows.
int64_t plane_row_bytes(PixelFormat format, int64_t width, int plane);
int64_t plane_rows(PixelFormat format, int64_t height, int plane);
/// Rows of a frame whose planes lie one below another.
int64_t frame_rows(PixelFormat format, int64_t height);

/// A plane of frame 0 and the bytes to its next row and to that of the next frame.
struct ImagePlane {
  const uint8_t* data;
  int64_t pitch, frame_bytes;
};
/// @pre the contract holds. Data may be null.
void image_planes(const OpArguments& arguments, ImagePlane (&planes)[kMaxImagePlanes]);

/// One direction of the variant from y's target area to samples of a component.
struct ImageAxis {
  uint32_t first, extent;  // of the source area, pixels
  uint32_t target;         // pixels of y
  uint32_t each;           // pixels that a sample stands for, 1 or 2
  bool centered;           // samples of two pixels lie between them; else on the first
};
static constexpr ImageAxis image_across(const ImageInputAttributes& t, const PixelComponent& c) {
  return {t.source.left, t.source.width, t.target.width, c.across,
          t.siting == ChromaSiting::kCenter};
}
static constexpr ImageAxis image_down(const ImageInputAttributes& t, const PixelComponent& c) {
  return {t.source.top, t.source.height, t.target.height, c.down, true};
}

/// bilinear: between samples `at` and at + 1. Weight 0: at alone, there may be no next.
struct ImageTap {
  int32_t at;
  float weight;
};
static constexpr ImageTap bilinear_tap(const ImageAxis& axis, uint32_t o) {
  // In units of half a target pixel; sample k lies at k * unit + offset.
  const int32_t target = int32_t(axis.target), extent = int32_t(axis.extent),
                first = int32_t(axis.first);
  const int32_t each = int32_t(axis.each), unit = 2 * target * each;
  const int32_t offset = each == 2 && axis.centered ? 2 * target : target;
  const int32_t position = (2 * int32_t(o) + 1) * extent + 2 * target * first - offset;
  const int32_t low = first / each, high = (first + extent - 1) / each;
  if (position < low * unit) return {low, 0};
  const int32_t at = position / unit;
  if (at >= high) return {high, 0};
  return {at, float(position - at * unit) / float(unit)};
}

static constexpr int32_t nearest_sample(const ImageAxis& axis, uint32_t o) {
  return int32_t(((2 * o + 1) * axis.extent / (2 * axis.target) + axis.first) / axis.each);
}

/// area: samples begin .. end - 1; the weight of each by area_weight().
struct ImageRun {
  int32_t begin, end;
};
static constexpr ImageRun area_run(const ImageAxis& axis, uint32_t o) {
  const uint32_t unit = axis.each * axis.target, begin = axis.first * axis.target + o * axis.extent;
  return {int32_t(begin / unit), int32_t((begin + axis.extent - 1) / unit) + 1};
}
static constexpr float area_weight(const ImageAxis& axis, uint32_t o, int32_t sample) {
  const uint32_t unit = axis.each * axis.target, begin = axis.first * axis.target + o * axis.extent;
  const uint32_t from = uint32_t(sample) * unit, to = from + unit, end = begin + axis.extent;
  return float((to < end ? to : end) - (from > begin ? from : begin)) / float(axis.extent);
}

/// Factors of the conversion; see the top.
struct ImageColor {
  float offset, luma, red_v, green_u, green_v, blue_u;
  float gray_r, gray_g, gray_b;
};
static constexpr ImageColor image_color(ColorMatrix matrix, bool full_range) {
  const double red = matrix == ColorMatrix::kBt601 ? 0.299 : 0.2126,
               blue = matrix == ColorMatrix::kBt601 ? 0.114 : 0.0722;
  const double green = 1 - red - blue, chroma = full_range ? 1 : 255.0 / 224;
  return {full_range ? 0.0f : 16.0f,
          full_range ? 1.0f : float(255.0 / 219),
          float(2 * (1 - red) * chroma),
          float(-2 * blue * (1 - blue) / green * chroma),
          float(-2 * red * (1 - red) / green * chroma),
          float(2 * (1 - blue) * chroma),
          float(red),
          float(green),
          float(blue)};
}

/// Where things lie in a thread's scratch, in elements of 4 bytes from its start.
struct ImageScratch {
  int64_t columns[2];             // luma, chroma: positions, and for area the ends of runs
  int64_t weights[2];             // of columns
  int64_t rows[kMaxImagePlanes];  // of each plane, mixed down
  int64_t samples[3];             // of each component, mixed across
  int64_t elements;
};
ImageScratch image_scratch(const ImageInputAttributes& attributes);

}  // namespace ingot
