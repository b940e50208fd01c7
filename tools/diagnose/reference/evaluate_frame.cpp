// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/reference/evaluate_frame.cpp - ImageInput: frames of a camera as images for a
// network, one pixel of one channel at a time, in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "tools/diagnose/reference/evaluator.h"

namespace ingot::reference {
namespace {

using graph::Node;

/// Where samples of one component lie in a plane's row, and how many pixels each stands for.
struct Component {
  int plane, origin, step, across, down;
};

/// R, G, B; Y, U, V; or Y.
std::vector<Component> components_of(const std::string& format) {
  const auto packed = [](int bytes, int r, int g, int b) {
    return std::vector<Component>{{0, r, bytes, 1, 1}, {0, g, bytes, 1, 1}, {0, b, bytes, 1, 1}};
  };
  if (format == "rgb") return packed(3, 0, 1, 2);
  if (format == "bgr") return packed(3, 2, 1, 0);
  if (format == "rgba") return packed(4, 0, 1, 2);
  if (format == "bgra") return packed(4, 2, 1, 0);
  if (format == "gray") return {{0, 0, 1, 1, 1}};
  if (format == "nv12") return {{0, 0, 1, 1, 1}, {1, 0, 2, 2, 2}, {1, 1, 2, 2, 2}};
  if (format == "nv21") return {{0, 0, 1, 1, 1}, {1, 1, 2, 2, 2}, {1, 0, 2, 2, 2}};
  if (format == "i420") return {{0, 0, 1, 1, 1}, {1, 0, 1, 2, 2}, {2, 0, 1, 2, 2}};
  if (format == "yuyv") return {{0, 0, 2, 1, 1}, {0, 1, 4, 2, 1}, {0, 3, 4, 2, 1}};
  if (format == "uyvy") return {{0, 1, 2, 1, 1}, {0, 0, 4, 2, 1}, {0, 2, 4, 2, 1}};
  throw std::runtime_error("evaluator: ImageInput has no format " + format);
}

struct Area {
  int64_t left, top, width, height;
};
Area area_of(const Node& node, graph::AttributeName key) {
  const Dimensions n = node.integers(key);
  return {n.at(0), n.at(1), n.at(2), n.at(3)};
}

/// One direction: an area of the frame that `count` pixels of the image show.
struct Direction {
  int64_t first, extent, count;
};

/// What pixel `o` takes of a row or column of samples: calls use(sample, weight).
template <class Use>
void take(const Direction& d, int each, bool centered, const std::string& interpolation, int64_t o,
          Use use) {
  const double pixel = double(d.extent) / double(d.count);
  const int64_t low = d.first / each, high = (d.first + d.extent - 1) / each;
  if (interpolation == "nearest") {
    use((d.first + (2 * o + 1) * d.extent / (2 * d.count)) / each, 1.0);
  } else if (interpolation == "area") {
    const double begin = double(d.first) + double(o) * pixel, end = begin + pixel;
    for (int64_t k = low; k <= high; k++) {
      const double covered =
          std::min(end, double((k + 1) * each)) - std::max(begin, double(k * each));
      if (covered > 0) use(k, covered / pixel);
    }
  } else {
    // Pixel centres are whole numbers here; a sample of two pixels lies on the first or between
    // them.
    const double center = double(d.first) + (double(o) + 0.5) * pixel - 0.5;
    const double place = each == 1 ? center : centered ? (center - 0.5) / 2 : center / 2;
    const double inside = std::clamp(place, double(low), double(high));
    const int64_t at = int64_t(std::floor(inside));
    use(at, 1 - (inside - double(at)));
    if (inside > double(at)) use(at + 1, inside - double(at));
  }
}

/// The frames, whose planes lie one below another in one operand or are operands of their own.
struct Frames {
  Evaluator& e;
  const Node& node;
  std::string format = node.text(attr::format, "");
  int64_t height = node.integer(attr::height, 0);

  double sample(const Component& c, int64_t n, int64_t row, int64_t column) const {
    const size_t byte = size_t(c.origin + column * c.step);
    if (node.inputs.size() > 1) {
      const Tensor& plane = e.in(node, size_t(c.plane));
      return plane.at[size_t((n * plane.dims[1] + row) * plane.dims[2]) + byte];
    }
    const Tensor& frame = e.in(node, 0);
    const int64_t pitch = frame.dims[2], luma = height * pitch;
    const int64_t chroma_pitch = format == "i420" ? pitch / 2 : pitch;
    const int64_t start = c.plane == 0 ? 0 : luma + (c.plane - 1) * (height / 2) * chroma_pitch;
    return frame
        .at[size_t(n * frame.dims[1] * pitch + start + row * (c.plane ? chroma_pitch : pitch)) +
            byte];
  }
};

std::array<double, 3> colors_of(const Node& node, const std::vector<double>& x, bool is_yuv,
                                bool is_gray) {
  const bool is_601 = node.text(attr::matrix, "") == "bt601",
             is_full = node.integer(attr::full_range, 0) != 0;
  const double red = is_601 ? 0.299 : 0.2126, green = is_601 ? 0.587 : 0.7152,
               blue = is_601 ? 0.114 : 0.0722;
  const auto limited = [](double v) { return std::clamp(v, 0.0, 255.0); };
  if (x.size() == 1) return {x[0], x[0], x[0]};
  if (!is_yuv) {
    const double gray = red * x[0] + green * x[1] + blue * x[2];
    return is_gray ? std::array<double, 3>{gray, gray, gray}
                   : std::array<double, 3>{x[0], x[1], x[2]};
  }
  const double y = is_full ? x[0] : (x[0] - 16) * 255 / 219, chroma = is_full ? 1 : 255.0 / 224;
  if (is_gray) return {limited(y), limited(y), limited(y)};
  const double u = (x[1] - 128) * chroma, v = (x[2] - 128) * chroma;
  const double r = y + 2 * (1 - red) * v, b = y + 2 * (1 - blue) * u;
  return {limited(r), limited((y - red * r - blue * b) / green), limited(b)};
}

}  // namespace

std::vector<Tensor> evaluate_frame(Evaluator& e, const Node& node) {
  if (node.op != op::ImageInput) return {};
  Dimensions dims;
  if (!e.declared(node, 0, dims)) throw std::runtime_error("evaluator: ImageInput of unknown size");
  const Frames frames{e, node};
  const std::vector<Component> components = components_of(frames.format);
  const bool is_yuv = components.size() == 3 && frames.format.find('g') == std::string::npos;
  const bool planar = node.text(attr::layout, "") == "nchw";
  const Area source = area_of(node, attr::source), target = area_of(node, attr::target);
  const Direction across{source.left, source.width, target.width},
      down{source.top, source.height, target.height};
  const std::string interpolation = node.text(attr::interpolation, "");
  const bool is_center = node.text(attr::siting, "") == "center",
             is_bgr = node.integer(attr::bgr, 0) != 0;
  const std::vector<double> pad = node.numbers(attr::pad), scale = node.numbers(attr::scale),
                            bias = node.numbers(attr::bias);
  Tensor y{dims, {}};
  for_each_index(dims, [&](const Dimensions& at) {
    const int64_t row = at[planar ? 2 : 1] - target.top, column = at[planar ? 3 : 2] - target.left;
    const size_t c = size_t(at[planar ? 1 : 3]);
    double value = pad.at(c);
    if (row >= 0 && row < target.height && column >= 0 && column < target.width) {
      std::vector<double> x;
      for (const Component& component : components) {
        double sum = 0;
        take(down, component.down, true, interpolation, row, [&](int64_t r, double share) {
          take(across, component.across, is_center, interpolation, column,
               [&](int64_t k, double weight) {
                 sum += share * weight * frames.sample(component, at[0], r, k);
               });
        });
        x.push_back(sum);
      }
      value = colors_of(node, x, is_yuv, pad.size() == 1)[is_bgr && pad.size() == 3 ? 2 - c : c];
    }
    y.at.push_back(value * scale.at(c) + bias.at(c));
  });
  return {y};
}

}  // namespace ingot::reference
