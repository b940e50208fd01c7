// tools/graph/infer/infer_sampling.cpp - images read at computed places: GridSample and AffineGrid,
// and CenterCropPad.
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;

void grid_sample(Site& site) {
  const Dims in = site.dims(0), grid = site.dims(1);
  const size_t spatial = in.size() < 2 ? 0 : in.size() - 2;
  if (spatial < 1 || grid.size() != in.size() || grid.back() != Dim(int64_t(spatial)))
    site.corrupt("its input has shape " + text(in) + ", its grid " + text(grid) +
                 ", expected [N, ..., " + std::to_string(spatial) + "]");
  if (in[0].is_static() && grid[0].is_static() && in[0] != grid[0])
    site.corrupt("its input has shape " + text(in) + ", its grid " + text(grid) +
                 " of another batch");
  if (spatial > 3) site.refuse("", "more than three spatial dimensions are not supported");
  const std::string mode = site.node.text("mode", "linear");
  if (site.dtype(1) != DType::kF32 || (mode != "nearest" && site.dtype(0) != DType::kF32))
    site.refuse("", "its grid, and but for nearest its input, must be f32",
                "convert the model to float32");
  Dims out = grid;
  out.pop_back();
  out.insert(out.begin() + 1, in[1]);
  site.set(0, site.dtype(0), std::move(out));
}

void affine_grid(Site& site) {
  const auto size = site.integers("size", 1);
  const int64_t spatial = size ? int64_t(size->size()) - 2 : 0;
  if (spatial != 2 && spatial != 3) site.corrupt("its size must be four or five numbers");
  if (site.dims(0) != Dims{(*size)[0], spatial, spatial + 1})
    site.corrupt("its theta has shape " + text(site.dims(0)) + ", its size is of " +
                 std::to_string(spatial) + " dimensions");
  const bool aligned = site.node.integer("align_corners", 0) != 0;
  int64_t area = 1;
  for (int64_t k = 0; k < spatial; k++) {
    const int64_t extent = (*size)[size_t(k) + 2];
    if (extent < 0) site.corrupt("its size has a negative number");
    if (extent > 0 && area > (int64_t(1) << 24) / extent) site.refuse("size", "is too large");
    area *= extent;
  }
  std::vector<double> points;  // [area, spatial + 1]: x, y, (z,) 1
  for (int64_t i = 0; i < area; i++) {
    int64_t rest = i;
    for (int64_t k = spatial - 1; k >= 0; k--) {
      const int64_t extent = (*size)[size_t(k) + 2], at = rest % extent;
      rest /= extent;
      points.push_back(!aligned     ? (2.0 * double(at) + 1) / double(extent) - 1
                       : extent > 1 ? 2.0 * double(at) / double(extent - 1) - 1
                                    : -1);
    }
    points.push_back(1);
  }
  const ValueId base = site.constant(make_floating(site.dtype(0), {area, spatial + 1}, points));
  const ValueId theta = site.make("Transpose", {site.in(0)}, {{"perm", Integers{0, 2, 1}}});
  Dims out = {(*size)[0]};
  for (int64_t k = 0; k < spatial; k++) out.push_back((*size)[size_t(k) + 2]);
  out.push_back(spatial);
  site.finish_shaped("Reshape", site.make("MatMul", {base, theta}), out);
}

/// Cuts and pads around the middle; of an odd difference the end has one more.
void center_crop_pad(Site& site) {
  const Dims in = site.dims(0), wanted = site.need_dims("shape", 1);
  Integers axes = site.node.integers("axes");
  if (axes.empty())
    for (int64_t i = 0; i < site.rank(0); i++) axes.push_back(i);
  site.axes(axes, site.rank(0));
  if (axes.size() != wanted.size())
    site.corrupt("its shape has " + std::to_string(wanted.size()) + " entries");
  Dims starts, ends, pads(in.size() * 2, Dim(0));
  for (size_t i = 0; i < axes.size(); i++) {
    axes[i] = site.axis(axes[i], site.rank(0));
    const size_t axis = size_t(axes[i]);
    const Dim start = max(Dim(0), in[axis] - wanted[i]) / Dim(2), kept = min(in[axis], wanted[i]);
    starts.push_back(start);
    ends.push_back(start + kept);
    pads[axis] = (wanted[i] - kept) / Dim(2);
    pads[axis + in.size()] = wanted[i] - kept - pads[axis];
  }
  const ValueId part =
      site.make("Slice", {site.in(0)}, {{"starts", starts}, {"ends", ends}, {"axes", axes}});
  site.finish("Pad", {part}, {{"pads", pads}, {"mode", std::string("constant")}, {"value", 0.0}});
}

}  // namespace

void add_sampling_rules(InferTable& table) {
  table["GridSample"] = grid_sample;
  table["AffineGrid"] = affine_grid;
  table["CenterCropPad"] = center_crop_pad;
}

}  // namespace ingot::graph
