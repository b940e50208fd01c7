// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/reference/evaluate_spatial.cpp - convolutions and pools: in the source's order [N,
// C, H, W] as ONNX has them, and channels last as core form has them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tools/diagnose/reference/evaluator.h"
#include "tools/graph/window.h"

namespace ingot::reference {
namespace {

using graph::Node;

struct Geometry {
  int64_t kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1, top = 0, left = 0, bottom = 0, right = 0,
          groups = 1;
};

int64_t extent(int64_t in, int64_t pads, int64_t kernel, int64_t stride, int64_t dilation) {
  return (in + pads - dilation * (kernel - 1) - 1) / stride + 1;
}

Geometry geometry(const Node& node) {
  const auto [h, w] = graph::window_of(node);
  Geometry g;
  g.kh = h.kernel, g.sh = h.stride, g.dh = h.dilation, g.top = h.begin, g.bottom = h.end;
  g.kw = w.kernel, g.sw = w.stride, g.dw = w.dilation, g.left = w.begin, g.right = w.end;
  g.groups = node.integer(attr::group, 1);
  return g;
}

// An image seen as [N, C, H, W] whatever its order and rank.
struct NchwView {
  const Tensor& t;
  bool last;
  int64_t n() const { return t.dims[0]; }
  int64_t c() const { return last ? t.dims.back() : t.dims[1]; }
  int64_t h() const { return t.dims.size() == 3 ? 1 : t.dims[last ? 1 : 2]; }
  int64_t w() const { return last ? t.dims[t.dims.size() - 2] : t.dims.back(); }
  size_t at(int64_t in, int64_t ic, int64_t ih, int64_t iw) const {
    return size_t(last ? ((in * h() + ih) * w() + iw) * c() + ic
                       : ((in * c() + ic) * h() + ih) * w() + iw);
  }
};

Tensor empty_like(const Tensor& x, bool last, int64_t c, int64_t h, int64_t w) {
  Tensor y;
  if (x.dims.size() == 3)
    y.dims = last ? Dimensions{x.dims[0], w, c} : Dimensions{x.dims[0], c, w};
  else
    y.dims = last ? Dimensions{x.dims[0], h, w, c} : Dimensions{x.dims[0], c, h, w};
  y.at.assign(size_t(y.elements()), 0);
  return y;
}

// Channels as planes, so that one weight meets a row of pixels.
Tensor planar(const Tensor& x, bool last) {
  if (!last) return x;
  NchwView p{x, true};
  Tensor y{{p.n(), p.c(), p.h(), p.w()}, std::vector<double>(x.at.size())};
  size_t to = 0;
  for (int64_t n = 0; n < p.n(); n++)
    for (int64_t c = 0; c < p.c(); c++)
      for (int64_t h = 0; h < p.h(); h++)
        for (int64_t w = 0; w < p.w(); w++) y.at[to++] = x.at[p.at(n, c, h, w)];
  return y;
}

// Columns of a row of outputs that tap kx reads inside the image.
std::pair<int64_t, int64_t> inside(const Geometry& g, int64_t kx, int64_t in, int64_t out) {
  int64_t shift = g.left - kx * g.dw;  // ix = ox * sw - shift
  int64_t first = shift <= 0 ? 0 : (shift + g.sw - 1) / g.sw,
          end = in - 1 + shift < 0 ? 0 : (in - 1 + shift) / g.sw + 1;
  return {first, std::min(end, out)};
}

// One row of outputs: for each of them the sum over ky, kx, c in that order.
template <class Weight>
void row_of(const Tensor& x, const Geometry& g, int64_t h, int64_t w, size_t plane,
            int64_t in_group, int64_t o, int64_t oy, std::vector<double>& row, Weight weight) {
  std::fill(row.begin(), row.end(), 0);
  for (int64_t ky = 0; ky < g.kh; ky++) {
    int64_t iy = oy * g.sh - g.top + ky * g.dh;
    if (iy < 0 || iy >= h) continue;
    for (int64_t kx = 0; kx < g.kw; kx++) {
      auto [first, end] = inside(g, kx, w, int64_t(row.size()));
      for (int64_t c = 0; c < in_group; c++) {
        const int64_t at = (int64_t(plane) + c) * h * w + iy * w + kx * g.dw - g.left;
        const double* from = x.at.data();
        const double factor = weight(o, c, ky, kx);
        double* to = row.data();
        if (g.sw == 1)
          for (int64_t ox = first; ox < end; ox++) to[ox] += from[at + ox] * factor;
        else
          for (int64_t ox = first; ox < end; ox++) to[ox] += from[at + ox * g.sw] * factor;
      }
    }
  }
}

// weight(o, c within the group, ky, kx)
template <class Weight>
Tensor convolved(const Tensor& source, bool x_last, bool y_last, const Geometry& g, int64_t outputs,
                 Weight weight) {
  NchwView px{source, x_last};
  const int64_t h = px.h(), w = px.w(), channels = px.c(), batch = px.n();
  Tensor y = empty_like(source, y_last, outputs, extent(h, g.top + g.bottom, g.kh, g.sh, g.dh),
                        extent(w, g.left + g.right, g.kw, g.sw, g.dw));
  const Tensor x = planar(source, x_last);
  NchwView py{y, y_last};
  const int64_t in_group = channels / g.groups, out_group = outputs / g.groups;
  std::vector<double> row(static_cast<size_t>(py.w()), 0.0);
  for (int64_t n = 0; n < batch; n++)
    for (int64_t o = 0; o < outputs; o++)
      for (int64_t oy = 0; oy < py.h(); oy++) {
        row_of(x, g, h, w, size_t(n * channels + o / out_group * in_group), in_group, o, oy, row,
               weight);
        for (int64_t ox = 0; ox < py.w(); ox++) y.at[py.at(n, o, oy, ox)] = row[size_t(ox)];
      }
  return y;
}

template <class Weight>
Tensor spread(const Tensor& x, bool last, const Geometry& g, int64_t outputs, int64_t oh,
              int64_t ow, Weight weight) {
  NchwView px{x, last};
  Tensor y = empty_like(x, last, outputs, oh, ow);
  NchwView py{y, last};
  int64_t in_group = px.c() / g.groups, out_group = outputs / g.groups;
  for (int64_t n = 0; n < px.n(); n++)
    for (int64_t c = 0; c < px.c(); c++)
      for (int64_t iy = 0; iy < px.h(); iy++)
        for (int64_t ix = 0; ix < px.w(); ix++)
          for (int64_t o = 0; o < out_group; o++)
            for (int64_t ky = 0; ky < g.kh; ky++)
              for (int64_t kx = 0; kx < g.kw; kx++) {
                int64_t oy = iy * g.sh - g.top + ky * g.dh, ox = ix * g.sw - g.left + kx * g.dw,
                        out = c / in_group * out_group + o;
                if (oy < 0 || oy >= oh || ox < 0 || ox >= ow) continue;
                y.at[py.at(n, out, oy, ox)] +=
                    x.at[px.at(n, c, iy, ix)] * weight(out, c % in_group, ky, kx);
              }
  return y;
}

void add_bias(Tensor& y, bool last, const Tensor& bias) {
  NchwView p{y, last};
  for (int64_t n = 0; n < p.n(); n++)
    for (int64_t c = 0; c < p.c(); c++)
      for (int64_t h = 0; h < p.h(); h++)
        for (int64_t w = 0; w < p.w(); w++) y.at[p.at(n, c, h, w)] += bias.at[size_t(c)];
}

void epilogue(Evaluator& e, const Node& node, Tensor& y) {
  const Tensor* residual = e.has(node, 3) ? &e.in(node, 3) : nullptr;
  bool first = node.integer(attr::residual_first, 0) != 0;
  if (residual && residual->dims != y.dims)
    throw std::runtime_error("evaluator: residual dims differ");
  const std::function<double(double)> f = activation_of(node);
  if (!f && !residual) return;
  for (size_t i = 0; i < y.at.size(); i++) {
    double r = residual ? residual->at[i] : 0, sum = first ? y.at[i] + r : y.at[i];
    y.at[i] = (f ? f(sum) : sum) + (first ? 0 : r);
  }
}

Tensor pooled(const Tensor& x, bool last, const Geometry& g, const std::string& kind, int64_t p,
              int64_t oh, int64_t ow) {
  NchwView px{x, last};
  Tensor y = empty_like(x, last, px.c(), oh, ow);
  NchwView py{y, last};
  for (int64_t n = 0; n < px.n(); n++)
    for (int64_t c = 0; c < px.c(); c++)
      for (int64_t oy = 0; oy < oh; oy++)
        for (int64_t ox = 0; ox < ow; ox++) {
          double most = -std::numeric_limits<double>::infinity(), sum = 0, powers = 0, inside = 0,
                 counted = 0;
          for (int64_t ky = 0; ky < g.kh; ky++)
            for (int64_t kx = 0; kx < g.kw; kx++) {
              int64_t iy = oy * g.sh - g.top + ky * g.dh, ix = ox * g.sw - g.left + kx * g.dw;
              counted += iy < px.h() + g.bottom && ix < px.w() + g.right;
              if (iy < 0 || iy >= px.h() || ix < 0 || ix >= px.w()) continue;
              double v = x.at[px.at(n, c, iy, ix)];
              most = std::max(most, v);
              sum += v;
              powers += std::pow(std::fabs(v), double(p));
              inside++;
            }
          y.at[py.at(n, c, oy, ox)] = kind == "max"       ? most
                                      : kind == "average" ? sum / inside
                                      : kind == "lp"      ? std::pow(powers, 1.0 / double(p))
                                                          : sum / counted;
        }
  return y;
}

std::vector<Tensor> source_pool(Evaluator& e, const Node& node) {
  Geometry g = geometry(node);
  const Tensor& x = e.in(node, 0);
  NchwView px{x, false};
  int64_t oh = extent(px.h(), g.top + g.bottom, g.kh, g.sh, g.dh),
          ow = extent(px.w(), g.left + g.right, g.kw, g.sw, g.dw);
  Dimensions dims;
  if (e.declared(node, 0, dims)) ow = dims.back(), oh = dims.size() == 4 ? dims[2] : 1;
  std::string kind = node.op == op::MaxPool                     ? "max"
                     : node.op == op::LpPool                    ? "lp"
                     : node.integer(attr::count_include_pad, 0) ? "include"
                                                                : "average";
  return {pooled(x, false, g, kind, node.integer(attr::p, 2), oh, ow)};
}

}  // namespace

std::vector<Tensor> evaluate_spatial(Evaluator& e, const Node& node) {
  if (node.op == op::MaxPool || node.op == op::AveragePool || node.op == op::LpPool)
    return source_pool(e, node);
  if (node.op == op::Pool2d) {
    Geometry g = geometry(node);
    NchwView px{e.in(node, 0), true};
    return {pooled(px.t, true, g, node.text(attr::kind, "max"), node.integer(attr::p, 2),
                   extent(px.h(), g.top + g.bottom, g.kh, g.sh, g.dh),
                   extent(px.w(), g.left + g.right, g.kw, g.sw, g.dw))};
  }
  bool source = node.op == op::Conv || node.op == op::ConvTranspose;
  if (!source && node.op != op::Conv2d && node.op != op::ConvTranspose2d) return {};
  const Tensor &x = e.in(node, 0), &w = e.in(node, 1);
  Geometry g = geometry(node);
  Tensor y;
  int64_t per = w.dims.back();
  auto core_weight = [&](int64_t o, int64_t c, int64_t ky, int64_t kx) {
    return w.at[size_t(((o * g.kh + ky) * g.kw + kx) * per + c)];
  };
  if (node.op == op::Conv) {
    y = convolved(x, false, false, g, w.dims[0], [&](int64_t o, int64_t c, int64_t ky, int64_t kx) {
      return w.at[size_t(((o * w.dims[1] + c) * g.kh + ky) * g.kw + kx)];
    });
  } else if (node.op == op::Conv2d) {
    y = convolved(x, node.text(attr::input_layout, "nhwc") == "nhwc", true, g, w.dims[0],
                  core_weight);
  } else {
    Dimensions dims;
    int64_t outputs = source ? w.dims[1] * g.groups : w.dims[0];
    NchwView px{x, !source};
    int64_t oh = (px.h() - 1) * g.sh - g.top - g.bottom + g.dh * (g.kh - 1) + 1,
            ow = (px.w() - 1) * g.sw - g.left - g.right + g.dw * (g.kw - 1) + 1;
    if (e.declared(node, 0, dims)) {
      ow = dims[source ? dims.size() - 1 : dims.size() - 2];
      oh = dims.size() == 3 ? 1 : dims[source ? 2 : 1];
    }
    int64_t out_group = outputs / g.groups, in_group = px.c() / g.groups;
    auto source_weight = [&](int64_t o, int64_t c, int64_t ky, int64_t kx) {
      int64_t channel = o / out_group * in_group + c;
      return w.at[size_t(((channel * out_group + o % out_group) * g.kh + ky) * g.kw + kx)];
    };
    y = source ? spread(x, false, g, outputs, oh, ow, source_weight)
               : spread(x, true, g, outputs, oh, ow, core_weight);
  }
  if (e.has(node, 2)) add_bias(y, !source, e.in(node, 2));
  if (!source) epilogue(e, node, y);
  return {y};
}

}  // namespace ingot::reference
