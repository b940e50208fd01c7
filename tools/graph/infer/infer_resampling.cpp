// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_resampling.cpp - Resize with antialias or tf_crop_and_resize: a product
// with a constant matrix along each axis that changes. Extents must be known; the ordinary modes
// are an operator of their own.
#include "tools/graph/infer/infer_resampling.h"

#include <cmath>

#include "runtime/op/resize.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

constexpr int64_t kMaxMatrix = int64_t(1) << 24;

/// One axis: what its output positions read.
struct Sampling {
  int64_t in = 0, out = 0;
  double scale = 1;            // output / input
  double first = 0, last = 1;  // of the region, in parts of the input
  bool crop = false, antialias = false, exclude_outside = false;
  std::string mode, coordinate, nearest;
  double cubic_a = -0.75;

  double coordinate_of(int64_t y) const {
    const double x = double(y), length = scale * double(in);
    if (crop) {
      const double span = double(in - 1);
      if (out == 1) return (first + last) * span / 2;
      return first * span + x * (last - first) * span / double(out - 1);
    }
    if (coordinate == "asymmetric") return x / scale;
    if (coordinate == "align_corners") return out == 1 ? 0 : x * double(in - 1) / (double(out) - 1);
    if (coordinate == "pytorch_half_pixel" && out == 1) return -0.5;
    const double shift =
        coordinate == "half_pixel_symmetric" ? double(in) / 2 * (1 - double(out) / length) : 0;
    return shift + (x + 0.5) / scale - 0.5;
  }
  double kernel(double distance) const {
    const double x = std::fabs(distance), a = cubic_a;
    if (mode == "linear") return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }
  int64_t rounded(double x) const {
    if (nearest == "floor") return int64_t(std::floor(x));
    if (nearest == "ceil") return int64_t(std::ceil(x));
    const double low = std::floor(x), part = x - low, tie = double(kResizeTie);
    return int64_t(low) + (nearest == "round_prefer_ceil" ? part >= 0.5 - tie : part > 0.5 + tie);
  }
  int64_t limited(int64_t at) const { return at < 0 ? 0 : at >= in ? in - 1 : at; }
  bool outside(double x) const { return crop && (x < 0 || x > double(in - 1)); }

  /// Adds the weights of output position y to a row of `in` numbers; a place outside of the image
  /// adds nothing.
  void fill(int64_t y, double* row) const {
    const double x = coordinate_of(y);
    if (outside(x)) return;
    if (mode == "nearest") {
      row[limited(rounded(x))] = 1;
      return;
    }
    const double stretch = antialias ? std::fmin(scale, 1) : 1,
                 reach = (mode == "linear" ? 1 : 2) / stretch;
    const int64_t begin = int64_t(std::floor(x - reach)), end = int64_t(std::ceil(x + reach));
    double sum = 0;
    for (int64_t i = begin; i <= end; i++) {
      const bool counts = !exclude_outside || (i >= 0 && i < in);
      if (counts) sum += kernel((double(i) - x) * stretch);
    }
    for (int64_t i = begin; i <= end; i++) {
      const bool counts = !exclude_outside || (i >= 0 && i < in);
      if (counts && sum != 0) row[limited(i)] += kernel((double(i) - x) * stretch) / sum;
    }
  }
};

/// x [..., in, ...] by the matrix along `axis`.
ValueId product_along(NodeContext& context, ValueId x, int64_t axis, const Sampling& s) {
  std::vector<double> matrix(size_t(s.in * s.out), 0.0), row(size_t(s.in), 0.0);
  for (int64_t y = 0; y < s.out; y++) {
    std::fill(row.begin(), row.end(), 0.0);
    s.fill(y, row.data());
    for (int64_t i = 0; i < s.in; i++) matrix[size_t(i * s.out + y)] = row[size_t(i)];
  }
  const ValueId weights = context.constant(make_floating(DType::kF32, {s.in, s.out}, matrix));
  const int64_t rank = int64_t(context.run().value(x).dims.size());
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < rank; i++) perm.push_back(i);
  std::swap(perm[size_t(axis)], perm[size_t(rank - 1)]);
  const bool moves = axis != rank - 1;
  if (moves) x = context.make(op::Transpose, {x}, {{attr::perm, perm}});
  x = context.make(op::MatMul, {x, weights});
  return moves ? context.make(op::Transpose, {x}, {{attr::perm, perm}}) : x;
}

/// What a cropping resize gives outside of the image: a constant to add, along the axes that have
/// an outside.
ValueId with_outside(NodeContext& context, ValueId x, const std::vector<Sampling>& axes,
                     double value) {
  if (value == 0) return x;
  const size_t rank = axes.size();
  ValueId inside = kAbsent;
  for (size_t i = 0; i < rank; i++) {
    std::vector<double> flags;
    bool all = true;
    for (int64_t y = 0; y < axes[i].out && axes[i].crop; y++) {
      flags.push_back(axes[i].outside(axes[i].coordinate_of(y)) ? 0 : 1);
      all = all && flags.back() == 1;
    }
    if (flags.empty() || all) continue;
    std::vector<int64_t> dims(rank, 1);
    dims[i] = axes[i].out;
    const ValueId part = context.constant(make_floating(DType::kF32, dims, flags));
    inside = inside == kAbsent ? part : context.make(op::Mul, {inside, part});
  }
  if (inside == kAbsent) return x;
  const ValueId beyond = context.make(op::Sub, {context.scalar(DType::kF32, 1), inside});
  return context.make(op::Add,
                      {x, context.make(op::Mul, {beyond, context.scalar(DType::kF32, value)})});
}

}  // namespace

bool needs_resampling(NodeContext& context, const Dims& out, const std::vector<double>& scales) {
  if (context.node.text(attr::coordinate_transformation_mode, "half_pixel") == "tf_crop_and_resize")
    return true;
  if (context.node.integer(attr::antialias, 0) == 0 ||
      context.node.text(attr::mode, "nearest") == "nearest")
    return false;
  for (size_t i = 0; i < out.size(); i++) {
    const Dim& in = context.dims(0)[i];
    if (scales[i] != 0 ? scales[i] < 1 : !proven_at_least(out[i], in)) return true;
  }
  return false;
}

void resample(NodeContext& context, const Dims& out, const std::vector<double>& scales) {
  const Dims in = context.dims(0);
  if (context.dtype(0) != DType::kF32)
    context.refuse("", "with antialias or tf_crop_and_resize only f32 is built");
  std::vector<Sampling> axes(in.size());
  const bool crop =
      context.node.text(attr::coordinate_transformation_mode, "half_pixel") == "tf_crop_and_resize";
  std::vector<double> region;
  if (crop) {
    const Constant* roi = context.has(1) ? context.model().constant(context.in(1)) : nullptr;
    if (!roi) context.refuse("roi", "is known only at run time", "export with a constant region");
    const std::vector<int64_t> given = context.node.integers(attr::axes);
    const std::vector<double> numbers = read_numbers(*roi);
    const size_t count = given.empty() ? in.size() : given.size();
    if (numbers.size() != count * 2)
      context.corrupt("its roi has " + std::to_string(numbers.size()) + " numbers");
    region.assign(in.size() * 2, 0);
    for (size_t i = 0; i < in.size(); i++) region[in.size() + i] = 1;
    for (size_t i = 0; i < count; i++) {
      const size_t axis = given.empty() ? i : size_t(context.axis(given[i], context.rank(0)));
      region[axis] = numbers[i];
      region[in.size() + axis] = numbers[count + i];
    }
  }
  ValueId x = context.in(0);
  for (size_t i = 0; i < in.size(); i++) {
    Sampling& s = axes[i];
    const bool whole = !crop || (region[i] == 0 && region[in.size() + i] == 1);
    if (out[i] == in[i] && whole && (scales[i] == 1 || scales[i] == 0)) continue;
    if (!in[i].is_static() || !out[i].is_static())
      context.refuse("",
                     "with antialias or tf_crop_and_resize needs fixed extents, here " +
                         in[i].text() + " to " + out[i].text(),
                     "bind them with --dim or --input-shape");
    s.in = *in[i].value(), s.out = *out[i].value();
    if (s.in < 1 || s.out < 0 || (s.out > 0 && s.in > kMaxMatrix / s.out))
      context.refuse("", "its matrix would be too large");
    s.scale = scales[i] != 0 ? scales[i] : double(s.out) / double(s.in);
    s.crop = crop;
    if (crop) s.first = region[i], s.last = region[in.size() + i];
    s.antialias = context.node.integer(attr::antialias, 0) != 0;
    s.exclude_outside = context.node.integer(attr::exclude_outside, 0) != 0;
    s.mode = context.node.text(attr::mode, "nearest");
    s.coordinate = context.node.text(attr::coordinate_transformation_mode, "half_pixel");
    s.nearest = context.node.text(attr::nearest_mode, "round_prefer_floor");
    s.cubic_a = context.node.number(attr::cubic_coeff_a, -0.75);
    x = product_along(context, x, int64_t(i), s);
  }
  context.same(0,
               with_outside(context, x, axes, context.node.number(attr::extrapolation_value, 0)));
}

}  // namespace ingot::graph
