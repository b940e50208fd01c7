// tools/graph/infer/infer_resize.cpp - Resize: scales or sizes to output dims, and the scales that
// the coordinates use.
#include <algorithm>
#include <cmath>

#include "tools/graph/infer/infer_resampling.h"
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

void check_modes(Site& site) {
  const std::string mode = site.node.text("coordinate_transformation_mode", "half_pixel");
  if (mode != "half_pixel" && mode != "half_pixel_symmetric" && mode != "pytorch_half_pixel" &&
      mode != "align_corners" && mode != "asymmetric" && mode != "tf_crop_and_resize") {
    site.refuse("coordinate_transformation_mode", "'" + mode + "' is not supported",
                "export with half_pixel, asymmetric or align_corners");
  }
  const std::string nearest = site.node.text("nearest_mode", "round_prefer_floor");
  if (nearest != "round_prefer_floor" && nearest != "round_prefer_ceil" && nearest != "floor" &&
      nearest != "ceil") {
    site.refuse("nearest_mode", "'" + nearest + "' is not supported");
  }
}

/// Which dimensions the numbers are for.
std::vector<int64_t> target_axes(Site& site, size_t count) {
  std::vector<int64_t> axes = site.node.integers("axes");
  if (axes.empty()) {
    for (int64_t i = 0; i < site.rank(0); i++) axes.push_back(i);
  }
  site.axes(axes, site.rank(0));
  if (axes.size() != count)
    site.corrupt("gives " + std::to_string(count) + " scales or sizes, expected " +
                 std::to_string(axes.size()));
  for (int64_t& a : axes) a = site.axis(a, site.rank(0));
  return axes;
}

Contents scales_of(Site& site) {
  if (site.node.has("scales")) {
    Contents out;
    for (const double s : site.node.numbers("scales")) out.push_back(Scalar::of(s));
    return out;
  }
  const auto contents = site.run().contents(site.in(2));
  if (!contents)
    site.refuse("scales", "its value ('" + site.value(2).name + "') is known only at run time",
                "export with fixed sizes");
  return *contents;
}

void apply_scales(Site& site, Dims& out, std::vector<double>& scales) {
  const Contents given = scales_of(site);
  const std::vector<int64_t> axes = target_axes(site, given.size());
  for (size_t i = 0; i < axes.size(); i++) {
    const size_t axis = size_t(axes[i]);
    const Dim in = site.dims(0)[axis];
    const auto number = given[i].number();
    if (number && !(*number > 0 && *number < 1e9))
      site.corrupt("scale " + std::to_string(*number) + " is out of range");
    if (number && in.is_static()) {
      out[axis] = Dim(int64_t(std::floor(float(*in.value()) * float(*number))));
    } else if (given[i].kind == Scalar::Kind::kRatio) {
      out[axis] = (in * given[i].numerator) / given[i].denominator;
    } else {
      site.refuse("scales",
                  "scale " +
                      (number ? std::to_string(*number) : std::string("known only at run time")) +
                      " of dimension " + in.text(),
                  "bind the dimension with --dim");
    }
    scales[axis] = number.value_or(0);  // a symbolic scale is output / input
  }
}

void apply_sizes(Site& site, Dims& out, std::vector<double>& scales) {
  const Dims sizes = site.need_dims("sizes", 3);
  const std::vector<int64_t> axes = target_axes(site, sizes.size());
  const std::string policy = site.node.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") {
    for (size_t i = 0; i < axes.size(); i++) {
      out[size_t(axes[i])] = sizes[i];
      if (sizes[i] == site.dims(0)[size_t(axes[i])]) scales[size_t(axes[i])] = 1;
    }
    return;
  }
  if (policy != "not_larger" && policy != "not_smaller")
    site.refuse("keep_aspect_ratio_policy", "'" + policy + "' is not known");
  double scale = policy == "not_larger" ? 1e30 : 0;
  for (size_t i = 0; i < axes.size(); i++) {
    const auto in = site.dims(0)[size_t(axes[i])].value(), size = sizes[i].value();
    if (!in || !size || *in < 1)
      site.refuse("keep_aspect_ratio_policy", "'" + policy + "' needs fixed dimensions",
                  "bind them with --dim");
    const double one = double(*size) / double(*in);
    scale = policy == "not_larger" ? std::min(scale, one) : std::max(scale, one);
  }
  for (const int64_t axis : axes) {
    out[size_t(axis)] =
        Dim(int64_t(std::floor(scale * double(*site.dims(0)[size_t(axis)].value()) + 0.5)));
    scales[size_t(axis)] = double(float(scale));
  }
}

/// Beside sizes, which no file of ONNX has: the sizes say how many samples there are, the scales
/// where they lie.
std::vector<double> given_scales(Site& site) {
  const std::vector<double> scales = site.node.numbers("scales");
  if (scales.size() != site.dims(0).size())
    site.corrupt("has " + std::to_string(scales.size()) + " scales");
  for (const double scale : scales)
    if (!(scale >= 1e-9 && scale < 1e9))
      site.corrupt("scale " + std::to_string(scale) + " is out of range");
  return scales;
}

void resize(Site& site) {
  if (site.node.inputs.size() == 1 && site.settled()) return;  // in normal form
  check_modes(site);
  const Dims in = site.dims(0);
  Dims out = in;
  std::vector<double> scales(in.size(), 1.0);
  const bool by_sizes = site.has(3);
  // An empty tensor stands for an absent input.
  const bool by_scales =
      site.node.has("scales") || (site.has(2) && product(site.dims(2)) != Dim(0));
  if (by_sizes) {
    std::fill(scales.begin(), scales.end(), 0.0);
    for (size_t i = 0; i < in.size(); i++) scales[i] = 1.0;
    std::vector<double> from_sizes(in.size(), 0.0);
    apply_sizes(site, out, from_sizes);
    for (size_t i = 0; i < in.size(); i++)
      scales[i] = out[i] == in[i] && from_sizes[i] == 0 ? 1.0 : from_sizes[i];
    if (site.node.has("scales")) scales = given_scales(site);
  } else if (by_scales) {
    if (site.node.text("coordinate_transformation_mode", "") == "tf_crop_and_resize")
      site.refuse("scales", "with tf_crop_and_resize sizes are built", "export with sizes");
    apply_scales(site, out, scales);
  } else {
    site.corrupt("has neither scales nor sizes");
  }
  if (needs_resampling(site, out, scales)) return resample(site, out, scales);
  site.drop_inputs_from(1);
  site.erase({"axes", "keep_aspect_ratio_policy", "antialias", "extrapolation_value"});
  const bool unchanged =
      out == in && std::all_of(scales.begin(), scales.end(), [](double s) { return s == 1.0; });
  if (unchanged) return site.same(0, site.in(0));
  site.node.attributes["scales"] = scales;
  site.set(0, site.dtype(0), std::move(out));
}

}  // namespace

void add_resize_rules(InferTable& table) { table["Resize"] = resize; }

}  // namespace ingot::graph
