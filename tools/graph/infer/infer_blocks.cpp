// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_blocks.cpp - windows of an image as columns: Col2Im, which adds them
// back, and DeformConv, whose windows lie at computed places.
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;
constexpr int64_t kMaxPlaces = int64_t(1) << 22;

Integers per_axis_or(NodeContext& context, AttributeName key, size_t count, int64_t otherwise) {
  Integers all = context.node.integers(key);
  if (all.empty()) all.assign(count, otherwise);
  if (all.size() != count)
    context.corrupt(text(key) + " has " + std::to_string(all.size()) + " entries, expected " +
                    std::to_string(count));
  for (const int64_t n : all)
    if (n < (otherwise == 0 ? 0 : 1) || n > int64_t(1) << 31)
      context.corrupt(text(key) + " has an entry " + std::to_string(n));
  return all;
}

/// Where each element of the columns lies in an image with its pads.
class ColumnPlaces {
 public:
  ColumnPlaces(NodeContext& context, Integers image, Integers block)
      : image_(std::move(image)), block_(std::move(block)) {
    const size_t rank = image_.size();
    if (block_.size() != rank || rank == 0)
      context.corrupt("its image has " + std::to_string(rank) + " dimensions, its block " +
                      std::to_string(block_.size()));
    dilations_ = per_axis_or(context, attr::dilations, rank, 1);
    strides_ = per_axis_or(context, attr::strides, rank, 1);
    pads = per_axis_or(context, attr::pads, 2 * rank, 0);
    int64_t places = 1;
    const auto times = [&](int64_t n) {
      if (n < 1 || places > kMaxPlaces / n)
        context.refuse("", "its columns have no place or more than " + std::to_string(kMaxPlaces));
      places *= n;
    };
    for (size_t i = 0; i < rank; i++) {
      if (image_[i] < 1 || image_[i] > kMaxPlaces || block_[i] < 1 || block_[i] > kMaxPlaces)
        context.corrupt("its image or its block has an extent below 1 or above 2^22");
      padded.push_back(image_[i] + pads[i] + pads[i + rank]);
      const int64_t room = padded[i] - (block_[i] - 1) * dilations_[i] - 1;
      if (room < 0) context.corrupt("its block is larger than its padded image");
      steps_.push_back(room / strides_[i] + 1);
      times(block_[i]), times(steps_[i]);
    }
  }

  std::vector<int64_t> all() const {
    std::vector<int64_t> out;
    const int64_t blocks = count_of(block_), steps = count_of(steps_);
    for (int64_t b = 0; b < blocks; b++)
      for (int64_t s = 0; s < steps; s++) out.push_back(place(b, s));
    return out;
  }
  int64_t columns() const { return count_of(steps_); }

  Integers pads, padded;

 private:
  int64_t place(int64_t block, int64_t step) const {
    int64_t at = 0, scale = 1;
    for (size_t i = image_.size(); i-- > 0;) {
      at += scale * (step % steps_[i] * strides_[i] + block % block_[i] * dilations_[i]);
      scale *= padded[i], step /= steps_[i], block /= block_[i];
    }
    return at;
  }
  Integers image_, block_, dilations_, strides_, steps_;
};

/// Windows [N, C * block, columns] back to an image: what lies at one place is added.
void col_to_image(NodeContext& context) {
  const auto image = context.integers(attr::image_shape, 1),
             block = context.integers(attr::block_shape, 2);
  if (!image || !block) context.corrupt("lacks the extents of its image or its block");
  const ColumnPlaces places(context, *image, *block);
  const Dims in = context.dims(0);
  const int64_t size = count_of(*block);
  if (in.size() != 3 || (in[1].value() && *in[1].value() % size != 0) ||
      (in[2].value() && *in[2].value() != places.columns()))
    context.corrupt("its input has shape " + text(in) + ", expected [N, C * " +
                    std::to_string(size) + ", " + std::to_string(places.columns()) + "]");
  const Dim images = in[0] * (in[1] / Dim(size));
  const std::vector<int64_t> at = places.all();
  const ValueId index =
      context.constant(make_constant(DType::kI64, {int64_t(at.size()), 1}, at.data()));
  const ValueId flat = context.reshape(context.in(0), {images, Dim(int64_t(at.size()))}),
                rows = context.make(op::Transpose, {flat}, {{attr::perm, Integers{1, 0}}});
  const ValueId zeros =
      context.expand(context.scalar(context.dtype(0), 0), {Dim(count_of(places.padded)), images});
  const ValueId sums =
      context.make(op::ScatterND, {zeros, index, rows}, {{attr::reduction, std::string("add")}});
  Dims out = {in[0], in[1] / Dim(size)}, starts, ends;
  Integers axes;
  for (size_t i = 0; i < image->size(); i++) {
    out.push_back(Dim(places.padded[i]));
    starts.push_back(Dim(places.pads[i]));
    ends.push_back(Dim(places.pads[i] + (*image)[i]));
    axes.push_back(int64_t(i) + 2);
  }
  const ValueId whole =
      context.reshape(context.make(op::Transpose, {sums}, {{attr::perm, Integers{1, 0}}}), out);
  context.finish(op::Slice, {whole},
                 {{attr::starts, starts}, {attr::ends, ends}, {attr::axes, axes}});
}

/// Deformable convolution (Dai et al., arXiv:1703.06211; with a mask Zhu et al., 1811.11168): the
/// windows are sampled, the rest is a product.
class Deformable {
 public:
  explicit Deformable(NodeContext& s) : context(s) {}

  void run() {
    x_ = context.dims(0), weight_ = context.dims(1), offset_ = context.dims(2);
    if (x_.size() != 4 || weight_.size() != 4 || offset_.size() != 4)
      context.refuse("", "its input has shape " + text(x_) + ", two spatial dimensions are built");
    if (context.dtype(0) != DType::kF32)
      context.refuse("", "its input must be f32", "convert the model to float32");
    const auto channels = x_[1].value(), height = weight_[2].value(), width = weight_[3].value();
    group_ = context.node.integer(attr::group, 1),
    parts_ = context.node.integer(attr::offset_group, 1);
    if (!channels || !height || !width || group_ < 1 || parts_ < 1 || *channels % parts_ != 0 ||
        *channels % group_ != 0)
      context.corrupt("its input has shape " + text(x_) + ", its weight " + text(weight_) + ", " +
                      std::to_string(group_) + " groups and " + std::to_string(parts_) +
                      " groups of offsets");
    channels_ = *channels, kernel_ = {*height, *width};
    if (const Integers given = context.node.integers(attr::kernel_shape);
        !given.empty() && given != kernel_)
      context.corrupt("its kernel_shape is not that of its weight " + text(weight_));
    if (kernel_[0] < 1 || kernel_[1] < 1 || kernel_[0] > kMaxPlaces / kernel_[1])
      context.refuse("", "its weight has shape " + text(weight_));
    taps_ = kernel_[0] * kernel_[1];
    dilations_ = per_axis_or(context, attr::dilations, 2, 1);
    strides_ = per_axis_or(context, attr::strides, 2, 1);
    pads_ = per_axis_or(context, attr::pads, 4, 0);
    if (offset_[1] != Dim(parts_ * taps_ * 2))
      context.corrupt("its offsets have shape " + text(offset_) + ", expected " +
                      std::to_string(parts_ * taps_ * 2) + " channels");
    const Dim area = offset_[2] * offset_[3];
    ValueId windows = sampled();
    windows =
        context.reshape(windows, {x_[0], Dim(parts_), Dim(channels_ / parts_), Dim(taps_), area});
    if (context.has(4)) {
      const ValueId mask =
          context.reshape(context.in(4), {x_[0], Dim(parts_), Dim(1), Dim(taps_), area});
      windows = context.make(op::Mul, {windows, mask});
    }
    const int64_t inner = channels_ / group_ * taps_;
    const Dim rows = weight_[0] / Dim(group_);
    const ValueId grouped = context.reshape(windows, {x_[0], Dim(group_), Dim(inner), area});
    const ValueId w = context.reshape(context.in(1), {Dim(group_), rows, Dim(inner)});
    ValueId y = context.reshape(context.make(op::MatMul, {w, grouped}),
                                {x_[0], weight_[0], offset_[2], offset_[3]});
    if (context.has(3)) {
      const ValueId bias = context.reshape(context.in(3), {weight_[0], Dim(1), Dim(1)});
      y = context.make(op::Add, {y, bias});
    }
    context.same(0, y);
  }

 private:
  ValueId number(double x) { return context.scalar(DType::kF32, x); }
  /// Of one direction, as GridSample wants places: from -1 to 1 over the edges of the image.
  ValueId places(ValueId offsets, int64_t direction) {
    const size_t d = size_t(direction);
    const ValueId part = context.make(op::Slice, {offsets},
                                      {{attr::starts, Dims{Dim(direction)}},
                                       {attr::ends, Dims{Dim(direction + 1)}},
                                       {attr::axes, Integers{3}}});
    std::vector<double> taps;
    for (int64_t t = 0; t < taps_; t++) {
      const int64_t at = d == 0 ? t / kernel_[1] : t % kernel_[1];
      taps.push_back(double(at * dilations_[d] - pads_[d]));
    }
    const ValueId inside =
        context.constant(make_floating(DType::kF32, {1, 1, taps_, 1, 1, 1}, taps));
    Dims dims(6, Dim(1));
    dims[4 + d] = offset_[2 + d];
    const ValueId windows = context.make(
        op::Mul,
        {context.cast(context.reshape(context.counting(offset_[2 + d]), dims), DType::kF32),
         number(double(strides_[d]))});
    const ValueId at = context.make(op::Add, {context.make(op::Add, {part, inside}), windows});
    const ValueId extent = context.cast(context.extent(x_[2 + d]), DType::kF32);
    const ValueId doubled =
        context.make(op::Add, {context.make(op::Mul, {at, number(2)}), number(1)});
    return context.make(op::Sub, {context.make(op::Div, {doubled, extent}), number(1)});
  }
  ValueId sampled() {
    const ValueId offsets = context.reshape(
        context.in(2), {x_[0], Dim(parts_), Dim(taps_), Dim(2), offset_[2], offset_[3]});
    const ValueId both = context.make(op::Concat, {places(offsets, 1), places(offsets, 0)},
                                      {{attr::axis, int64_t(3)}});
    const ValueId last =
        context.make(op::Transpose, {both}, {{attr::perm, Integers{0, 1, 2, 4, 5, 3}}});
    const Dim images = x_[0] * Dim(parts_);
    const ValueId grid =
        context.reshape(last, {images, Dim(taps_) * offset_[2], offset_[3], Dim(2)});
    const ValueId image =
        context.reshape(context.in(0), {images, Dim(channels_ / parts_), x_[2], x_[3]});
    return context.make(op::GridSample, {image, grid},
                        {{attr::mode, std::string("linear")},
                         {attr::padding_mode, std::string("zeros")},
                         {attr::align_corners, int64_t(0)}});
  }

  NodeContext& context;
  Dims x_, weight_, offset_;
  Integers kernel_, dilations_, strides_, pads_;
  int64_t group_ = 1, parts_ = 1, channels_ = 0, taps_ = 0;
};
void deform_conv(NodeContext& context) { Deformable(context).run(); }

}  // namespace

void add_block_rules(InferTable& table) {
  table[op::Col2Im] = col_to_image;
  table[op::DeformConv] = deform_conv;
}

}  // namespace ingot::graph
