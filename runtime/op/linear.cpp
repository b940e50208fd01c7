// runtime/op/linear.cpp - the contract of a product with constant weights.
#include "runtime/op/linear.h"

#include "runtime/op/conv_rules.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_linear(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kLinearContract, {0x3u, 1u, 0x6u}, v) || !conv::check_f32(a, v))
    return false;
  const TensorType &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  if (x.rank < 1) return refuse(v, "linear's x has a last dimension", 0, 1, 0);
  if (w.rank != 2) return refuse(v, "linear's weights are [O, K]", 1, 2, w.rank);
  if (!conv::check_epilogue(a.as<LinearAttributes>().activation, v)) return false;
  const int64_t dims[2] = {w.dims[0], x.dims[x.rank - 1]};
  if (!conv::check_weights(w, 1, Packing::kPanels16, dims, 2, v) ||
      !conv::check_bias(a.optional(2), 2, w.dims[0], v))
    return false;
  if (y.rank != x.rank)
    return refuse(v, "linear's y is [..., O]", rules::output(0), x.rank, y.rank);
  for (int i = 0; i < y.rank; i++) {
    const int64_t want = i + 1 < x.rank ? x.dims[i] : w.dims[0];
    if (y.dims[i] != want)
      return refuse(v, "linear's y is [..., O]", rules::output(0), want, y.dims[i]);
  }
  if (const TensorView* residual = a.optional(3))
    if (!rules::check_same_dims(y, *residual, 3, v)) return false;
  return true;
}

uint32_t linear_in_place(const OpArguments& a) {
  const TensorView* residual = a.optional(3);
  return residual && rules::overlays(*residual, a.outputs[0]) ? 1u << 3 : 0u;
}

}  // namespace

const OpContract kLinearContract = {OpCode::kLinear, 1,       2,    4,   1, 1, check_linear,
                                    linear_in_place, nullptr, 0x9u, 0x1u};

}  // namespace ingot
