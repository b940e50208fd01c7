// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_resize.cpp - images of another size.
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

template <bool nearest>
void resize(Call& call) {
  call.expect_rank(0, 4);
  const graph::Dims wanted = call.known_dims(1, "size");
  if (wanted.size() != 2)
    call.corrupt("its size has " + std::to_string(wanted.size()) + " extents");
  const bool corners = call.flag("align_corners"), half = call.flag("half_pixel_centers");
  if (corners && half) call.corrupt("has align_corners and half_pixel_centers");
  aten::Builder& b = call.b;
  const ValueId x = call.channels_second(call.input(0));
  const graph::Dims in = b.dims(x);
  std::vector<ValueId> sizes;
  for (const graph::Dim& d : {in[0], in[1], wanted[0], wanted[1]})
    sizes.push_back(b.reshape(b.extent(d), {graph::Dim(1)}));
  const ValueId size = b.emit(op::Concat, sizes, {{attr::axis, int64_t(0)}});
  // Nearest pixels by LiteRT's arithmetic: of 8 bits without an option in fixed point.
  const bool fixed = b.dtype(x) == DType::kI8 || b.dtype(x) == DType::kU8;
  const std::string linear = corners ? "align_corners"
                             : half  ? "half_pixel"
                                     : "asymmetric",
                    coordinate = !nearest  ? linear
                                 : corners ? "align_corners_multiplied"
                                 : half    ? "tf_half_pixel_multiplied"
                                 : fixed   ? "asymmetric_fixed_point"
                                           : "asymmetric_multiplied";
  call.give(call.channels_last(b.emit(op::Resize, {x, kAbsent, kAbsent, size},
                                      {{attr::mode, std::string(nearest ? "nearest" : "linear")},
                                       {attr::coordinate_transformation_mode, coordinate},
                                       {attr::nearest_mode, std::string("floor")},
                                       {attr::cubic_coeff_a, -0.75},
                                       {attr::exclude_outside, int64_t(0)}})));
}

}  // namespace

void add_resize(TranslateTable& table) {
  table["RESIZE_BILINEAR"] = {2, 2, resize<false>};
  table["RESIZE_NEAREST_NEIGHBOR"] = {2, 2, resize<true>};
}

}  // namespace ingot::tflite
