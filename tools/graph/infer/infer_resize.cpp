// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_resize.cpp - Resize: scales or sizes to output dims, and the scales that
// the coordinates use.
#include <algorithm>
#include <cmath>

#include "tools/graph/infer/infer_resampling.h"
#include "tools/graph/infer/inference.h"
#include "tools/graph/infer/run_numbers.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

/// Those of sources that are not ONNX: runtime/op/resize.h.
bool is_foreign(const std::string& mode) {
  return mode == "asymmetric_multiplied" || mode == "tf_half_pixel_multiplied" ||
         mode == "align_corners_multiplied" || mode == "asymmetric_fixed_point";
}

void check_modes(NodeContext& context) {
  const std::string mode = context.node.text(attr::coordinate_transformation_mode, "half_pixel");
  const bool of_nearest = mode == "tf_half_pixel_for_nn" || is_foreign(mode);
  if (of_nearest ? context.node.text(attr::mode, "nearest") != "nearest"
                 : mode != "half_pixel" && mode != "half_pixel_symmetric" &&
                       mode != "pytorch_half_pixel" && mode != "align_corners" &&
                       mode != "asymmetric" && mode != "tf_crop_and_resize") {
    context.refuse("coordinate_transformation_mode", "'" + mode + "' is not supported",
                   "export with half_pixel, asymmetric or align_corners");
  }
  const std::string nearest = context.node.text(attr::nearest_mode, "round_prefer_floor");
  if (nearest != "round_prefer_floor" && nearest != "round_prefer_ceil" && nearest != "floor" &&
      nearest != "ceil") {
    context.refuse("nearest_mode", "'" + nearest + "' is not supported");
  }
}

/// Which dimensions the numbers are for.
std::vector<int64_t> target_axes(NodeContext& context, size_t count) {
  std::vector<int64_t> axes = context.node.integers(attr::axes);
  if (axes.empty()) {
    for (int64_t i = 0; i < context.rank(0); i++) axes.push_back(i);
  }
  context.axes(axes, context.rank(0));
  if (axes.size() != count)
    context.corrupt("gives " + std::to_string(count) + " scales or sizes, expected " +
                    std::to_string(axes.size()));
  for (int64_t& a : axes) a = context.axis(a, context.rank(0));
  return axes;
}

Contents scales_of(NodeContext& context) {
  if (context.node.has(attr::scales)) {
    Contents out;
    for (const double s : context.node.numbers(attr::scales)) out.push_back(Scalar::of(s));
    return out;
  }
  const auto contents = context.run().contents(context.in(2));
  if (!contents)
    context.refuse("scales",
                   "its value ('" + context.value(2).name + "') is known only at run time",
                   "export with fixed sizes");
  return *contents;
}

int64_t scale_count(NodeContext& context) {
  const auto count = product(context.dims(2)).value();
  if (!count || *count > kMaxRank) context.corrupt("has scales " + text(context.dims(2)));
  return *count;
}
bool scales_are_data(NodeContext& context) {
  if (context.node.has(attr::scales)) return false;
  const auto contents = context.run().contents(context.in(2));
  return !contents || std::any_of(contents->begin(), contents->end(),
                                  [](const Scalar& s) { return !s.known(); });
}

Dim extent_of(NodeContext& context, double x) {
  if (!(x < 0x1p62)) context.corrupt("its result has " + std::to_string(x) + " elements in a row");
  return Dim(int64_t(x));
}

void apply_scales(NodeContext& context, Dims& out, std::vector<double>& scales) {
  const Contents given = scales_of(context);
  const std::vector<int64_t> axes = target_axes(context, given.size());
  for (size_t i = 0; i < axes.size(); i++) {
    const size_t axis = size_t(axes[i]);
    const Dim in = context.dims(0)[axis];
    const auto number = given[i].number();
    if (number && !(*number > 0 && *number < 1e9))
      context.corrupt("scale " + std::to_string(*number) + " is out of range");
    if (number && in.is_static()) {
      out[axis] = extent_of(context, std::floor(float(*in.value()) * float(*number)));
    } else if (given[i].kind == Scalar::Kind::kRatio) {
      out[axis] = (in * given[i].numerator) / given[i].denominator;
    } else {
      context.refuse(
          "scales",
          "scale " + (number ? std::to_string(*number) : std::string("known only at run time")) +
              " of dimension " + in.text(),
          "bind the dimension with --dim");
    }
    scales[axis] = number.value_or(0);  // a symbolic scale is output / input
  }
}

void apply_sizes(NodeContext& context, Dims& out, std::vector<double>& scales) {
  const Dims sizes = context.need_dims(attr::sizes, 3);
  const std::vector<int64_t> axes = target_axes(context, sizes.size());
  const std::string policy = context.node.text(attr::keep_aspect_ratio_policy, "stretch");
  if (policy == "stretch") {
    for (size_t i = 0; i < axes.size(); i++) {
      out[size_t(axes[i])] = sizes[i];
      if (sizes[i] == context.dims(0)[size_t(axes[i])]) scales[size_t(axes[i])] = 1;
    }
    return;
  }
  if (policy != "not_larger" && policy != "not_smaller")
    context.refuse("keep_aspect_ratio_policy", "'" + policy + "' is not known");
  double scale = policy == "not_larger" ? 1e30 : 0;
  for (size_t i = 0; i < axes.size(); i++) {
    const auto in = context.dims(0)[size_t(axes[i])].value(), size = sizes[i].value();
    if (!in || !size || *in < 1)
      context.refuse("keep_aspect_ratio_policy", "'" + policy + "' needs fixed dimensions",
                     "bind them with --dim");
    const double one = double(*size) / double(*in);
    scale = policy == "not_larger" ? std::min(scale, one) : std::max(scale, one);
  }
  for (const int64_t axis : axes) {
    out[size_t(axis)] = extent_of(
        context, std::floor(scale * double(*context.dims(0)[size_t(axis)].value()) + 0.5));
    scales[size_t(axis)] = double(float(scale));
  }
}

/// Beside sizes, which no file of ONNX has: the sizes say how many samples there are, the scales
/// where they lie.
std::vector<double> given_scales(NodeContext& context) {
  const std::vector<double> scales = context.node.numbers(attr::scales);
  if (scales.size() != context.dims(0).size())
    context.corrupt("has " + std::to_string(scales.size()) + " scales");
  for (const double scale : scales)
    if (!(scale >= 1e-9 && scale < 1e9))
      context.corrupt("scale " + std::to_string(scale) + " is out of range");
  return scales;
}

/// Whole numbers between which something is computed: in f32, the part behind the point cut off, as
/// onnxruntime does (ONNX does not say).
void resize_as_floats(NodeContext& context) {
  const DType dtype = context.dtype(0);
  std::vector<ValueId> inputs = context.node.inputs;
  inputs[0] = context.cast(inputs[0], DType::kF32);
  const ValueId resized = context.make(op::Resize, inputs, context.node.attributes);
  context.finish(op::Cast, {resized}, {{attr::to, int64_t(dtype)}});
}

void resize(NodeContext& context) {
  if (context.node.inputs.size() == 1 && context.settled()) return;  // in normal form
  check_modes(context);
  if (!is_floating(context.dtype(0)) && context.node.text(attr::mode, "nearest") != "nearest")
    return resize_as_floats(context);
  const Dims in = context.dims(0);
  Dims out = in;
  std::vector<double> scales(in.size(), 1.0);
  const bool by_sizes = context.has(3), scales_are_inputs = context.has(2) && !by_sizes,
             by_computed_sizes = by_sizes && !context.model().constant(context.in(3));
  // An empty tensor stands for an absent input.
  const bool by_scales =
      context.node.has(attr::scales) || (context.has(2) && product(context.dims(2)) != Dim(0));
  if (by_sizes) {
    std::fill(scales.begin(), scales.end(), 0.0);
    for (size_t i = 0; i < in.size(); i++) scales[i] = 1.0;
    std::vector<double> from_sizes(in.size(), 0.0);
    apply_sizes(context, out, from_sizes);
    for (size_t i = 0; i < in.size(); i++)
      scales[i] = out[i] == in[i] && from_sizes[i] == 0 ? 1.0 : from_sizes[i];
    if (context.node.has(attr::scales)) scales = given_scales(context);
  } else if (by_scales) {
    if (context.node.text(attr::coordinate_transformation_mode, "") == "tf_crop_and_resize")
      context.refuse("scales", "with tf_crop_and_resize sizes are built", "export with sizes");
    if (scales_are_data(context))
      return resize_by_data(context, target_axes(context, size_t(scale_count(context))));
    apply_scales(context, out, scales);
  } else {
    context.corrupt("has neither scales nor sizes");
  }
  if (needs_resampling(context, out, scales)) return resample(context, out, scales);
  context.drop_inputs_from(1);
  context.erase(
      {attr::axes, attr::keep_aspect_ratio_policy, attr::antialias, attr::extrapolation_value});
  const bool unchanged =
      out == in && std::all_of(scales.begin(), scales.end(), [](double s) { return s == 1.0; });
  // A node that resizes to the extents at hand: perhaps they only share their name.
  for (const Dim& d : in)
    if (unchanged && by_computed_sizes) context.force_equal(d, d + Dim(1));
  // Where no extent changes, onnxruntime copies, whatever the scales.
  const bool copies = out == in && scales_are_inputs;
  if (unchanged || copies) return context.same(0, context.in(0));
  context.node.attributes[attr::scales] = scales;
  context.set(0, context.dtype(0), std::move(out));
}

}  // namespace

void add_resize_rules(InferTable& table) { table[op::Resize] = resize; }

}  // namespace ingot::graph
