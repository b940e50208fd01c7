// tools/aten/lower_pool.cpp - pools and resizing.
#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/aten/operands.h"

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
  return {{"kernel_shape", kernel},
          {"strides", given.empty() ? kernel : o.integers("stride", rank)},
          {"pads", pads},
          {"ceil_mode", int64_t(o.flag("ceil_mode"))}};
}
Results max_pool(Operands& o) {
  const size_t rank = spatial_rank(o);
  Attributes attributes = pool_window(o, rank);
  attributes["dilations"] = o.integers("dilation", rank);
  Results results = o.result(batched(o, "self", rank, [&](ValueId x) { return o.b.emit("MaxPool", {x}, attributes); }));
  if (o.op().find("_with_indices") != std::string::npos)
    results.push_back(Value::unavailable("the positions of a max pool are not built"));
  return results;
}
Results average_pool(Operands& o) {
  const size_t rank = spatial_rank(o);
  Attributes attributes = pool_window(o, rank);
  const bool fixed = o.has("divisor_override") && o.given("divisor_override");
  const bool padded = o.flag("count_include_pad");
  attributes["count_include_pad"] = int64_t(fixed || padded);
  double factor = 1;
  if (fixed) {
    if (o.flag("ceil_mode")) o.refuse("divisor_override", "with ceil_mode is not supported");
    for (const int64_t k : o.integers("kernel_size", rank)) factor *= double(k);
    factor /= o.number("divisor_override");
  }
  return o.result(batched(o, "self", rank, [&](ValueId x) {
    const ValueId made = o.b.emit("AveragePool", {x}, attributes);
    return factor == 1 ? made : o.b.emit("Mul", {made, o.b.scalar(o.b.dtype(x), factor)});
  }));
}

/// Averages of the uneven windows [floor(i * in / out), ceil((i + 1) * in / out)) along one axis, as a product with a constant.
ValueId uneven_average(Builder& b, ValueId x, int64_t axis, int64_t in, int64_t out) {
  if (in > 4096 || out > 4096)
    throw Refused{"output_size", "windows of different sizes over more than 4096 elements are not built", ""};
  std::vector<float> matrix(size_t(in * out), 0.0f);
  for (int64_t i = 0; i < out; i++) {
    const int64_t first = i * in / out, last = ((i + 1) * in + out - 1) / out;
    for (int64_t k = first; k < last; k++) matrix[size_t(k * out + i)] = 1.0f / float(last - first);
  }
  const ValueId weights = b.cast(b.constant(graph::make_constant(DType::kF32, {in, out}, matrix.data())), b.dtype(x));
  std::vector<int64_t> swap;
  for (int64_t i = 0; i < b.rank(x); i++) swap.push_back(i);
  std::swap(swap[size_t(axis)], swap.back());
  return b.transpose(b.emit("MatMul", {b.transpose(x, swap), weights}), swap);
}
Results adaptive_pool(Operands& o) {
  const size_t rank = spatial_rank(o);
  const bool largest = o.op().find("max") != std::string::npos;
  std::vector<Value> sizes;
  if (o.value("output_size").items) sizes = *o.value("output_size").items;
  if (sizes.empty()) sizes = {o.value("output_size")};
  if (sizes.size() == 1) sizes.resize(rank, sizes[0]);
  if (sizes.size() != rank) o.corrupt("output_size has " + std::to_string(sizes.size()) + " numbers");
  const ValueId made = batched(o, "self", rank, [&](ValueId x) {
    const Dims dims = o.b.dims(x);
    std::vector<int64_t> all, kernel;
    Dims out;
    bool ones = true, divides = true;
    for (size_t i = 0; i < rank; i++) {
      const Dim in = dims[i + 2];
      out.push_back(sizes[i].is(Value::Kind::kNone) ? in : sizes[i].integer);
      all.push_back(int64_t(i) + 2);
      ones = ones && out[i] == Dim(1);
      const Dim each = out[i] == Dim(0) ? Dim(0) : in / out[i];
      divides = divides && each.is_static() && each != Dim(0) && each * out[i] == in;
      kernel.push_back(each.value().value_or(0));
    }
    if (ones) return o.b.reduce(largest ? "ReduceMax" : "ReduceMean", x, all, true);
    if (divides)
      return o.b.emit(largest ? "MaxPool" : "AveragePool", {x}, {{"kernel_shape", kernel}, {"strides", kernel}});
    if (largest) o.refuse("output_size", "windows of different sizes are not built for maxima");
    ValueId y = x;
    for (size_t i = 0; i < rank; i++) {
      const auto in = dims[i + 2].value(), to = out[i].value();
      if (!in || !to || *to < 1)
        o.refuse("output_size", "needs fixed dimensions, the input is " + graph::text(dims), "bind them with --dim");
      if (*in != *to) y = uneven_average(o.b, y, int64_t(i) + 2, *in, *to);
    }
    return y;
  });
  Results results = o.result(made);
  if (largest) results.push_back(Value::unavailable("the positions of a max pool are not built"));
  return results;
}

/// Scales that were given decide where samples lie, the sizes how many there are.
ValueId resized(Operands& o, ValueId x, const Dims& size, const std::vector<double>& scales, Attributes attributes) {
  const Dims in = o.b.dims(x);
  const bool scaled = scales.size() + 2 == in.size();
  bool by_scale = scaled;  // alone: the sizes follow from them, whichever type computes them
  std::vector<double> all = {1, 1};
  for (size_t i = 0; scaled && i < scales.size(); i++) {
    const auto extent = in[i + 2].value(), wanted = size[i].value();
    const bool whole = scales[i] == std::floor(scales[i]);
    const bool agrees = extent && wanted ? int64_t(std::floor(double(*extent) * scales[i])) == *wanted &&
                                               int64_t(std::floor(float(*extent) * float(scales[i]))) == *wanted
                                         : whole && size[i] == in[i + 2] * Dim(int64_t(scales[i]));
    by_scale = by_scale && agrees;
    all.push_back(scales[i]);
  }
  if (scaled) attributes["scales"] = all;
  if (by_scale) return o.b.emit("Resize", {x}, attributes);
  std::vector<ValueId> extents;
  for (const Dim& d : {in[0], in[1]}) extents.push_back(o.b.reshape(o.b.extent(d), {Dim(1)}));
  for (const Dim& d : size) extents.push_back(o.b.reshape(o.b.extent(d), {Dim(1)}));
  return o.b.emit("Resize", {x, graph::kAbsent, graph::kAbsent, o.b.emit("Concat", extents, {{"axis", int64_t(0)}})},
                  attributes);
}
/// One for each dimension that is resized, or none: a scale that is not given beside others is the quotient of extents.
std::vector<double> stated_scales(Operands& o, const Dims& in) {
  std::vector<std::optional<double>> given;
  if (o.has("scale_factors")) {
    if (!o.given("scale_factors")) return {};
    const Value& all = o.value("scale_factors");
    for (const Value& item : all.items ? *all.items : std::vector<Value>(in.size() - 2, all))
      given.push_back(item.is(Value::Kind::kFloat) ? item.number : double(item.integer.value().value_or(1)));
  } else {
    for (const char* name : {"scales_d", "scales_h", "scales_w", "scales"})
      if (o.has(name)) given.push_back(o.given(name) ? std::optional<double>(o.number(name)) : std::nullopt);
  }
  if (std::none_of(given.begin(), given.end(), [](const auto& scale) { return scale.has_value(); })) return {};
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
/// PyTorch's antialiasing is Pillow's: what lies outside counts for nothing, the cubic's coefficient is -0.5, and with
/// align_corners only the distance between samples changes: they still begin in the middle of the first one.
void add_antialias(Operands& o, const Dims& in, const Dims& size, Attributes* attributes, std::vector<double>* scales) {
  (*attributes)["antialias"] = int64_t(1);
  (*attributes)["exclude_outside"] = int64_t(1);
  (*attributes)["coordinate_transformation_mode"] = std::string("half_pixel");
  if (attributes->count("cubic_coeff_a")) (*attributes)["cubic_coeff_a"] = -0.5;
  if (!o.flag("align_corners")) return;
  constexpr double kOneSample = 1e8;  // all of them lie at the input's first edge
  scales->clear();
  for (size_t i = 0; i < size.size(); i++) {
    const auto extent = in[i + 2].value(), wanted = size[i].value();
    if (!extent || !wanted)
      o.refuse("align_corners", "with antialias needs fixed dimensions, the input is " + graph::text(in),
               "bind them with --dim");
    scales->push_back(*extent > 1 && *wanted > 1 ? double(*wanted - 1) / double(*extent - 1) : kOneSample);
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
    if (!(scale > 0 && scale < 65536)) o.corrupt("scale " + std::to_string(scale) + " is out of range");
  for (const Dim& d : in)
    if (d.is_static() && *d.value() >= int64_t(1) << 40) o.corrupt("its input has shape " + graph::text(in));
  Dims size = o.given("output_size") ? o.dims("output_size") : Dims();
  if (size.empty()) {
    if (scales.size() != rank) o.corrupt("has neither sizes nor scales");
    for (size_t i = 0; i < rank; i++) {
      const auto extent = in[i + 2].value();
      const bool whole = scales[i] == std::floor(scales[i]);
      if (!extent && !whole) o.refuse("scale_factors", "a fraction of a symbolic dimension", "bind it with --dim");
      size.push_back(extent ? Dim(int64_t(std::floor(double(*extent) * scales[i])))
                            : in[i + 2] * Dim(int64_t(scales[i])));
    }
  }
  if (size.size() != rank) o.corrupt("output_size has " + std::to_string(size.size()) + " numbers");
  Attributes attributes;
  if (op.find("nearest_exact") != std::string::npos) {
    attributes = {{"mode", std::string("nearest")},
                  {"coordinate_transformation_mode", std::string("half_pixel")},
                  {"nearest_mode", std::string("round_prefer_ceil")}};
  } else if (op.find("nearest") != std::string::npos) {
    attributes = {{"mode", std::string("nearest")},
                  {"coordinate_transformation_mode", std::string("asymmetric")},
                  {"nearest_mode", std::string("floor")}};
  } else {
    const bool cubic = op.find("bicubic") != std::string::npos;
    attributes = {
        {"mode", std::string(cubic ? "cubic" : "linear")},
        {"coordinate_transformation_mode", std::string(o.flag("align_corners") ? "align_corners" : "half_pixel")}};
    if (cubic) attributes["cubic_coeff_a"] = -0.75;
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
  table.add("avg_pool1d", window + "bool ceil_mode=False, bool count_include_pad=True", average_pool);
  table.add_all("avg_pool2d avg_pool3d",
                window + "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None", average_pool);
  for (const char* name : {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d",
                           "_adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"})
    table.add(name, "Tensor self, Any output_size", adaptive_pool);
  const std::string corners = "bool align_corners, ";
  for (const char* name :
       {"upsample_nearest", "_upsample_nearest_exact", "upsample_linear", "upsample_bilinear", "upsample_bicubic",
        "upsample_trilinear", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"}) {
    const std::string text = name;
    const bool nearest = text.find("nearest") != std::string::npos, whole = text.find("_aa") != std::string::npos;
    const auto add = [&](int64_t rank) {
      const std::string full = whole ? text : text + std::to_string(rank) + "d";
      const std::string flag = nearest ? "" : corners;
      table.add(full + ".vec", "Tensor input, int[]? output_size, " + flag + "float[]? scale_factors", upsample);
      const std::string scales = rank == 1   ? "float? scales=None"
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
