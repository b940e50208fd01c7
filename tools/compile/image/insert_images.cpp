// SPDX-License-Identifier: Apache-2.0
// tools/compile/image/insert_images.cpp - an ImageInput in front of an input, with areas and
// factors worked out from what the network takes.
#include <algorithm>
#include <cmath>

#include "tools/compile/image/image_input.h"
#include "tools/files/suggest.h"

namespace ingot::convert {
namespace {

using graph::Attribute;
using graph::Value;
using graph::ValueId;

std::string size_text(int64_t width, int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

struct Insertion {
  graph::Model& model;
  const std::string& name;
  ImageInput option;

  [[noreturn]] void refuse(const std::string& why) const {
    graph::fail_mismatch("--image " + name + ": " + why);
  }

  static std::string dims_text(const Value& value) {
    std::string text;
    for (const graph::Dim& dim : value.dims) text += (text.empty() ? "" : ",") + dim.text();
    return std::string(dtype_name(value.dtype)) + " [" + text + "]";
  }

  /// One channel or three, in dimension 1 or 3.
  bool is_planar(const Value& value) const {
    const auto channels = [&](size_t i) {
      return value.dims[i].value() == 1 || value.dims[i].value() == 3;
    };
    const std::string what = "input '" + name + "' is " + dims_text(value);
    if (value.dtype != DType::kF32)
      refuse(what + ", which is no image: expected f32, to which the frame is converted");
    if (value.dims.size() != 4 || (!channels(1) && !channels(3)))
      refuse(what +
             ", which is no image: expected four dimensions, [N,C,H,W] or [N,H,W,C] with 1 or 3 "
             "channels");
    bool planar = channels(1);
    if (!option.layout.empty())
      planar = option.layout == "nchw";
    else if (channels(1) && channels(3))
      refuse(what + ", which may be [N,C,H,W] or [N,H,W,C]; add nchw or nhwc");
    if (!channels(planar ? 1 : 3))
      refuse(what + ", which has not 1 or 3 channels where " + option.layout + " has them");
    for (const size_t i : {planar ? 2 : 1, planar ? 3 : 2})
      if (!value.dims[i].value())
        refuse(what + ", whose size is dynamic; fix it: --input-shape " + name + "=" +
               (planar ? "1x3x640x640" : "1x640x640x3") + ", or --dim " + value.dims[i].text() +
               "=640");
    return planar;
  }

  /// Where the source area lies in an image of width x height, and what is left of it.
  void place(int64_t width, int64_t height) {
    ImageInputAttributes& a = option.attributes;
    if (a.source.width == 0) a.source = {0, 0, a.width, a.height};
    ImageArea &from = a.source, &to = a.target;
    to = {0, 0, uint32_t(width), uint32_t(height)};
    const int64_t wide = int64_t(from.width) * height, high = int64_t(from.height) * width;
    if (wide == high || option.fit == ImageFit::kStretch) return;
    if (option.fit == ImageFit::kUnsaid)
      refuse(size_text(from.width, from.height) + " is not of the shape of the network's " +
             size_text(width, height) + "; add stretch, letterbox or crop");
    const auto rounded = [](int64_t above, int64_t below) {
      return uint32_t(std::max<int64_t>(1, (2 * above + below) / (2 * below)));
    };
    if (option.fit == ImageFit::kLetterbox) {
      if (wide > high)
        to.height = rounded(high, from.width);
      else
        to.width = rounded(wide, from.height);
      to.left = uint32_t(width - to.width) / 2, to.top = uint32_t(height - to.height) / 2;
    } else {
      const ImageArea whole = from;
      if (wide > high)
        from.width = rounded(high, height);
      else
        from.height = rounded(wide, width);
      from.left += (whole.width - from.width) / 2, from.top += (whole.height - from.height) / 2;
    }
  }

  std::vector<double> by_channel(const std::string& key, const std::vector<double>& numbers,
                                 size_t channels) const {
    if (numbers.size() > channels)
      refuse(key + " has three numbers, and the network's image one channel");
    return numbers.size() == channels ? numbers : std::vector<double>(channels, numbers[0]);
  }

  std::vector<std::string> operand_names() const {
    if (!option.planes) return {name};
    if (pixel_layout(option.attributes.format).planes == 3)
      return {name + ".y", name + ".u", name + ".v"};
    return {name + ".y", name + ".uv"};
  }

  void run() {
    graph::Graph& graph = model.graph;
    const auto is_named = [&](ValueId id) {
      return !model.constant(id) && model.values[size_t(id)].name == name;
    };
    const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(), is_named);
    if (input == graph.inputs.end()) {
      std::vector<std::string> names;
      for (const ValueId id : graph.inputs)
        if (!model.constant(id)) names.push_back(model.values[size_t(id)].name);
      refuse("the model has no input of that name" + host::did_you_mean(name, names));
    }
    const ValueId image = *input;
    const bool planar = is_planar(model.values[size_t(image)]);
    const graph::Dims dims = model.values[size_t(image)].dims;
    const int64_t height = *dims[planar ? 2 : 1].value(), width = *dims[planar ? 3 : 2].value();
    if (width < 1 || height < 1 || width > kMaxImageExtent || height > kMaxImageExtent)
      refuse("the network's image is " + size_text(width, height) + ", expected 1 to " +
             std::to_string(kMaxImageExtent) + " columns and rows");
    place(width, height);
    const size_t channels = size_t(*dims[planar ? 1 : 3].value());
    graph::Node node = node_of(planar, channels);
    model.values[size_t(image)].name = name + "/picture";
    node.outputs = {image};
    std::vector<ValueId> frames;
    const ImageInputAttributes& a = option.attributes;
    for (const std::string& operand : operand_names()) {
      const int plane = int(frames.size());
      const int64_t least = plane_row_bytes(a.format, a.width, plane);
      // A pitch is that of luma; of chroma planes on their own as much is added.
      const int64_t pitch = option.pitch == 0 ? least
                            : plane == 0      ? option.pitch
                                              : option.pitch / (int64_t(a.width) / least);
      const int64_t rows =
          option.planes ? plane_rows(a.format, a.height, plane) : frame_rows(a.format, a.height);
      const ValueId id = model.add_value(operand, DType::kU8);
      model.values[size_t(id)].shape_known = true;
      model.values[size_t(id)].dims = {dims[0], graph::Dim(rows), graph::Dim(pitch)};
      frames.push_back(id);
    }
    node.inputs = frames;
    const size_t at = size_t(input - graph.inputs.begin());
    graph.inputs.erase(graph.inputs.begin() + int64_t(at));
    graph.inputs.insert(graph.inputs.begin() + int64_t(at), frames.begin(), frames.end());
    graph.nodes.insert(graph.nodes.begin(), std::move(node));
  }

  graph::Node node_of(bool planar, size_t channels) const {
    static const char* const kInterpolations[] = {"bilinear", "nearest", "area"};
    const ImageInputAttributes& a = option.attributes;
    const auto area = [](const ImageArea& from) {
      return std::vector<int64_t>{from.left, from.top, from.width, from.height};
    };
    const std::vector<double> mean = by_channel("mean", option.mean, channels),
                              deviation = by_channel("std", option.deviation, channels);
    std::vector<double> scale, bias;
    for (size_t c = 0; c < channels; c++) {
      scale.push_back(option.scale / deviation[c]);
      bias.push_back(-mean[c] / deviation[c]);
    }
    graph::Node node;
    node.op = op::ImageInput;
    node.name = name;
    node.attributes = {
        {attr::format, std::string(pixel_format_name(a.format))},
        {attr::width, int64_t(a.width)},
        {attr::height, int64_t(a.height)},
        {attr::source, area(a.source)},
        {attr::target, area(a.target)},
        {attr::interpolation, std::string(kInterpolations[int(a.interpolation)])},
        {attr::matrix, std::string(a.matrix == ColorMatrix::kBt601 ? "bt601" : "bt709")},
        {attr::full_range, int64_t(a.full_range)},
        {attr::siting, std::string(a.siting == ChromaSiting::kLeft ? "left" : "center")},
        {attr::bgr, int64_t(a.bgr)},
        {attr::layout, std::string(planar ? "nchw" : "nhwc")},
        {attr::pad, by_channel("pad", option.pad, channels)},
        {attr::scale, scale},
        {attr::bias, bias}};
    return node;
  }
};

}  // namespace

void insert_images(graph::Model& model, const ImageInputs& images) {
  for (const auto& [name, option] : images) Insertion{model, name, option}.run();
}

}  // namespace ingot::convert
