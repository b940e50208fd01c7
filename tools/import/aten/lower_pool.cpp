// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_pool.cpp - pools and resizing.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "tools/import/aten/operands.h"

namespace ingot::aten {
namespace {

/// Runs `make` on x with a batch dimension, which is taken away again where x has none.
template <class Make>
ValueId batched(Operands& o, const char* name, size_t spatial, Make make) {
  const ValueId x = o.read(name);
  const Dims dims = o.b.dims(x);
  if (dims.size() == spatial + 2) return make(x);
  if (dims.size() != spatial + 1) o.corrupt("its input has shape " + graph::text(dims));
  Dims wide = dims;
  wide.insert(wide.begin(), Dim(1));
  const ValueId made = make(o.b.reshape(x, wide));
  const Dims out = o.b.dims(made);
  return o.b.reshape(made, Dims(out.begin() + 1, out.end()));
}
size_t spatial_rank(const Operands& o) {
  for (const char c : o.op())
    if (c >= '1' && c <= '3') return size_t(c - '0');
  return 2;
}

Attributes pool_window(Operands& o, size_t rank) {
  const std::vector<int64_t> kernel = o.integers("kernel_size", rank);
  const std::vector<int64_t> given = o.integers("stride");
  std::vector<int64_t> pads = o.integers("padding", rank);
  pads.insert(pads.end(), pads.begin(), pads.begin() + int64_t(rank));
  return {{attr::kernel_shape, kernel},
          {attr::strides, given.empty() ? kernel : o.integers("stride", rank)},
          {attr::pads, pads},
          {attr::ceil_mode, int64_t(o.flag("ceil_mode"))}};
}
/// Positions of maxima, as ONNX counts them through all images, within each one.
ValueId within_image(Builder& b, ValueId positions, const Dims& in) {
  const Dim area = graph::product(Dims(in.begin() + 2, in.end()));
  return b.emit(op::Mod, {positions, b.extent(area)}, {{attr::fmod, int64_t(0)}});
}
/// Where a window has NaN, the last one is the maximum: the largest of the positions that are NaN,
/// by the same pool. Numbers of f32 hold them up to 2^24; larger images keep the positions of
/// numbers.
ValueId last_nan_or(Builder& b, ValueId x, ValueId positions,
                    const std::function<ValueId(ValueId)>& pool) {
  Dims image = b.dims(x);
  image[0] = image[1] = Dim(1);
  const Dim area = graph::product(image);
  if (area.is_static() && *area.value() > int64_t(1) << 24) return positions;
  const ValueId place = b.reshape(b.cast(b.counting(area), DType::kF32), image);
  const ValueId last =
      pool(b.emit(op::Where, {b.emit(op::IsNaN, {x}), place, b.scalar(DType::kF32, -1)}));
  const ValueId found = b.emit(op::GreaterOrEqual, {last, b.scalar(DType::kF32, 0)});
  return b.emit(op::Where, {found, b.cast(last, DType::kI64), positions});
}
/// Values and positions of a pool, the batch dimension taken away again where the input has none.
template <class Make>
Results with_positions(Operands& o, size_t spatial, Make make) {
  const ValueId x = o.read("self");
  if (o.b.dtype(x) != DType::kF32) {
    Results results =
        o.result(batched(o, "self", spatial, [&](ValueId in) { return make(in, false).first; }));
    results.push_back(Value::unavailable("the positions of a max pool are built for f32 only"));
    return results;
  }
  ValueId positions = graph::kAbsent;
  Results results = o.result(batched(o, "self", spatial, [&](ValueId in) {
    const auto [values, where] = make(in, true);
    positions = where;
    return values;
  }));
  if (o.b.rank(x) == int64_t(spatial) + 1) {
    const Dims out = o.b.dims(positions);
    positions = o.b.reshape(positions, Dims(out.begin() + 1, out.end()));
  }
  results.push_back(Value::of(o.b.own(positions)));
  return results;
}
Results max_pool(Operands& o) {
  const size_t rank = spatial_rank(o);
  Attributes attributes = pool_window(o, rank);
  attributes[attr::dilations] = o.integers("dilation", rank);
  if (o.op().find("_with_indices") == std::string::npos)
    return o.result(batched(o, "self", rank,
                            [&](ValueId x) { return o.b.emit(op::MaxPool, {x}, attributes); }));
  return with_positions(o, rank, [&](ValueId x, bool both) -> std::pair<ValueId, ValueId> {
    if (!both) return {o.b.emit(op::MaxPool, {x}, attributes), graph::kAbsent};
    const std::vector<ValueId> made = o.b.emit_many(op::MaxPool, {x}, attributes, 2);
    const auto again = [&](ValueId marks) { return o.b.emit(op::MaxPool, {marks}, attributes); };
    return {made[0], last_nan_or(o.b, x, within_image(o.b, made[1], o.b.dims(x)), again)};
  });
}
/// Values to where they were found, in an image of zeros.
Results max_unpool(Operands& o) {
  const size_t rank = spatial_rank(o);
  const ValueId indices = o.read("indices");
  const Dims given = o.dims("output_size");
  if (given.size() < rank)
    o.corrupt("output_size has " + std::to_string(given.size()) + " numbers");
  return o.result(batched(o, "self", rank, [&](ValueId x) {
    const Dims in = o.b.dims(x);
    Dims out = {in[0], in[1]}, flat = out, places = out;
    out.insert(out.end(), given.end() - int64_t(rank), given.end());
    flat.push_back(graph::product(Dims(out.begin() + 2, out.end())));
    places.push_back(graph::product(Dims(in.begin() + 2, in.end())));
    const ValueId zeros = o.b.expand(o.b.scalar(o.b.dtype(x), 0), flat);
    const ValueId made =
        o.b.emit(op::ScatterElements, {zeros, o.b.reshape(indices, places), o.b.reshape(x, places)},
                 {{attr::axis, int64_t(2)}, {attr::reduction, std::string("none")}});
    return o.b.reshape(made, out);
  }));
}
/// The sum of each window over one number. Where ceil_mode lets the last window reach further,
/// zeros are there.
ValueId average_by(Operands& o, ValueId x, Attributes attributes, size_t rank, double divisor) {
  const std::vector<int64_t> kernel = o.integers("kernel_size", rank),
                             pads = o.integers("padding", rank);
  const std::vector<int64_t> strides = std::get<std::vector<int64_t>>(attributes.at(attr::strides));
  double size = 1;
  for (const int64_t k : kernel) size *= double(k);
  if (o.flag("ceil_mode")) {
    const Dims in = o.b.dims(x), out = o.b.dims(o.b.emit(op::AveragePool, {x}, attributes));
    Dims around(in.size() * 2, Dim(0));
    for (size_t i = 0; i < rank; i++) {
      const Dim reach =
          (out[i + 2] - Dim(1)) * Dim(strides[i]) + Dim(kernel[i]) - in[i + 2] - Dim(pads[i]);
      around[i + 2] = Dim(pads[i]);
      around[in.size() + i + 2] = max(Dim(pads[i]), reach);
    }
    x = o.b.emit(op::Pad, {x},
                 {{attr::pads, around}, {attr::mode, std::string("constant")}, {attr::value, 0.0}});
    attributes[attr::pads] = std::vector<int64_t>(rank * 2, 0);
    attributes[attr::ceil_mode] = int64_t(0);
  }
  attributes[attr::count_include_pad] = int64_t(1);
  const ValueId mean = o.b.emit(op::AveragePool, {x}, attributes);
  return size == divisor ? mean
                         : o.b.emit(op::Mul, {mean, o.b.scalar(o.b.dtype(mean), size / divisor)});
}
Results average_pool(Operands& o) {
  const size_t rank = spatial_rank(o);
  Attributes attributes = pool_window(o, rank);
  attributes[attr::count_include_pad] = int64_t(o.flag("count_include_pad"));
  const bool fixed = o.has("divisor_override") && o.given("divisor_override");
  if (fixed && o.number("divisor_override") == 0) o.corrupt("divisor_override is 0");
  return o.result(batched(o, "self", rank, [&](ValueId x) {
    return fixed ? average_by(o, x, attributes, rank, o.number("divisor_override"))
                 : o.b.emit(op::AveragePool, {x}, attributes);
  }));
}

/// Averages of the uneven windows [floor(i * in / out), ceil((i + 1) * in / out)) along one axis,
/// as a product with a constant.
ValueId uneven_average(Builder& b, ValueId x, int64_t axis, int64_t in, int64_t out) {
  if (in > 4096 || out > 4096)
    throw Refused{"output_size",
                  "windows of different sizes over more than 4096 elements are not built", ""};
  std::vector<float> matrix(size_t(in * out), 0.0f);
  for (int64_t i = 0; i < out; i++) {
    const int64_t first = i * in / out, last = ((i + 1) * in + out - 1) / out;
    for (int64_t k = first; k < last; k++) matrix[size_t(k * out + i)] = 1.0f / float(last - first);
  }
  const ValueId weights =
      b.cast(b.constant(graph::make_constant(DType::kF32, {in, out}, matrix.data())), b.dtype(x));
  std::vector<int64_t> swap;
  for (int64_t i = 0; i < b.rank(x); i++) swap.push_back(i);
  std::swap(swap[size_t(axis)], swap.back());
  return b.transpose(b.emit(op::MatMul, {b.transpose(x, swap), weights}), swap);
}
/// Maxima of uneven windows and where they lie: each window's elements beside each other, shorter
/// ones filled up.
std::pair<ValueId, ValueId> uneven_maximum(Operands& o, ValueId x, const Dims& out) {
  const Dims in = o.b.dims(x);
  const size_t rank = out.size();
  std::vector<std::vector<int64_t>> windows = {{}};  // positions in the image
  int64_t area = 1;
  for (size_t i = 0; i < rank; i++) {
    const auto from = in[i + 2].value(), to = out[i].value();
    if (!from || !to || *to < 1)
      o.refuse("output_size", "needs fixed dimensions, the input is " + graph::text(in),
               "bind them with --dim");
    if (*from > 65536 || *to > 65536 || area > (int64_t(1) << 24) / std::max<int64_t>(1, *from))
      o.refuse("output_size",
               "windows of different sizes over more than 16 million elements are not built");
    area *= *from;
    if (i == 0) windows[0] = {0};
    std::vector<std::vector<int64_t>> wider;
    for (const std::vector<int64_t>& window : windows)
      for (int64_t k = 0; k < *to; k++) {
        std::vector<int64_t> elements;
        for (const int64_t before : window)
          for (int64_t at = k * *from / *to; at < ((k + 1) * *from + *to - 1) / *to; at++)
            elements.push_back(before * *from + at);
        wider.push_back(std::move(elements));
      }
    windows = std::move(wider);
  }
  size_t widest = 0;
  for (const std::vector<int64_t>& window : windows) widest = std::max(widest, window.size());
  if (windows.size() * widest > (size_t{1} << 24))
    o.refuse("output_size",
             "windows of different sizes over more than 16 million elements are not built");
  std::vector<int64_t> table;
  for (std::vector<int64_t>& window : windows) {
    if (window.empty()) o.corrupt("takes the greatest of no element of " + graph::text(in));
    window.resize(widest, window.back());  // again: the first of the greatest is found
    table.insert(table.end(), window.begin(), window.end());
  }
  const int64_t count = int64_t(windows.size());
  const ValueId where = o.b.reshape(o.b.integers(table), {Dim(count), Dim(int64_t(widest))});
  const ValueId apart = o.b.emit(op::Gather, {o.b.reshape(x, {in[0], in[1], Dim(area)}), where},
                                 {{attr::axis, int64_t(2)}});
  Dims full = {in[0], in[1]};
  full.insert(full.end(), out.begin(), out.end());
  const ValueId values = o.b.reshape(o.b.reduce(op::ReduceMax, apart, {3}, false), full);
  if (o.b.dtype(x) != DType::kF32) return {values, graph::kAbsent};
  const ValueId first = o.b.emit(op::ArgMax, {apart},
                                 {{attr::axis, int64_t(3)},
                                  {attr::keepdims, int64_t(1)},
                                  {attr::select_last_index, int64_t(0)}});
  const ValueId all = o.b.expand(where, {in[0], in[1], Dim(count), Dim(int64_t(widest))});
  return {
      values,
      o.b.reshape(o.b.emit(op::GatherElements, {all, first}, {{attr::axis, int64_t(3)}}), full)};
}

struct AdaptiveWindows {
  std::vector<int64_t> axes, kernel;
  Dims out;
  bool ones = true, divides = true;
};
AdaptiveWindows adaptive_windows(Operands& o, const Dims& dims, size_t rank) {
  std::vector<Value> sizes;
  if (o.value("output_size").items) sizes = *o.value("output_size").items;
  if (sizes.empty()) sizes = {o.value("output_size")};
  if (sizes.size() == 1) sizes.resize(rank, sizes[0]);
  if (sizes.size() != rank)
    o.corrupt("output_size has " + std::to_string(sizes.size()) + " numbers");
  AdaptiveWindows w;
  for (size_t i = 0; i < rank; i++) {
    const Dim in = dims[i + 2];
    w.out.push_back(sizes[i].is(Value::Kind::kNone) ? in : sizes[i].integer);
    w.axes.push_back(int64_t(i) + 2);
    w.ones = w.ones && w.out[i] == Dim(1);
    const Dim each = w.out[i] == Dim(0) ? Dim(0) : in / w.out[i];
    w.divides = w.divides && each.is_static() && each != Dim(0) && each * w.out[i] == in;
    w.kernel.push_back(each.value().value_or(0));
  }
  return w;
}
Results adaptive_average(Operands& o) {
  const size_t rank = spatial_rank(o);
  return o.result(batched(o, "self", rank, [&](ValueId x) {
    const Dims dims = o.b.dims(x);
    const AdaptiveWindows w = adaptive_windows(o, dims, rank);
    if (w.ones) return o.b.reduce(op::ReduceMean, x, w.axes, true);
    if (w.divides)
      return o.b.emit(op::AveragePool, {x},
                      {{attr::kernel_shape, w.kernel}, {attr::strides, w.kernel}});
    ValueId y = x;
    for (size_t i = 0; i < rank; i++) {
      const auto in = dims[i + 2].value(), to = w.out[i].value();
      if (!in || !to || *to < 1)
        o.refuse("output_size", "needs fixed dimensions, the input is " + graph::text(dims),
                 "bind them with --dim");
      if (*in != *to) y = uneven_average(o.b, y, int64_t(i) + 2, *in, *to);
    }
    return y;
  }));
}
Results adaptive_maximum(Operands& o) {
  const size_t rank = spatial_rank(o);
  const auto pool = [&](ValueId x, bool both) -> std::pair<ValueId, ValueId> {
    const Dims in = o.b.dims(x);
    const AdaptiveWindows w = adaptive_windows(o, in, rank);
    if (w.ones) {
      const ValueId values = o.b.reduce(op::ReduceMax, x, w.axes, true);
      if (!both) return {values, graph::kAbsent};
      const Dim area = graph::product(Dims(in.begin() + 2, in.end()));
      const ValueId first = o.b.emit(op::ArgMax, {o.b.reshape(x, {in[0], in[1], area})},
                                     {{attr::axis, int64_t(2)},
                                      {attr::keepdims, int64_t(0)},
                                      {attr::select_last_index, int64_t(0)}});
      return {values, o.b.reshape(first, o.b.dims(values))};
    }
    if (!w.divides) return uneven_maximum(o, x, w.out);
    const Attributes window = {{attr::kernel_shape, w.kernel}, {attr::strides, w.kernel}};
    if (!both) return {o.b.emit(op::MaxPool, {x}, window), graph::kAbsent};
    const std::vector<ValueId> made = o.b.emit_many(op::MaxPool, {x}, window, 2);
    return {made[0], within_image(o.b, made[1], in)};
  };
  return with_positions(o, rank, [&](ValueId x, bool both) {
    const std::pair<ValueId, ValueId> made = pool(x, both);
    if (!both) return made;
    const auto again = [&](ValueId marks) { return pool(marks, false).first; };
    return std::pair(made.first, last_nan_or(o.b, x, made.second, again));
  });
}

/// Scales that were given decide where samples lie, the sizes how many there are.
ValueId resized(Operands& o, ValueId x, const Dims& size, const std::vector<double>& scales,
                Attributes attributes) {
  const Dims in = o.b.dims(x);
  const bool scaled = scales.size() + 2 == in.size();
  bool by_scale = scaled;  // alone: the sizes follow from them, whichever type computes them
  std::vector<double> all = {1, 1};
  for (size_t i = 0; scaled && i < scales.size(); i++) {
    const auto extent = in[i + 2].value(), wanted = size[i].value();
    const bool whole = scales[i] == std::floor(scales[i]) && std::fabs(scales[i]) < 0x1p62;
    const bool agrees =
        extent && wanted
            ? std::floor(double(*extent) * scales[i]) == double(*wanted) &&
                  double(std::floor(float(*extent) * float(scales[i]))) == double(*wanted)
            : whole && size[i] == in[i + 2] * Dim(int64_t(scales[i]));
    by_scale = by_scale && agrees;
    all.push_back(scales[i]);
  }
  if (scaled) attributes[attr::scales] = all;
  if (by_scale) return o.b.emit(op::Resize, {x}, attributes);
  std::vector<ValueId> extents;
  for (const Dim& d : {in[0], in[1]}) extents.push_back(o.b.reshape(o.b.extent(d), {Dim(1)}));
  for (const Dim& d : size) extents.push_back(o.b.reshape(o.b.extent(d), {Dim(1)}));
  return o.b.emit(op::Resize,
                  {x, graph::kAbsent, graph::kAbsent,
                   o.b.emit(op::Concat, extents, {{attr::axis, int64_t(0)}})},
                  attributes);
}
/// One for each dimension that is resized, or none: a scale that is not given beside others is the
/// quotient of extents.
std::vector<double> stated_scales(Operands& o, const Dims& in) {
  std::vector<std::optional<double>> given;
  if (o.has("scale_factors")) {
    if (!o.given("scale_factors")) return {};
    const Value& all = o.value("scale_factors");
    for (const Value& item : all.items ? *all.items : std::vector<Value>(in.size() - 2, all))
      given.push_back(item.is(Value::Kind::kFloat) ? item.number
                                                   : double(item.integer.value().value_or(1)));
  } else {
    for (const char* name : {"scales_d", "scales_h", "scales_w", "scales"})
      if (o.has(name))
        given.push_back(o.given(name) ? std::optional<double>(o.number(name)) : std::nullopt);
  }
  if (std::none_of(given.begin(), given.end(), [](const auto& scale) { return scale.has_value(); }))
    return {};
  const Dims to = o.dims("output_size");
  std::vector<double> out;
  for (size_t i = 0; i < given.size(); i++) {
    // 0: not known
    const int64_t extent = i + 2 < in.size() ? in[i + 2].value().value_or(0) : 0;
    const int64_t wanted = i < to.size() ? to[i].value().value_or(0) : 0;
    if (!given[i] && (extent < 1 || wanted < 1))
      o.refuse("scales", "are given for some dimensions alone", "bind the dimensions with --dim");
    out.push_back(given[i] ? *given[i] : double(wanted) / double(extent));
  }
  return out;
}
/// PyTorch's antialiasing is Pillow's: what lies outside counts for nothing, the cubic's
/// coefficient is -0.5, and with align_corners only the distance between samples changes: they
/// still begin in the middle of the first one.
void add_antialias(Operands& o, const Dims& in, const Dims& size, Attributes* attributes,
                   std::vector<double>* scales) {
  (*attributes)[attr::antialias] = int64_t(1);
  (*attributes)[attr::exclude_outside] = int64_t(1);
  (*attributes)[attr::coordinate_transformation_mode] = std::string("half_pixel");
  if (attributes->count(attr::cubic_coeff_a)) (*attributes)[attr::cubic_coeff_a] = -0.5;
  if (!o.flag("align_corners")) return;
  constexpr double kOneSample = 1e8;  // all of them lie at the input's first edge
  scales->clear();
  for (size_t i = 0; i < size.size(); i++) {
    const auto extent = in[i + 2].value(), wanted = size[i].value();
    if (!extent || !wanted)
      o.refuse("align_corners",
               "with antialias needs fixed dimensions, the input is " + graph::text(in),
               "bind them with --dim");
    scales->push_back(*extent > 1 && *wanted > 1 ? double(*wanted - 1) / double(*extent - 1)
                                                 : kOneSample);
  }
}
Results upsample(Operands& o) {
  const std::string& op = o.op();
  const char* const input = o.has("input") ? "input" : "self";
  const size_t rank = spatial_rank(o);
  const ValueId x = o.read(input);
  const Dims in = o.b.dims(x);
  if (in.size() != rank + 2) o.corrupt("its input has shape " + graph::text(in));
  std::vector<double> scales = stated_scales(o, in);
  for (const double scale : scales)
    if (!(scale > 0 && scale < 65536))
      o.corrupt("scale " + std::to_string(scale) + " is out of range");
  for (const Dim& d : in)
    if (d.is_static() && *d.value() >= int64_t(1) << 40)
      o.corrupt("its input has shape " + graph::text(in));
  Dims size = o.given("output_size") ? o.dims("output_size") : Dims();
  if (size.empty()) {
    if (scales.size() != rank) o.corrupt("has neither sizes nor scales");
    for (size_t i = 0; i < rank; i++) {
      const auto extent = in[i + 2].value();
      const bool whole = scales[i] == std::floor(scales[i]);
      if (!extent && !whole)
        o.refuse("scale_factors", "a fraction of a symbolic dimension", "bind it with --dim");
      size.push_back(extent ? Dim(int64_t(std::floor(double(*extent) * scales[i])))
                            : in[i + 2] * Dim(int64_t(scales[i])));
    }
  }
  if (size.size() != rank) o.corrupt("output_size has " + std::to_string(size.size()) + " numbers");
  Attributes attributes;
  if (op.find("nearest_exact") != std::string::npos) {
    attributes = {{attr::mode, std::string("nearest")},
                  {attr::coordinate_transformation_mode, std::string("tf_half_pixel_multiplied")},
                  {attr::nearest_mode, std::string("floor")}};
  } else if (op.find("nearest") != std::string::npos) {
    attributes = {{attr::mode, std::string("nearest")},
                  {attr::coordinate_transformation_mode, std::string("asymmetric_multiplied")},
                  {attr::nearest_mode, std::string("floor")}};
    // PyTorch looks at no stated scale where an extent stays or doubles.
    for (size_t i = 0; i < scales.size() && i < size.size(); i++)
      for (const int64_t whole : {1, 2})
        if (size[i] == in[i + 2] * Dim(whole)) scales[i] = double(whole);
  } else {
    const bool cubic = op.find("bicubic") != std::string::npos;
    attributes = {{attr::mode, std::string(cubic ? "cubic" : "linear")},
                  {attr::coordinate_transformation_mode,
                   std::string(o.flag("align_corners") ? "align_corners" : "half_pixel")}};
    if (cubic) attributes[attr::cubic_coeff_a] = -0.75;
    if (op.find("_aa") != std::string::npos) add_antialias(o, in, size, &attributes, &scales);
  }
  return o.result(resized(o, x, size, scales, attributes));
}

}  // namespace

void add_pools(Table& table) {
  const std::string window = "Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, ";
  for (const char* name : {"max_pool1d", "max_pool2d", "max_pool3d", "max_pool1d_with_indices",
                           "max_pool2d_with_indices", "max_pool3d_with_indices"})
    table.add(name, window + "int[] dilation=1, bool ceil_mode=False", max_pool);
  table.add("avg_pool1d", window + "bool ceil_mode=False, bool count_include_pad=True",
            average_pool);
  table.add_all(
      "avg_pool2d avg_pool3d",
      window + "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None",
      average_pool);
  for (const char* name : {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
                           "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"})
    table.add(name, "Tensor self, Any output_size", adaptive_average);
  table.add_all("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d",
                "Tensor self, Any output_size", adaptive_maximum);
  table.add("max_unpool2d", "Tensor self, Tensor indices, int[] output_size", max_unpool);
  table.add("max_unpool3d",
            "Tensor self, Tensor indices, int[] output_size, int[] stride, int[] padding",
            max_unpool);
  const std::string corners = "bool align_corners, ";
  for (const char* name : {"upsample_nearest", "_upsample_nearest_exact", "upsample_linear",
                           "upsample_bilinear", "upsample_bicubic", "upsample_trilinear",
                           "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"}) {
    const std::string text = name;
    const bool nearest = text.find("nearest") != std::string::npos,
               whole = text.find("_aa") != std::string::npos;
    const auto add = [&](int64_t rank) {
      const std::string full = whole ? text : text + std::to_string(rank) + "d";
      const std::string flag = nearest ? "" : corners;
      table.add(full + ".vec",
                "Tensor input, int[]? output_size, " + flag + "float[]? scale_factors", upsample);
      const std::string scales =
          rank == 1   ? "float? scales=None"
          : rank == 2 ? "float? scales_h=None, float? scales_w=None"
                      : "float? scales_d=None, float? scales_h=None, float? scales_w=None";
      table.add(full, "Tensor self, int[] output_size, " + flag + scales, upsample);
    };
    if (nearest || text == "upsample_linear") add(1);
    if (nearest || text.find("bi") != std::string::npos) add(2);
    if (nearest || text == "upsample_trilinear") add(3);
  }
}

}  // namespace ingot::aten
