// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_image.cpp - images made larger or smaller, and augmentation, which does
// nothing in inference; integers and numbers as categories.
#include "tools/import/aten/arithmetic.h"
#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

using aten::Term;
using graph::Dim;
using graph::Dims;

void augmentation(LayerCall& call) {
  call.net.said_inference(call.layer.kind);
  call.give(call.input());
}

/// An image without a batch has three dimensions.
ValueId with_batch(LayerCall& call) {
  const ValueId x = call.b.cast(call.input(), DType::kF32);
  if (call.rank() == 4) return x;
  if (call.rank() != 3) call.refuse("", "of other than images is not built");
  Dims dims = call.b.dims(x);
  dims.insert(dims.begin(), Dim(1));
  return call.b.reshape(x, dims);
}
void give_image(LayerCall& call, ValueId x) {
  Dims dims = call.b.dims(x);
  if (call.rank() == 3) dims.erase(dims.begin());
  call.give(call.b.reshape(x, dims));
}
void resizing(LayerCall& call) {
  const int64_t height = call.integer("height", 0), width = call.integer("width", 0);
  if (height < 1 || width < 1 || height > 1 << 20 || width > 1 << 20)
    call.corrupt("makes " + std::to_string(height) + " x " + std::to_string(width));
  for (const char* key : {"crop_to_aspect_ratio", "pad_to_aspect_ratio", "antialias"})
    if (call.truth(key, false)) call.refuse(key, "is not built");
  const bool last = call.channels_last();
  const std::string how = call.text("interpolation", "bilinear");
  if (how != "nearest" && how != "bilinear" && how != "bicubic")
    call.refuse("interpolation", "'" + how + "', built are nearest, bilinear and bicubic");
  const ValueId image = call.to_channels_first(with_batch(call), last);
  const Dims in = call.b.dims(image);
  std::vector<ValueId> sizes;
  for (const Dim& extent : {in[0], in[1], Dim(height), Dim(width)})
    sizes.push_back(call.b.reshape(call.b.extent(extent), {Dim(1)}));
  const ValueId size = call.b.emit(op::Concat, sizes, {{attr::axis, int64_t(0)}});
  const ValueId made =
      call.b.emit(op::Resize, {image, graph::kAbsent, graph::kAbsent, size},
                  {{attr::mode, std::string(how == "nearest"    ? "nearest"
                                            : how == "bilinear" ? "linear"
                                                                : "cubic")},
                   {attr::coordinate_transformation_mode,
                    std::string(how == "nearest" ? "tf_half_pixel_multiplied" : "half_pixel")},
                   {attr::nearest_mode, std::string("floor")},
                   {attr::cubic_coeff_a, -0.5},
                   {attr::exclude_outside, int64_t(0)}});
  give_image(call, call.from_channels_first(made, last));
}
/// The middle of an image.
void center_crop(LayerCall& call) {
  const int64_t size[] = {call.integer("height", 0), call.integer("width", 0)};
  const int64_t first = call.channels_last() ? call.rank() - 3 : call.rank() - 2;
  if (first < 0) call.refuse("", "of other than images is not built");
  ValueId x = call.b.cast(call.input(), DType::kF32);
  for (int64_t i = 0; i < 2; i++) {
    const int64_t extent = call.extent(first + i), from = (extent - size[i]) / 2;
    if (size[i] < 1) call.corrupt("its extents are below 1");
    if (extent < size[i])
      call.refuse(i == 0 ? "height" : "width",
                  "is larger than the image (" + std::to_string(extent) + "), which is not built");
    x = call.b.slice(x, first + i, Dim(from), Dim(from + size[i]));
  }
  call.give(x);
}

/// Numbers as rows of ones and zeros: one each, any of several, or how many.
void give_categories(LayerCall& call, const Term& index, const std::string& mode, int64_t count) {
  if (count < 1 || count > 1 << 24) call.corrupt("has " + std::to_string(count) + " categories");
  Dims column = index.dims();
  const bool single = column.empty() || column.back() == Dim(1);
  if (mode == "one_hot" && !column.empty() && single) column.pop_back();
  column.push_back(Dim(1));
  const Term hit =
      equal(index.reshape(column), aten::counting(call.b, Dim(count))).cast(DType::kF32);
  if (mode == "one_hot") return call.give(hit.id);
  const int64_t places = hit.rank() - 2;
  if (mode != "multi_hot" && mode != "count")
    call.refuse("output_mode", "'" + mode + "' is not built");
  if (places < 0) return call.give(hit.id);
  call.give(hit.reduce(mode == "count" ? op::ReduceSum : op::ReduceMax, {places}).id);
}
void category_encoding(LayerCall& call) {
  const Term x = {&call.b, call.b.cast(call.input(), DType::kI64)};
  give_categories(call, x, call.text("output_mode", "multi_hot"), call.integer("num_tokens", 0));
}
/// How many boundaries lie at or below each number.
void discretization(LayerCall& call) {
  const std::vector<double> limits = call.numbers_of("bin_boundaries");
  if (limits.empty())
    call.refuse("bin_boundaries", "are not in the file", "give them, or save the adapted layer");
  const Term x = {&call.b, call.b.cast(call.input(), DType::kF32)};
  Dims column = x.dims();
  column.push_back(Dim(1));
  const Term bounds = x.of(call.net.constant(std::vector<float>(limits.begin(), limits.end()),
                                             {int64_t(limits.size())}));
  const Term bin = (bounds <= x.reshape(column))
                       .cast(DType::kI64)
                       .reduce(op::ReduceSum, {int64_t(column.size()) - 1});
  const std::string mode = call.text("output_mode", "int");
  if (mode == "int") return call.give(bin.cast(DType::kI32).id);
  give_categories(call, bin, mode, int64_t(limits.size()) + 1);
}

}  // namespace

bool prepares_images(const std::string& kind) {
  TranslateTable table;
  add_images(table);
  const auto found = table.find(kind);
  return found != table.end() && found->second != category_encoding &&
         found->second != discretization;
}

void add_images(TranslateTable& table) {
  for (const char* kind :
       {"RandomBrightness", "RandomColorDegeneration", "RandomColorJitter", "RandomContrast",
        "RandomElasticTransform", "RandomErasing", "RandomFlip", "RandomGaussianBlur",
        "RandomGrayscale", "RandomHue", "RandomInvert", "RandomPerspective", "RandomPosterization",
        "RandomRotation", "RandomSaturation", "RandomSharpness", "RandomShear", "RandomTranslation",
        "RandomZoom"})
    table[kind] = augmentation;
  table["Resizing"] = resizing;
  table["CenterCrop"] = center_crop;
  table["CategoryEncoding"] = category_encoding;
  table["Discretization"] = discretization;
}

}  // namespace ingot::keras
