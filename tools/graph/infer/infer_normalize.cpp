// tools/graph/infer/infer_normalize.cpp - normalisations; those without a core operator are spelled
// out.
#include <algorithm>

#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

void expect_vector(Site& site, size_t input, const Dim& length, const char* name) {
  if (site.rank(input) == 1 && (site.dims(input)[0] == length || !length.is_static())) return;
  site.corrupt(std::string("its ") + name + " has shape " + text(site.dims(input)) +
               ", expected [" + length.text() + "]");
}
void expect_channels(Site& site) {
  if (site.rank(0) < 2)
    site.corrupt("its input has shape " + text(site.dims(0)) + ", expected at least 2 dimensions");
}

void batch(Site& site) {
  expect_channels(site);
  const char* const kNames[] = {"scale", "B", "mean", "var"};
  for (size_t i = 0; i < 4; i++) expect_vector(site, i + 1, site.dims(0)[1], kNames[i]);
  site.set(0, site.dtype(0), site.dims(0));
}
void instance(Site& site) {
  expect_channels(site);
  expect_vector(site, 1, site.dims(0)[1], "scale");
  expect_vector(site, 2, site.dims(0)[1], "B");
  site.set(0, site.dtype(0), site.dims(0));
}
void group(Site& site) {
  expect_channels(site);
  const int64_t groups = site.node.integer("num_groups", 0);
  const auto channels = site.dims(0)[1].value();
  if (!channels)
    site.refuse("", "its number of channels is symbolic (" + site.dims(0)[1].text() + ")",
                "bind it with --dim");
  if (groups < 1 || *channels % groups != 0)
    site.corrupt("num_groups is " + std::to_string(groups) + " for " + std::to_string(*channels) +
                 " channels");
  // Until opset 20 scale and bias are per group, which some exporters did not heed.
  if (site.node.integer("per_group", 0) != 0 && *channels != groups &&
      site.dims(1) == Dims{groups}) {
    site.erase({"per_group"});
    for (size_t i = 1; i <= 2; i++) {
      expect_vector(site, i, Dim(groups), "scale or bias");
      const ValueId column = site.reshape(site.in(i), {groups, 1});
      site.node.inputs[i] =
          site.reshape(site.expand(column, {groups, *channels / groups}), {*channels});
    }
  }
  site.erase({"per_group"});
  expect_vector(site, 1, site.dims(0)[1], "scale");
  expect_vector(site, 2, site.dims(0)[1], "bias");
  site.set(0, site.dtype(0), site.dims(0));
}
/// Mean and 1 / standard deviation, where somebody reads them.
void statistics(Site& site, int64_t first) {
  if (site.node.outputs.size() < 2) return;
  std::vector<int64_t> axes;
  for (int64_t i = first; i < site.rank(0); i++) axes.push_back(i);
  const auto mean_of = [&](ValueId x) {
    return site.make("ReduceMean", {x}, {{"axes", axes}, {"keepdims", int64_t(1)}});
  };
  const DType dtype = site.dtype(0);
  const ValueId mean = mean_of(site.in(0)), centred = site.make("Sub", {site.in(0), mean});
  const ValueId variance = mean_of(site.make("Mul", {centred, centred}));
  const ValueId shifted =
      site.make("Add", {variance, site.scalar(dtype, site.node.number("epsilon", 1e-5))});
  const ValueId inverse = site.make("Reciprocal", {site.make("Sqrt", {shifted})});
  if (site.node.outputs[1] != kAbsent) site.run().replace(site.node.outputs[1], mean);
  if (site.node.outputs.size() > 2 && site.node.outputs[2] != kAbsent)
    site.run().replace(site.node.outputs[2], inverse);
  site.node.outputs.resize(1);
}
void layer(Site& site) {
  const int64_t axis = site.axis(site.node.integer("axis", -1), site.rank(0));
  site.node.attributes["axis"] = axis;
  statistics(site, axis);
  if (site.node.outputs[0] == kAbsent) site.refuse("", "only its statistics are used");
  for (size_t i = 1; i < site.node.inputs.size(); i++) {
    if (site.has(i) && broadcast(site, site.dims(0), site.dims(i)) != site.dims(0)) {
      site.corrupt("its scale or bias " + text(site.dims(i)) + " does not broadcast to " +
                   text(site.dims(0)));
    }
  }
  site.set(0, site.dtype(0), site.dims(0));
}

void lp(Site& site) {
  const int64_t axis = site.axis(site.node.integer("axis", -1), site.rank(0));
  const std::string op = site.node.integer("p", 2) == 1 ? "ReduceL1" : "ReduceL2";
  const ValueId norm =
      site.make(op, {site.in(0)}, {{"axes", std::vector<int64_t>{axis}}, {"keepdims", int64_t(1)}});
  // A row of zeros stays zero.
  const ValueId safe = site.make("Max", {norm, site.scalar(site.dtype(0), 1e-30)});
  site.finish("Div", {site.in(0), safe});
}

/// (x - mean) / (sqrt(mean(x^2) - mean^2) + 1e-9), as ONNX defines the function.
void mean_variance(Site& site) {
  const std::vector<int64_t> axes = site.axes(site.node.integers("axes"), site.rank(0));
  const auto mean_of = [&](ValueId x) {
    return site.make("ReduceMean", {x}, {{"axes", axes}, {"keepdims", int64_t(1)}});
  };
  const ValueId x = site.in(0), mean = mean_of(x);
  const ValueId variance =
      site.make("Sub", {mean_of(site.make("Mul", {x, x})), site.make("Mul", {mean, mean})});
  const ValueId deviation =
      site.make("Add", {site.make("Sqrt", {variance}), site.scalar(site.dtype(0), 1e-9)});
  site.finish("Div", {site.make("Sub", {x, mean}), deviation});
}

/// x / (bias + alpha / size * sum of squares over `size` channels)^beta; the sum is an average pool
/// along the channels.
void local_response(Site& site) {
  expect_channels(site);
  const int64_t size = site.node.integer("size", 0);
  if (size < 1) site.corrupt("size is " + std::to_string(size) + ", expected at least 1");
  const Dims dims = site.dims(0);
  const ValueId x = site.in(0);
  const ValueId squares = site.reshape(
      site.make("Mul", {x, x}), {dims[0], 1, dims[1], product(Dims(dims.begin() + 2, dims.end()))});
  const int64_t before = (size - 1) / 2;
  const ValueId mean = site.make("AveragePool", {squares},
                                 {{"kernel_shape", std::vector<int64_t>{size, 1}},
                                  {"pads", std::vector<int64_t>{before, 0, size - 1 - before, 0}},
                                  {"count_include_pad", int64_t(1)}});
  const ValueId scaled = site.make(
      "Mul",
      {site.reshape(mean, dims), site.scalar(site.dtype(0), site.node.number("alpha", 1e-4))});
  const ValueId shifted =
      site.make("Add", {scaled, site.scalar(site.dtype(0), site.node.number("bias", 1))});
  const ValueId power =
      site.make("Pow", {shifted, site.scalar(site.dtype(0), site.node.number("beta", 0.75))});
  site.finish("Div", {x, power});
}

}  // namespace

void add_normalize_rules(InferTable& table) {
  table["BatchNormalization"] = batch;
  table["InstanceNormalization"] = instance;
  table["GroupNormalization"] = group;
  table["LayerNormalization"] = layer;
  table["RMSNormalization"] = layer;
  table["LpNormalization"] = lp;
  table["MeanVarianceNormalization"] = mean_variance;
  table["LRN"] = local_response;
}

}  // namespace ingot::graph
