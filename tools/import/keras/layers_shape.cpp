// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_shape.cpp - what changes extents and order alone: Flatten, Reshape,
// Permute, padding, cropping, upsampling.
#include <algorithm>

#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

using graph::Dim;
using graph::Dims;

void flatten(LayerCall& call) {
  const bool last = call.channels_last();
  const ValueId x = call.input();
  if (!last && call.rank() > 2)
    call.refuse("data_format", "channels_first is not built of Flatten");
  Dim rest(1);
  for (int64_t d = 1; d < call.rank(); d++) rest = rest * call.b.dims(x)[size_t(d)];
  call.give(call.b.reshape(x, Dims{call.b.dims(x)[0], rest}));
}

void reshape(LayerCall& call) {
  const Json* shape = call.field("target_shape");
  if (!shape || !shape->is_array()) call.corrupt("lacks its target_shape");
  Dims dims = {call.b.dims(call.input())[0]};
  int64_t known = 1, open = -1;
  for (const Json& item : *shape) {
    if (!item.is_number_integer()) call.corrupt("its target_shape holds what is no whole number");
    const int64_t n = item.get<int64_t>();
    if (n < 0 && open >= 0) call.corrupt("its target_shape has two extents of -1");
    if (n < 0) open = int64_t(dims.size());
    if (n >= 0 && (n > (int64_t{1} << 31) || __builtin_mul_overflow(known, n, &known)))
      call.corrupt("its target_shape overflows");
    dims.push_back(Dim(n < 0 ? 1 : n));
  }
  if (open >= 0) {
    if (known == 0) call.corrupt("its target_shape has an extent of -1 beside one of 0");
    Dim rest(1);
    for (int64_t d = 1; d < call.rank(); d++) rest = rest * call.b.dims(call.input())[size_t(d)];
    dims[size_t(open)] = rest / Dim(known);
  }
  call.give(call.b.reshape(call.input(), dims));
}

void permute(LayerCall& call) {
  const Json* dims = call.field("dims");
  std::vector<int64_t> perm = {0};
  if (dims && dims->is_array())
    for (const Json& item : *dims)
      if (item.is_number_integer()) perm.push_back(item.get<int64_t>());
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); i++)
    if (sorted[i] != int64_t(i) || int64_t(sorted.size()) != call.rank())
      call.corrupt("its dims are no order of its input's");
  call.give(call.b.transpose(call.input(), perm));
}

void repeat_vector(LayerCall& call) {
  call.expect_rank(2);
  const int64_t n = call.integer("n", 1);
  const Dims dims = call.b.dims(call.input());
  const ValueId x = call.b.reshape(call.input(), Dims{dims[0], Dim(1), dims[1]});
  call.give(call.b.expand(x, Dims{dims[0], Dim(n), dims[1]}));
}

/// ((top, bottom), (left, right)), (rows, columns) or one number, as begin and end per dimension.
std::vector<std::pair<int64_t, int64_t>> borders(LayerCall& call, const char* key, size_t spatial) {
  const std::vector<double> flat = call.numbers_of(key);
  std::vector<std::pair<int64_t, int64_t>> out(spatial);
  for (const double n : flat)
    if (n < 0 || n > (1 << 24) || n != double(int64_t(n)))
      call.corrupt(std::string("'") + key + "' holds " + std::to_string(n));
  for (size_t i = 0; i < spatial; i++) {
    if (flat.size() == 2 * spatial)
      out[i] = {int64_t(flat[2 * i]), int64_t(flat[2 * i + 1])};
    else if (flat.size() == spatial)
      out[i] = {int64_t(flat[i]), int64_t(flat[i])};
    else if (flat.size() == 1)
      out[i] = {int64_t(flat[0]), int64_t(flat[0])};
    else
      call.corrupt(std::string("'") + key + "' has " + std::to_string(flat.size()) + " numbers");
  }
  return out;
}

template <size_t spatial>
void zero_padding(LayerCall& call) {
  call.expect_rank(int64_t(spatial) + 2);
  const bool last = call.channels_last();
  const auto border = borders(call, "padding", spatial);
  std::vector<int64_t> pads(2 * (spatial + 2), 0);
  for (size_t i = 0; i < spatial; i++) {
    pads[i + 2] = border[i].first;
    pads[i + 2 + spatial + 2] = border[i].second;
  }
  const ValueId x =
      call.b.emit(op::Pad, {call.to_channels_first(call.input(), last), call.b.integers(pads)},
                  {{attr::mode, std::string("constant")}});
  call.give(call.from_channels_first(x, last));
}

template <size_t spatial>
void cropping(LayerCall& call) {
  call.expect_rank(int64_t(spatial) + 2);
  const int64_t first = call.channels_last() ? 1 : 2;
  const auto border = borders(call, "cropping", spatial);
  ValueId x = call.input();
  for (size_t i = 0; i < spatial; i++) {
    const int64_t axis = first + int64_t(i);
    x = call.b.slice(x, axis, Dim(border[i].first),
                     call.b.dims(x)[size_t(axis)] - Dim(border[i].second));
  }
  call.give(x);
}

template <size_t spatial>
void upsampling(LayerCall& call) {
  call.expect_rank(int64_t(spatial) + 2);
  const std::vector<int64_t> size = call.integers("size", spatial, 2);
  const bool last = spatial == 1 || call.channels_last();
  const std::string how = call.text("interpolation", "nearest");
  if (how != "nearest" && how != "bilinear" && how != "bicubic")
    call.refuse("interpolation", "'" + how + "', built are nearest, bilinear and bicubic");
  std::vector<float> scales = {1, 1};
  for (const int64_t n : size) {
    if (n < 1) call.corrupt("its size has an extent below 1");
    scales.push_back(float(n));
  }
  const ValueId factors =
      call.b.constant(graph::make_constant(DType::kF32, {int64_t(scales.size())}, scales.data()));
  const ValueId x =
      call.b.emit(op::Resize, {call.to_channels_first(call.input(), last), graph::kAbsent, factors},
                  {{attr::mode, std::string(how == "nearest"    ? "nearest"
                                            : how == "bilinear" ? "linear"
                                                                : "cubic")},
                   {attr::coordinate_transformation_mode,
                    std::string(how == "nearest" ? "asymmetric" : "half_pixel")},
                   {attr::nearest_mode, std::string("floor")},
                   {attr::cubic_coeff_a, -0.5},
                   {attr::exclude_outside, int64_t(0)}});
  call.give(call.from_channels_first(x, last));
}

}  // namespace

void add_shapes(TranslateTable& table) {
  table["Flatten"] = flatten;
  table["Reshape"] = reshape;
  table["Permute"] = permute;
  table["RepeatVector"] = repeat_vector;
  table["ZeroPadding1D"] = zero_padding<1>;
  table["ZeroPadding2D"] = zero_padding<2>;
  table["ZeroPadding3D"] = zero_padding<3>;
  table["Cropping1D"] = cropping<1>;
  table["Cropping2D"] = cropping<2>;
  table["Cropping3D"] = cropping<3>;
  table["UpSampling1D"] = upsampling<1>;
  table["UpSampling2D"] = upsampling<2>;
  table["UpSampling3D"] = upsampling<3>;
}

}  // namespace ingot::keras
