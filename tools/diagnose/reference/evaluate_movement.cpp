// SPDX-License-Identifier: Apache-2.0
// What moves elements and computes nothing, resizing and sorting.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

#include "kernels/cpu/resize/taps.inl"
#include "tools/diagnose/reference/evaluator.h"

namespace ingot::reference {
namespace {

using graph::Node;

Dimensions needed(const Evaluator& e, const Node& node) {
  Dimensions dims;
  if (!e.declared(node, 0, dims))
    throw std::runtime_error("evaluator: the dims of " + text(node.op) + " must be given");
  return dims;
}

template <class From>
Tensor picked(const Tensor& x, const Dimensions& dims, From from) {
  Tensor y{dims, {}};
  for_each_index(dims, [&](const Dimensions& at) {
    y.at.push_back(x.at[size_t(offset_of(x.dims, from(at)))]);
  });
  return y;
}

Tensor transpose(const Tensor& x, const Dimensions& perm) {
  Dimensions dims;
  for (int64_t p : perm) dims.push_back(x.dims[size_t(p)]);
  return picked(x, dims, [&](const Dimensions& at) {
    Dimensions from(at.size());
    for (size_t k = 0; k < at.size(); k++) from[size_t(perm[k])] = at[k];
    return from;
  });
}

Tensor concat(Evaluator& e, const Node& node) {
  size_t axis = size_t(node.integer(attr::axis, 0));
  Tensor y{e.in(node, 0).dims, {}};
  y.dims[axis] = 0;
  for (size_t i = 0; i < node.inputs.size(); i++) y.dims[axis] += e.in(node, i).dims[axis];
  for_each_index(y.dims, [&](Dimensions at) {
    size_t i = 0;
    while (at[axis] >= e.in(node, i).dims[axis]) at[axis] -= e.in(node, i++).dims[axis];
    y.at.push_back(e.in(node, i).at[size_t(offset_of(e.in(node, i).dims, at))]);
  });
  return y;
}

std::vector<Tensor> split(Evaluator& e, const Node& node) {
  size_t axis = size_t(node.integer(attr::axis, 0));
  std::vector<Tensor> results;
  int64_t start = 0;
  for (size_t i = 0; i < node.outputs.size(); i++) {
    Dimensions dims;
    if (!e.declared(node, i, dims))
      throw std::runtime_error("evaluator: the dims of Split must be given");
    results.push_back(
        picked(e.in(node, 0), dims, [&](Dimensions at) { return at[axis] += start, at; }));
    start += dims[axis];
  }
  return results;
}

Tensor pad(Evaluator& e, const Node& node) {
  const Tensor& x = e.in(node, 0);
  Dimensions before = e.numbers(node.dims(attr::before));
  std::string mode = node.text(attr::mode, "constant");
  Tensor y{needed(e, node), {}};
  for_each_index(y.dims, [&](Dimensions at) {
    bool outside = false;
    for (size_t k = 0; k < at.size(); k++) {
      int64_t i = at[k] - before[k], n = x.dims[k];
      if (mode == "reflect")
        i = i < 0 ? -i : i >= n ? 2 * n - 2 - i : i;
      else if (mode == "edge")
        i = std::clamp<int64_t>(i, 0, n - 1);
      else if (mode == "wrap")
        i = (i % n + n) % n;
      outside |= i < 0 || i >= n;
      at[k] = i;
    }
    y.at.push_back(outside ? node.number(attr::value, 0) : x.at[size_t(offset_of(x.dims, at))]);
  });
  return y;
}

int64_t wrapped_index(double index, int64_t extent) {
  const int64_t i = int64_t(index) < 0 ? int64_t(index) + extent : int64_t(index);
  if (i < 0 || i >= extent) throw std::runtime_error("evaluator: an index is out of range");
  return i;
}

Tensor gather(Evaluator& e, const Node& node) {
  const Tensor &x = e.in(node, 0), &indices = e.in(node, 1);
  size_t axis = size_t(node.integer(attr::axis, 0)), r = indices.dims.size();
  Dimensions dims(x.dims.begin(), x.dims.begin() + long(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + long(axis) + 1, x.dims.end());
  return picked(x, dims, [&](const Dimensions& at) {
    Dimensions which(at.begin() + long(axis), at.begin() + long(axis + r));
    Dimensions from(at.begin(), at.begin() + long(axis));
    from.push_back(wrapped_index(indices.at[size_t(offset_of(indices.dims, which))], x.dims[axis]));
    from.insert(from.end(), at.begin() + long(axis + r), at.end());
    return from;
  });
}

/// Where a pixel of nearest lies, as every source has its own arithmetic: that of the kernels.
int64_t nearest_pixel(const std::string& coordinate, const std::string& nearest, double scale,
                      int64_t in, int64_t out, int64_t i) {
  static const char* const kCoordinates[] = {"half_pixel",
                                             "asymmetric",
                                             "align_corners",
                                             "pytorch_half_pixel",
                                             "half_pixel_symmetric",
                                             "tf_half_pixel_for_nn",
                                             "asymmetric_multiplied",
                                             "tf_half_pixel_multiplied",
                                             "align_corners_multiplied",
                                             "asymmetric_fixed_point"};
  static const char* const kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil"};
  const auto number = [](const auto& names, const std::string& name) {
    for (size_t k = 0; k < std::size(names); k++)
      if (name == names[k]) return k;
    throw std::runtime_error("evaluator: Resize with '" + name + "'");
  };
  ResizeAttributes t;
  t.coordinate = CoordinateMode(number(kCoordinates, coordinate));
  t.nearest = NearestMode(number(kNearest, nearest));
  t.scales[0] = float(scale != 0 && multiplies_by_scale(t.coordinate) ? 1 / scale : scale);
  const auto axis = cpu::tensors::resize_axis(t, 0, in, out, true);
  return cpu::tensors::nearest_index(t, axis, i);
}

// Position in x for position `i` of y, ONNX's formulas.
double coordinate(const std::string& mode, double i, double scale, int64_t in, int64_t out) {
  if (mode == "asymmetric") return i / scale;
  if (mode == "align_corners") return out == 1 ? 0 : i * double(in - 1) / double(out - 1);
  if (mode == "pytorch_half_pixel" && out == 1) return 0;
  const double shift = mode == "half_pixel_symmetric"
                           ? double(in) / 2 * (1 - double(out) / (scale * double(in)))
                           : 0;
  return shift + (i + 0.5) / scale - 0.5;
}

Tensor resize(Evaluator& e, const Node& node) {
  const Tensor& x = e.in(node, 0);
  bool core = node.has(attr::coordinate);
  std::string how =
      node.text(core ? attr::coordinate : attr::coordinate_transformation_mode, "half_pixel");
  std::string nearest = node.text(core ? attr::nearest : attr::nearest_mode, "round_prefer_floor"),
              mode = node.text(attr::mode, "nearest");
  std::vector<double> scales = node.numbers(attr::scales);
  Tensor y{needed(e, node), {}};
  for_each_index(y.dims, [&](const Dimensions& at) {
    std::vector<std::pair<Dimensions, double>> taps = {{Dimensions{}, 1.0}};
    for (size_t k = 0; k < at.size(); k++) {
      double scale =
          scales.empty() || scales[k] == 0 ? double(y.dims[k]) / double(x.dims[k]) : scales[k];
      double p = coordinate(how, double(at[k]), scale, x.dims[k], y.dims[k]);
      auto inside = [&](double i) { return std::clamp<int64_t>(int64_t(i), 0, x.dims[k] - 1); };
      std::vector<std::pair<int64_t, double>> here;
      if (x.dims[k] == y.dims[k] && scale == 1)
        here = {{at[k], 1}};
      else if (mode == "linear")
        here = {{inside(std::floor(p)), 1 - (p - std::floor(p))},
                {inside(std::floor(p) + 1), p - std::floor(p)}};
      else
        here = {{nearest_pixel(how, nearest, scales.empty() ? 0 : scales[k], x.dims[k], y.dims[k],
                               at[k]),
                 1}};
      std::vector<std::pair<Dimensions, double>> longer;
      for (auto& [prefix, weight] : taps)
        for (auto& [i, w] : here) {
          longer.push_back({prefix, weight * w});
          longer.back().first.push_back(i);
        }
      taps = std::move(longer);
    }
    double sum = 0;
    for (auto& [from, weight] : taps) sum += weight * x.at[size_t(offset_of(x.dims, from))];
    y.at.push_back(sum);
  });
  return y;
}

std::vector<Tensor> top_k(Evaluator& e, const Node& node) {
  const Tensor& x = e.in(node, 0);
  size_t axis = size_t(node.integer(attr::axis, 0));
  bool largest = node.integer(attr::largest, 1) != 0;
  Tensor values{needed(e, node), {}}, indices{values.dims, {}};
  for_each_index(values.dims, [&](Dimensions at) {
    int64_t k = at[axis];
    std::vector<std::pair<double, int64_t>> all;
    for (at[axis] = 0; at[axis] < x.dims[axis]; at[axis]++) {
      double v = x.at[size_t(offset_of(x.dims, at))];
      all.push_back({largest ? -v : v, at[axis]});
    }
    std::sort(all.begin(), all.end());
    values.at.push_back(largest ? -all[size_t(k)].first : all[size_t(k)].first);
    indices.at.push_back(double(all[size_t(k)].second));
  });
  return {values, indices};
}

Tensor cumulative_sum(Evaluator& e, const Node& node) {
  const Tensor& x = e.in(node, 0);
  size_t axis = size_t(node.integer(attr::axis, 0));
  bool exclusive = node.integer(attr::exclusive, 0) != 0,
       reverse = node.integer(attr::reverse, 0) != 0;
  Tensor y{x.dims, {}};
  for_each_index(x.dims, [&](const Dimensions& at) {
    double sum = 0;
    for (int64_t i = 0; i < x.dims[axis]; i++) {
      bool before = reverse ? i > at[axis] : i < at[axis];
      Dimensions from = at;
      from[axis] = i;
      if (before || (i == at[axis] && !exclusive)) sum += x.at[size_t(offset_of(x.dims, from))];
    }
    y.at.push_back(sum);
  });
  return y;
}

}  // namespace

std::vector<Tensor> evaluate_movement(Evaluator& e, const Node& node) {
  if (node.op == op::Reshape) {
    Tensor y = e.in(node, 0);
    y.dims = needed(e, node);
    if (y.elements() != int64_t(y.at.size()))
      throw std::runtime_error("evaluator: Reshape changes the number of elements");
    return {y};
  }
  if (node.op == op::Transpose) return {transpose(e.in(node, 0), node.integers(attr::perm))};
  if (node.op == op::Concat) return {concat(e, node)};
  if (node.op == op::Split) return split(e, node);
  if (node.op == op::Slice) {
    Dimensions starts = e.numbers(node.dims(attr::starts)), steps = node.integers(attr::steps);
    return {picked(e.in(node, 0), needed(e, node), [&](Dimensions at) {
      for (size_t k = 0; k < at.size(); k++) at[k] = starts[k] + at[k] * steps[k];
      return at;
    })};
  }
  if (node.op == op::Pad) return {pad(e, node)};
  if (node.op == op::Expand) {
    Tensor y{needed(e, node), {}};
    for_each_index(y.dims,
                   [&](const Dimensions& at) { y.at.push_back(broadcast_at(e.in(node, 0), at)); });
    return {y};
  }
  if (node.op == op::Tile)
    return {picked(e.in(node, 0), needed(e, node), [&](Dimensions at) {
      for (size_t k = 0; k < at.size(); k++) at[k] %= e.in(node, 0).dims[k];
      return at;
    })};
  if (node.op == op::Gather) return {gather(e, node)};
  if (node.op == op::GatherElements) {
    const Tensor& indices = e.in(node, 1);
    size_t axis = size_t(node.integer(attr::axis, 0));
    return {picked(e.in(node, 0), indices.dims, [&](Dimensions at) {
      at[axis] =
          wrapped_index(indices.at[size_t(offset_of(indices.dims, at))], e.in(node, 0).dims[axis]);
      return at;
    })};
  }
  if (node.op == op::Resize) return {resize(e, node)};
  if (node.op == op::TopK) return top_k(e, node);
  if (node.op == op::CumSum) return {cumulative_sum(e, node)};
  return {};
}

}  // namespace ingot::reference
