// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_movement.cpp - elements that move: transpose, concat, slice, pad,
// gather, scatter, resize, sort.
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

void pad(Call& call) {
  const std::string mode = call.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" &&
      !(mode == "wrap" && call.opset() >= 19)) {
    return call.refuse("mode", "'" + mode + "' is not known");
  }
  if (call.opset() >= 11) {
    call.expect_inputs(2, call.opset() >= 18 ? 4 : 3);
    call.emit(op::Pad).attributes[attr::mode] = mode;
    return;
  }
  call.expect_inputs(1, 1);
  graph::Node& made = call.emit(op::Pad);
  made.attributes[attr::mode] = mode;
  const auto pads = call.integers(call.opset() < 2 ? "paddings" : "pads");
  if (!pads) call.translator().corrupt(describe(call.node()) + ": lacks pads");
  made.attributes[attr::pads] = *pads;
  made.attributes[attr::value] = call.number("value", 0);
}
/// bilinear and bicubic are what linear and cubic were called before opset 20.
void grid_sample(Call& call) {
  std::string mode = call.text("mode", call.opset() >= 20 ? "linear" : "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  if (mode != "linear" && mode != "cubic" && mode != "nearest")
    return call.refuse("mode", "'" + mode + "' is not known");
  const std::string padding = call.text("padding_mode", "zeros");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return call.refuse("padding_mode", "'" + padding + "' is not known");
  graph::Node& made = call.emit(op::GridSample);
  made.attributes[attr::mode] = mode;
  made.attributes[attr::padding_mode] = padding;
  made.attributes[attr::align_corners] = call.integer("align_corners", 0);
}
void roi_align(Call& call) {
  const std::string mode = call.text("mode", "avg");
  if (mode != "avg" && mode != "max") return call.refuse("mode", "'" + mode + "' is not known");
  // before opset 16 there was no other
  const std::string corner = call.opset() >= 16
                                 ? call.text("coordinate_transformation_mode", "half_pixel")
                                 : "output_half_pixel";
  if (corner != "half_pixel" && corner != "output_half_pixel")
    return call.refuse("coordinate_transformation_mode", "'" + corner + "' is not known");
  const int64_t samples = call.integer("sampling_ratio", 0);
  if (samples < 0) return call.refuse("sampling_ratio", std::to_string(samples) + " is negative");
  graph::Node& made = call.emit(op::RoiAlign);
  made.attributes[attr::mode] = mode;
  made.attributes[attr::aligned] = int64_t(corner == "half_pixel");
  made.attributes[attr::sampling_ratio] = samples;
  made.attributes[attr::spatial_scale] = call.number("spatial_scale", 1);
  made.attributes[attr::output_height] = call.integer("output_height", 1);
  made.attributes[attr::output_width] = call.integer("output_width", 1);
}
void depth_space(Call& call) {
  const bool to_space = call.node().op == "DepthToSpace";
  const bool has_mode = call.opset() >= (to_space ? 11 : 28);
  const std::string mode = has_mode ? call.text("mode", "DCR") : "DCR";
  if (mode != "DCR" && mode != "CRD") return call.refuse("mode", "'" + mode + "' is not known");
  const int64_t block = call.integer("blocksize", 0);
  if (block < 1)
    call.translator().corrupt(describe(call.node()) + ": blocksize is " + std::to_string(block) +
                              ", expected at least 1");
  graph::Node& made = call.emit(call.op());
  made.attributes[attr::blocksize] = block;
  made.attributes[attr::mode] = mode;
}

/// Resize's inputs are (X, roi, scales, sizes) from here on; Upsample and Resize-10 are its
/// asymmetric form.
void resize(Call& call) {
  const bool old = call.node().op == "Upsample" || call.opset() < 11;
  const std::string mode = call.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "cubic" && mode != "bilinear")
    return call.refuse("mode", "'" + mode + "' is not known");
  std::vector<ValueId> inputs = call.inputs();
  std::optional<std::vector<double>> scales;
  if (old) {
    const bool attribute = call.node().op == "Upsample" && call.opset() < 9;
    call.expect_inputs(attribute ? 1 : 2, attribute ? 1 : 2);
    if (attribute) {
      scales = call.opset() < 7 ? std::vector<double>{1, 1, call.number("height_scale", 0),
                                                      call.number("width_scale", 0)}
                                : call.numbers("scales");
      if (!scales) call.translator().corrupt(describe(call.node()) + ": lacks scales");
    } else {
      inputs = {call.input(0), kAbsent, call.input(1)};
    }
  } else {
    call.expect_inputs(1, 4);
  }
  graph::Node& made = call.emit(op::Resize, inputs, call.outputs());
  made.attributes[attr::mode] = mode == "bilinear" ? std::string("linear") : mode;
  if (scales) made.attributes[attr::scales] = *scales;
  if (old) {
    made.attributes[attr::coordinate_transformation_mode] = std::string("asymmetric");
    made.attributes[attr::nearest_mode] = std::string("floor");
    made.attributes[attr::cubic_coeff_a] = -0.75;
    made.attributes[attr::exclude_outside] = int64_t(0);
    return;
  }
  const std::string coordinate = call.text("coordinate_transformation_mode", "half_pixel");
  static const char* const kCoordinates[] = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
      "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
  if (std::find(std::begin(kCoordinates), std::end(kCoordinates), coordinate) ==
      std::end(kCoordinates))
    return call.refuse("coordinate_transformation_mode", "'" + coordinate + "' is not known");
  made.attributes[attr::coordinate_transformation_mode] = coordinate;
  made.attributes[attr::nearest_mode] = call.text("nearest_mode", "round_prefer_floor");
  made.attributes[attr::cubic_coeff_a] = call.number("cubic_coeff_a", -0.75);
  made.attributes[attr::exclude_outside] = call.integer("exclude_outside", 0);
  if (const auto axes = call.integers("axes")) made.attributes[attr::axes] = *axes;
  const std::string policy = call.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    return call.refuse("keep_aspect_ratio_policy", "'" + policy + "' is not known");
  made.attributes[attr::keep_aspect_ratio_policy] = policy;
  made.attributes[attr::extrapolation_value] = call.number("extrapolation_value", 0);
  made.attributes[attr::antialias] = call.integer("antialias", 0);
}

}  // namespace

void add_grid_sample(TranslateTable& table) { table["GridSample"] = {2, 2, grid_sample}; }
void add_movement(TranslateTable& table) {
  table["Pad"] = pad;
  table["GridSample"] = {2, 2, grid_sample};
  table["RoiAlign"] = {3, 3, roi_align};
  table["DepthToSpace"] = {1, 1, depth_space};
  table["SpaceToDepth"] = {1, 1, depth_space};
  table["Resize"] = resize;
  table["Upsample"] = resize;
}

}  // namespace ingot::onnx
