// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/image_input.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/rules.h"

namespace ingot {

const char* pixel_format_name(PixelFormat format) {
  static constexpr const char* kNames[kPixelFormatCount] = {"rgb",  "bgr",  "rgba", "bgra", "gray",
                                                            "nv12", "nv21", "i420", "yuyv", "uyvy"};
  return int(format) < kPixelFormatCount ? kNames[int(format)] : "unknown";
}

namespace {

/// A component whose samples fill the plane.
PixelComponent component_of(PixelFormat format, int plane) {
  const PixelLayout layout = pixel_layout(format);
  for (int i = 0; i < layout.components; i++)
    if (layout.at[i].plane == plane) return layout.at[i];
  return {};
}

}  // namespace

int64_t plane_row_bytes(PixelFormat format, int64_t width, int plane) {
  const PixelComponent c = component_of(format, plane);
  return width / c.across * c.step;
}
int64_t plane_rows(PixelFormat format, int64_t height, int plane) {
  return height / component_of(format, plane).down;
}
int64_t frame_rows(PixelFormat format, int64_t height) {
  return pixel_layout(format).planes == 1 ? height : height + height / 2;
}

void image_planes(const OpArguments& a, ImagePlane (&planes)[kMaxImagePlanes]) {
  const ImageInputAttributes& t = a.as<ImageInputAttributes>();
  const int count = pixel_layout(t.format).planes;
  const TensorView& whole = a.inputs[0];
  const int64_t pitch = whole.dims[2], frame = whole.dims[1] * pitch;
  const int64_t chroma_pitch = count == 3 ? pitch / 2 : pitch;
  int64_t offset = 0;
  for (int i = 0; i < count; i++) {
    if (a.input_count > 1) {
      const TensorView& own = a.inputs[i];
      planes[i] = {own.as<const uint8_t>(), own.dims[2], own.dims[1] * own.dims[2]};
      continue;
    }
    const int64_t own_pitch = i ? chroma_pitch : pitch;
    planes[i] = {whole.data ? whole.as<const uint8_t>() + offset : nullptr, own_pitch, frame};
    offset += own_pitch * plane_rows(t.format, t.height, i);
  }
}

namespace {

bool is_finite(float x) { return x - x == 0; }

bool check_enums(const ImageInputAttributes& t, Violation* v) {
  if (int(t.format) >= kPixelFormatCount)
    return rules::refuse(v, "image_input.format is known", Violation::kAttribute,
                         kPixelFormatCount - 1, int64_t(t.format));
  if (uint8_t(t.interpolation) > uint8_t(PixelInterpolation::kArea))
    return rules::refuse(v, "image_input.interpolation is known", Violation::kAttribute, 2,
                         int64_t(t.interpolation));
  if (uint8_t(t.matrix) > uint8_t(ColorMatrix::kBt709))
    return rules::refuse(v, "image_input.matrix is known", Violation::kAttribute, 1,
                         int64_t(t.matrix));
  if (uint8_t(t.siting) > uint8_t(ChromaSiting::kCenter))
    return rules::refuse(v, "image_input.siting is known", Violation::kAttribute, 1,
                         int64_t(t.siting));
  return true;
}

bool fits(const ImageArea& area, int64_t width, int64_t height) {
  return area.width > 0 && area.height > 0 && area.width <= width && area.height <= height &&
         area.left <= width - area.width && area.top <= height - area.height;
}

bool check_frame(const ImageInputAttributes& t, Violation* v) {
  if (t.width == 0 || t.height == 0 || t.width > kMaxImageExtent || t.height > kMaxImageExtent)
    return rules::refuse(v, "image_input: a frame has 1 to 16384 columns and rows",
                         Violation::kAttribute, kMaxImageExtent,
                         t.width > t.height ? t.width : t.height);
  const PixelLayout layout = pixel_layout(t.format);
  for (int i = 0; i < layout.components; i++) {
    if (t.width % layout.at[i].across)
      return rules::refuse(v, "image_input: two columns share chroma, so their number is even",
                           Violation::kAttribute, t.width + 1, t.width);
    if (t.height % layout.at[i].down)
      return rules::refuse(v, "image_input: two rows share chroma, so their number is even",
                           Violation::kAttribute, t.height + 1, t.height);
  }
  if (!fits(t.source, t.width, t.height))
    return rules::refuse(v, "image_input.source lies in the frame and is not empty",
                         Violation::kAttribute, t.width, t.source.width);
  return true;
}

bool check_planes(const OpArguments& a, Violation* v) {
  const ImageInputAttributes& t = a.as<ImageInputAttributes>();
  const int planes = pixel_layout(t.format).planes;
  if (a.input_count != 1 && a.input_count != planes)
    return rules::refuse(v, "image_input has one operand, or one for each plane",
                         Violation::kAttribute, planes, a.input_count);
  for (int i = 0; i < a.input_count; i++) {
    const TensorView& x = a.inputs[i];
    if (x.dtype != DType::kU8)
      return rules::refuse(v, "image_input takes u8", i, int64_t(DType::kU8), int64_t(x.dtype));
    if (x.rank != 3) return rules::refuse(v, "image_input takes [N, rows, pitch]", i, 3, x.rank);
    if (x.dims[0] != a.outputs[0].dims[0])
      return rules::refuse(v, "image_input has as many frames as images", i, a.outputs[0].dims[0],
                           x.dims[0]);
    const int64_t rows =
        a.input_count == 1 ? frame_rows(t.format, t.height) : plane_rows(t.format, t.height, i);
    if (x.dims[1] != rows)
      return rules::refuse(v, "image_input: rows of the operand", i, rows, x.dims[1]);
    const int64_t bytes = plane_row_bytes(t.format, t.width, i);
    if (x.dims[2] < bytes)
      return rules::refuse(v, "image_input: the pitch holds a row", i, bytes, x.dims[2]);
    if (a.input_count == 1 && planes == 3 && x.dims[2] % 2)
      return rules::refuse(v, "image_input: the pitch of i420 in one operand is even", i,
                           x.dims[2] + 1, x.dims[2]);
  }
  return true;
}

bool check_image_input(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kImageInputContract, {}, v)) return false;
  const ImageInputAttributes& t = a.as<ImageInputAttributes>();
  const TensorView& y = a.outputs[0];
  if (!check_enums(t, v) || !check_frame(t, v)) return false;
  if (y.dtype != DType::kF32)
    return rules::refuse(v, "image_input gives f32", rules::output(0), int64_t(DType::kF32),
                         int64_t(y.dtype));
  if (y.rank != 4)
    return rules::refuse(v, "image_input gives four dimensions", rules::output(0), 4, y.rank);
  const int64_t channels = y.dims[t.planar ? 1 : 3], height = y.dims[t.planar ? 2 : 1],
                width = y.dims[t.planar ? 3 : 2];
  if (channels != 1 && channels != 3)
    return rules::refuse(v, "image_input gives one channel or three", rules::output(0), 3,
                         channels);
  if (t.channels != channels)
    return rules::refuse(v, "image_input.pad, scale and bias have an entry a channel",
                         Violation::kAttribute, channels, t.channels);
  if (width > kMaxImageExtent || height > kMaxImageExtent)
    return rules::refuse(v, "image_input: y has at most 16384 columns and rows", rules::output(0),
                         kMaxImageExtent, width > height ? width : height);
  if (!fits(t.target, width, height))
    return rules::refuse(v, "image_input.target lies in y and is not empty", Violation::kAttribute,
                         width, t.target.width);
  for (int64_t c = 0; c < channels; c++) {
    if (!(t.pad[c] >= 0 && t.pad[c] <= 255))
      return rules::refuse(v, "image_input.pad is within 0 .. 255", Violation::kAttribute, 255, c);
    if (!is_finite(t.scale[c]) || !is_finite(t.bias[c]))
      return rules::refuse(v, "image_input.scale and bias are finite", Violation::kAttribute, 0, c);
  }
  return check_planes(a, v);
}

int64_t vectors(int64_t elements) { return round_up(elements, 16); }

ScratchNeed scratch(const OpArguments& a, int) {
  return {uint64_t(image_scratch(a.as<ImageInputAttributes>()).elements) * 4, 0};
}

}  // namespace

ImageScratch image_scratch(const ImageInputAttributes& t) {
  ImageScratch s = {};
  const auto take = [&](int64_t elements) {
    const int64_t at = s.elements;
    s.elements += vectors(elements);
    return at;
  };
  const int64_t columns = t.target.width, pixels = t.source.width;
  const bool is_area = t.interpolation == PixelInterpolation::kArea;
  const PixelLayout layout = pixel_layout(t.format);
  for (int i = 0; i < 2; i++) {
    s.columns[i] = take(is_area ? columns * 2 : columns);
    // A pixel that is cut belongs to two columns.
    s.weights[i] = take(is_area ? columns + pixels + 2 : columns);
  }
  for (int i = 0; i < layout.planes; i++) {
    const PixelComponent c = component_of(t.format, i);
    // One sample more on either side where an odd area cuts a pair, and one behind that bilinear
    // reads with weight 0.
    s.rows[i] = take((pixels / c.across + 3) * c.step + 16);
  }
  for (int64_t& row : s.samples) row = take(columns);
  return s;
}

const OpContract kImageInputContract = {
    OpCode::kImageInput, 1, 1, kMaxImagePlanes, 1, 1, check_image_input, nullptr, scratch, 0, 0};

}  // namespace ingot
