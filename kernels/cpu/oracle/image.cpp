// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/image.cpp - ImageInput: for every pixel of y the components at its place in
// the frame, in double, then the conversion as the recommendations write it, then scale and bias.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"
#include "runtime/op/image_input.h"

namespace ingot::cpu::oracle {
namespace {

/// Sample k of one direction and how much of it is meant.
struct Share {
  int64_t at;
  double weight;
};

/// Between `begin` and `end`, in pixels from the frame's edge, lies what pixel o of y shows. Calls
/// use(Share) for each sample of it.
template <class Use>
void for_shares(const ImageAxis& axis, PixelInterpolation interpolation, int64_t o, Use use) {
  const double pixel = double(axis.extent) / axis.target,
               begin = axis.first + double(o) * axis.extent / axis.target;
  const int64_t low = axis.first / axis.each, high = (axis.first + axis.extent - 1) / axis.each;
  if (interpolation == PixelInterpolation::kNearest)
    return use(Share{int64_t(std::floor(axis.first + (2.0 * double(o) + 1) * axis.extent /
                                                         (2.0 * axis.target))) /
                         axis.each,
                     1});
  if (interpolation == PixelInterpolation::kArea) {
    for (int64_t k = low; k <= high; k++) {
      const double covered = std::min(begin + pixel, double((k + 1) * axis.each)) -
                             std::max(begin, double(k * axis.each));
      if (covered > 1e-9) use(Share{k, covered / pixel});
    }
    return;
  }
  const double center = begin + pixel / 2;
  const double place = axis.each == 1  ? center - 0.5
                       : axis.centered ? (center - 1) / 2
                                       : (center - 0.5) / 2;
  const double limited = std::clamp(place, double(low), double(high));
  const int64_t at = std::min(int64_t(std::floor(limited)), high);
  use(Share{at, 1 - (limited - double(at))});
  use(Share{std::min(at + 1, high), limited - double(at)});
}

double component(const OpArguments& a, const PixelComponent& c, int64_t n, int64_t row,
                 int64_t column) {
  const ImageInputAttributes& t = a.as<ImageInputAttributes>();
  ImagePlane planes[kMaxImagePlanes] = {};
  image_planes(a, planes);
  const ImagePlane& p = planes[c.plane];
  double sum = 0;
  for_shares(image_down(t, c), t.interpolation, row, [&](const Share& down) {
    for_shares(image_across(t, c), t.interpolation, column, [&](const Share& across) {
      sum += down.weight * across.weight *
             p.data[n * p.frame_bytes + down.at * p.pitch + c.origin + across.at * c.step];
    });
  });
  return sum;
}

double limit(double x) { return std::clamp(x, 0.0, 255.0); }

/// R, G and B, or gray three times.
void rgb_of(const ImageInputAttributes& t, const double (&x)[3], double (&rgb)[3]) {
  const PixelLayout layout = pixel_layout(t.format);
  const bool is_601 = t.matrix == ColorMatrix::kBt601;
  const double red = is_601 ? 0.299 : 0.2126, green = is_601 ? 0.587 : 0.7152,
               blue = is_601 ? 0.114 : 0.0722;
  if (layout.is_yuv) {
    const double y = t.full_range ? x[0] / 255 : (x[0] - 16) / 219;
    const double cb = (x[1] - 128) / (t.full_range ? 255 : 224),
                 cr = (x[2] - 128) / (t.full_range ? 255 : 224);
    const double r = y + 2 * (1 - red) * cr, b = y + 2 * (1 - blue) * cb,
                 g = (y - red * r - blue * b) / green;
    const double gray = limit(255 * y);
    rgb[0] = t.channels == 1 ? gray : limit(255 * r);
    rgb[1] = t.channels == 1 ? gray : limit(255 * g);
    rgb[2] = t.channels == 1 ? gray : limit(255 * b);
  } else if (layout.components == 1) {
    rgb[0] = rgb[1] = rgb[2] = x[0];
  } else {
    const double gray = red * x[0] + green * x[1] + blue * x[2];
    for (int i = 0; i < 3; i++) rgb[i] = t.channels == 1 ? gray : x[i];
  }
}

}  // namespace

Status image_input(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const ImageInputAttributes& t = a.as<ImageInputAttributes>();
  const PixelLayout layout = pixel_layout(t.format);
  const TensorView& y = a.outputs[0];
  for_each_index(y, [&](const int64_t* index) {
    const int64_t c = index[t.planar ? 1 : 3];
    const int64_t row = index[t.planar ? 2 : 1] - t.target.top,
                  column = index[t.planar ? 3 : 2] - t.target.left;
    double value = double(t.pad[c]);
    if (row >= 0 && row < t.target.height && column >= 0 && column < t.target.width) {
      double x[3] = {}, rgb[3];
      for (int i = 0; i < layout.components; i++)
        x[i] = component(a, layout.at[i], index[0], row, column);
      rgb_of(t, x, rgb);
      value = rgb[t.bgr ? 2 - c : c];
    }
    write(y, offset_of(y, index), value * double(t.scale[c]) + double(t.bias[c]));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
