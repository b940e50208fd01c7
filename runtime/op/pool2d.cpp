// SPDX-License-Identifier: Apache-2.0
// runtime/op/pool2d.cpp - the contract of pooling.
#include "runtime/op/pool2d.h"

#include "runtime/op/conv_rules.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_pool2d(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kPool2dContract, {}, v) || !conv::check_f32(a, v)) return false;
  const Pool2dAttributes& t = a.as<Pool2dAttributes>();
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  if (uint8_t(t.kind) > uint8_t(PoolKind::kLp))
    return refuse(v, "pool2d.kind is known", Violation::kAttribute, 3, int64_t(t.kind));
  if (t.kind == PoolKind::kLp && t.p != 1 && t.p != 2)
    return refuse(v, "pool2d.p is 1 or 2", Violation::kAttribute, 2, t.p);
  if (!conv::check_window(conv::window_of(t), v)) return false;
  if (x.rank != 4) return refuse(v, "pool2d's x is a batch of images", 0, 4, x.rank);
  if (y.rank != 4) return refuse(v, "pool2d's y is [N,OH,OW,C]", rules::output(0), 4, y.rank);
  int64_t oh = 0, ow = 0;
  if (!conv::output_extent(x.dims[1], t.pad_top, t.pad_bottom, t.kernel_h, t.stride_h, t.dilation_h,
                           &oh) ||
      !conv::output_extent(x.dims[2], t.pad_left, t.pad_right, t.kernel_w, t.stride_w, t.dilation_w,
                           &ow))
    return refuse(v, "the window fits the padded image", Violation::kAttribute, t.kernel_h,
                  x.dims[1]);
  const int64_t want[4] = {x.dims[0], oh, ow, x.dims[3]};
  for (int i = 0; i < 4; i++)
    if (y.dims[i] != want[i])
      return refuse(v, "pool2d's y is [N,OH,OW,C]", rules::output(0), want[i], y.dims[i]);
  return true;
}

}  // namespace

const OpContract kPool2dContract = {OpCode::kPool2d, 1,       1,       1,    1,   1,
                                    check_pool2d,    nullptr, nullptr, 0x1u, 0x1u};

}  // namespace ingot
