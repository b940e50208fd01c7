// tools/graph/infer/infer_sampling.cpp - pictures read at computed places: GridSample and
// AffineGrid, and CenterCropPad. GridSample becomes gathers of whole pixels (channels last), one
// for each neighbour, weighted and summed.
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;

/// One spatial axis of a GridSample: where it is read, in pixels, and how places beyond the border
/// are taken.
struct Axis {
  ValueId size, real_size;  // rank 0, i64 and f32
  ValueId base;             // i64 [N, out...]: the first neighbour
  ValueId fraction;         // f32 [N, out...]: how far behind it, unused by nearest
};

struct Sampler {
  Site& site;
  bool aligned;  // align_corners
  std::string mode, padding;

  ValueId f32(double n) { return site.scalar(DType::kF32, n); }
  ValueId i64(double n) { return site.scalar(DType::kI64, n); }
  ValueId make(const char* op, ValueId a, ValueId b) { return site.make(op, {a, b}); }

  Axis axis(const Dim& extent, ValueId grid, int64_t component) {
    Axis a;
    a.size = site.extent(extent);
    a.real_size = site.cast(a.size, DType::kF32);
    ValueId at = site.make("Gather", {grid, i64(double(component))}, {{"axis", int64_t(-1)}});
    at = make("Add", at, f32(1));
    at = aligned ? make("Mul", at, make("Sub", a.real_size, f32(1)))
                 : make("Sub", make("Mul", at, a.real_size), f32(1));
    at = make("Mul", at, f32(0.5));
    // Far outside is far enough; NaN becomes a place too, so that no index is ever wrong.
    at = make("Min", make("Max", at, f32(-1048576)), f32(1048576));
    const ValueId whole = site.make(mode == "nearest" ? "Round" : "Floor", {at});
    a.base = site.cast(whole, DType::kI64);
    a.fraction = mode == "nearest" ? kAbsent : make("Sub", at, whole);
    return a;
  }

  /// Weight of neighbour `offset`; cubic with a = -0.75.
  ValueId weight(const Axis& a, int64_t offset) {
    if (mode == "linear") return offset == 0 ? make("Sub", f32(1), a.fraction) : a.fraction;
    const double c = -0.75;
    const ValueId t = offset == 0 || offset == -1 ? a.fraction : make("Sub", f32(1), a.fraction);
    const auto polynomial = [&](double k3, double k2, double k1, double k0, ValueId x) {
      ValueId y = make("Add", make("Mul", x, f32(k3)), f32(k2));
      y = make("Add", make("Mul", y, x), f32(k1));
      return make("Add", make("Mul", y, x), f32(k0));
    };
    if (offset == 0 || offset == 1) return polynomial(c + 2, -(c + 3), 0, 1, t);
    return polynomial(c, -5 * c, 8 * c, -4 * c, make("Add", t, f32(1)));
  }

  /// The neighbour's position, inside; and for zeros whether it was (bool), else absent.
  ValueId position(const Axis& a, int64_t offset, ValueId* inside) {
    const ValueId at = offset == 0 ? a.base : make("Add", a.base, i64(double(offset)));
    *inside = kAbsent;
    if (padding == "reflection") {
      const ValueId span = aligned ? make("Sub", a.size, i64(1)) : a.size;
      const ValueId period = make("Max", make("Mul", span, i64(2)), i64(1));
      const ValueId within = site.make("Mod", {at, period}, {{"fmod", int64_t(0)}});
      const ValueId mirrored = make("Sub", aligned ? period : make("Sub", period, i64(1)), within);
      return site.make("Where", {make("Less", within, a.size), within, mirrored});
    }
    const ValueId limited = make("Min", make("Max", at, i64(0)), make("Sub", a.size, i64(1)));
    if (padding == "zeros") *inside = make("Equal", at, limited);
    return limited;
  }
};

void grid_sample(Site& site) {
  const Dims in = site.dims(0), grid = site.dims(1);
  const size_t spatial = in.size() < 2 ? 0 : in.size() - 2;
  if (spatial < 1 || grid.size() != in.size() || grid.back() != Dim(int64_t(spatial)))
    site.corrupt("its input has shape " + text(in) + ", its grid " + text(grid) +
                 ", expected [N, ..., " + std::to_string(spatial) + "]");
  if (spatial > 3) site.refuse("", "more than three spatial dimensions are not built");
  if (site.dtype(0) != DType::kF32 || site.dtype(1) != DType::kF32)
    site.refuse("", "only f32 is built", "convert the model to float32");
  Sampler s{site, site.node.integer("align_corners", 0) != 0, site.node.text("mode", "linear"),
            site.node.text("padding_mode", "zeros")};
  const Integers offsets = s.mode == "nearest"  ? Integers{0}
                           : s.mode == "linear" ? Integers{0, 1}
                                                : Integers{-1, 0, 1, 2};
  std::vector<Axis> axes;
  for (size_t k = 0; k < spatial; k++)
    axes.push_back(s.axis(in[k + 2], site.in(1), int64_t(spatial - 1 - k)));
  // Pixels in rows: [N * area, C].
  Integers last = {0};
  for (size_t k = 0; k < spatial; k++) last.push_back(int64_t(k) + 2);
  last.push_back(1);
  Dim area(1);
  for (size_t k = 0; k < spatial; k++) area = area * in[k + 2];
  const ValueId pixels =
      site.reshape(site.make("Transpose", {site.in(0)}, {{"perm", last}}), {in[0] * area, in[1]});
  Dims places(grid.begin(), grid.end() - 1), pictures(places.size(), Dim(1)), column = places;
  pictures[0] = in[0];
  column.push_back(1);
  const ValueId first = site.reshape(site.counting(in[0]), pictures);
  ValueId sum = kAbsent;
  size_t combinations = 1;
  for (size_t k = 0; k < spatial; k++) combinations *= offsets.size();
  for (size_t n = 0; n < combinations; n++) {
    ValueId row = first, weight = kAbsent, inside = kAbsent;
    size_t rest = n;
    for (size_t k = 0; k < spatial; k++, rest /= offsets.size()) {
      const int64_t offset = offsets[rest % offsets.size()];
      ValueId is_inside;
      const ValueId at = s.position(axes[k], offset, &is_inside);
      row = s.make("Add", s.make("Mul", row, axes[k].size), at);
      if (is_inside != kAbsent)
        inside = inside == kAbsent ? is_inside : s.make("And", inside, is_inside);
      if (s.mode == "nearest") continue;
      const ValueId part = s.weight(axes[k], offset);
      weight = weight == kAbsent ? part : s.make("Mul", weight, part);
    }
    ValueId value = site.make("Gather", {pixels, row}, {{"axis", int64_t(0)}});
    if (inside != kAbsent)
      value = site.make("Where", {site.reshape(inside, column), value, s.f32(0)});
    if (weight != kAbsent) value = s.make("Mul", value, site.reshape(weight, column));
    sum = sum == kAbsent ? value : s.make("Add", sum, value);
  }
  Integers back = {0, int64_t(in.size()) - 1};
  for (size_t k = 0; k < spatial; k++) back.push_back(int64_t(k) + 1);
  site.finish("Transpose", {sum}, {{"perm", back}});
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
