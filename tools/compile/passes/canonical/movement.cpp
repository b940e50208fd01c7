#include "tools/compile/passes/canonical/rules.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/elementwise.h"

namespace ingot::passes {
namespace {

void only_dims(Node& node, const char* op) {
  node.op = op;
  node.attributes.clear();
}

void reshape(Canonical&, Node& node) { only_dims(node, "Reshape"); }
void bit_cast(Canonical&, Node& node) { only_dims(node, "BitCast"); }
void tile(Canonical&, Node& node) { only_dims(node, "Tile"); }
void as_it_is(Canonical&, Node&) {}

void slice_into(Editor& e, const Node& node, ValueId x, int64_t axis, const Dim& start,
                ValueId out) {
  Dims starts(e.rank(x), Dim(0));
  starts[size_t(axis)] = start;
  e.add("Slice", {x}, {out}, node, {{"starts", starts}, {"steps", Integers(e.rank(x), 1)}});
}

void split(Canonical& c, Node& node) {
  Editor& e = c.editor;
  e.kill(node);
  int64_t axis = node.integer("axis", 0);
  Dim start = 0;
  for (ValueId out : node.outputs) {
    if (out < 0) continue;
    slice_into(e, node, node.inputs[0], axis, start, out);
    start = start + e.dims(out)[size_t(axis)];
  }
}

// Indices that are one constant, or a constant run going up by one, are a Slice: a view at best, a
// copy of rows at worst.
void gather(Canonical& c, Node& node) {
  Editor& e = c.editor;
  int64_t axis = node.integer("axis", 0);
  ValueId x = node.inputs[0], out = node.outputs[0];
  node.attributes = {{"axis", axis}};
  const Constant* indices = e.constant(node.inputs[1]);
  if (!indices || indices->elements() == 0 || indices->dims.size() > 1) return;
  std::vector<double> at = numbers(*indices);
  for (size_t i = 1; i < at.size(); i++)
    if (at[i] != at[0] + double(i)) return;
  Dim extent = e.dims(x)[size_t(axis)], start = int64_t(at[0]);
  if (at[0] < 0) {
    if (at.back() >= 0) return;
    start = extent + start;
  }
  if (start.value() && *start.value() < 0) return;
  if (start.value() && extent.value() && *start.value() + int64_t(at.size()) > *extent.value())
    return;  // left for the kernel to report
  e.kill(node);
  Dims dims = e.dims(x);
  dims[size_t(axis)] = Dim(int64_t(at.size()));
  if (same(dims, e.dims(out))) return slice_into(e, node, x, axis, start, out);
  ValueId piece = e.new_value(e.value(out).name + "/Slice", e.value(x).dtype, dims);
  slice_into(e, node, x, axis, start, piece);
  e.add("Reshape", {piece}, {out}, node);
}

void resize(Canonical& c, Node& node) {
  std::string coordinate = node.text("coordinate_transformation_mode", "half_pixel");
  if (coordinate == "tf_crop_and_resize")
    return c.refuse(node, "coordinate_transformation_mode", "tf_crop_and_resize is not built");
  node.attributes = {{"mode", node.text("mode", "nearest")},
                     {"coordinate", coordinate},
                     {"nearest", node.text("nearest_mode", "round_prefer_floor")},
                     {"cubic_a", node.number("cubic_coeff_a", -0.75)},
                     {"exclude_outside", node.integer("exclude_outside", 0)},
                     {"scales", node.numbers("scales")}};
}

/// Channels last, where a place is a run of memory.
void grid_sample(Canonical& c, Node& node) {
  Editor& e = c.editor;
  ValueId x = node.inputs[0], grid = node.inputs[1], out = node.outputs[0];
  const Integers perm = to_channels_last(e.rank(x));
  e.kill(node);
  ValueId y = e.emit("GridSample", {e.transpose(x, perm, node), grid}, e.value(out).dtype,
                     permuted(e.dims(out), perm), node,
                     {{"mode", node.text("mode", "linear")},
                      {"padding", node.text("padding_mode", "zeros")},
                      {"align_corners", node.integer("align_corners", 0)}});
  e.value(y).layout = "NHWC";
  e.add("Transpose", {y}, {out}, node, {{"perm", inverse(perm)}});
}

void roi_align(Canonical& c, Node& node) {
  Editor& e = c.editor;
  const ValueId x = node.inputs[0], boxes = node.inputs[1], images = node.inputs[2],
                out = node.outputs[0];
  const Integers perm = to_channels_last(e.rank(x));
  e.kill(node);
  const ValueId y =
      e.emit("RoiAlign", {e.transpose(x, perm, node), boxes, images}, e.value(out).dtype,
             permuted(e.dims(out), perm), node,
             {{"mode", std::string(node.text("mode", "avg") == "max" ? "max" : "average")},
              {"aligned", node.integer("aligned", 1)},
              {"samples", node.integer("sampling_ratio", 0)},
              {"scale", node.number("spatial_scale", 1)}});
  e.value(y).layout = "NHWC";
  e.add("Transpose", {y}, {out}, node, {{"perm", inverse(perm)}});
}

/// Bytes with another sign: 128 more, modulo 256.
void offset_byte(Canonical&, Node& node) {
  node.op = "Elementwise";
  node.attributes = elementwise({{Op::kBitwiseXor, 0, kConstantRegister, 0, 128}}, "i64");
}

void top_k(Canonical&, Node& node) { node.op = "TopK"; }

void cumulative_sum(Canonical&, Node& node) { node.op = "CumSum"; }

void renamed(Canonical&, Node& node) {
  static const std::map<std::string_view, const char*> names = {
      {"GatherND", "GatherNd"},
      {"ScatterND", "ScatterNd"},
      {"ScatterElements", "ScatterElements"},
      {"GatherElements", "GatherElements"}};
  node.op = names.at(node.op);
}

}  // namespace

void add_movement_rules(Rules& rules) {
  rules["Reshape"] = rules["Identity"] = reshape;
  rules["BitCast"] = bit_cast;
  rules["Tile"] = tile;
  rules["Transpose"] = rules["Concat"] = rules["Slice"] = rules["Pad"] = rules["ImageInput"] =
      as_it_is;
  rules["Split"] = split;
  rules["Gather"] = gather;
  rules["Resize"] = resize;
  rules["GridSample"] = grid_sample;
  rules["RoiAlign"] = roi_align;
  rules["TopK"] = top_k;
  rules["NonZero"] = rules["Unique"] = rules["NonMaxSuppression"] = rules["ResolveDim"] =
      rules["TreeEnsemble"] = rules["Fft"] = rules["Random"] = as_it_is;
  rules["CumSum"] = cumulative_sum;
  rules["OffsetByte"] = offset_byte;
  rules["Linear"] = rules["Quantize"] = rules["Dequantize"] = rules["QuantizedConv2d"] =
      rules["QuantizedLinear"] = rules["Lookup"] = rules["QuantizedElementwise"] =
          rules["QuantizedPool2d"] = rules["QuantizedSoftmax"] = rules["DynamicQuantize"] =
              rules["QuantizedMatMul"] = rules["Custom"] = as_it_is;
  rules["GatherND"] = rules["ScatterND"] = rules["ScatterElements"] = rules["GatherElements"] =
      renamed;
}

}  // namespace ingot::passes
