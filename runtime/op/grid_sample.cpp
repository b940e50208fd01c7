// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/grid_sample.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_grid_sample(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kGridSampleContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &grid = a.inputs[1], &y = a.outputs[0];
  const GridSampleAttributes& t = a.as<GridSampleAttributes>();
  if (uint8_t(t.mode) > uint8_t(GridMode::kCubic))
    return rules::refuse(v, "grid_sample.mode is known", Violation::kAttribute, 2, int64_t(t.mode));
  if (uint8_t(t.padding) > uint8_t(GridPadding::kReflection))
    return rules::refuse(v, "grid_sample.padding is known", Violation::kAttribute, 2,
                         int64_t(t.padding));
  if (!rules::check_same_dtype(x, y, rules::output(0), v)) return false;
  if (t.mode != GridMode::kNearest && x.dtype != DType::kF32)
    return rules::refuse(v, "linear and cubic grid_sample take f32", 0, int64_t(DType::kF32),
                         int64_t(x.dtype));
  if (grid.dtype != DType::kF32)
    return rules::refuse(v, "the grid is f32", 1, int64_t(DType::kF32), int64_t(grid.dtype));
  if (x.rank < 3 || x.rank > 2 + kMaxGridDims)
    return rules::refuse(v, "grid_sample has 1 to 3 spatial dimensions", 0, 2 + kMaxGridDims,
                         x.rank);
  if (grid.rank != x.rank)
    return rules::refuse(v, "the grid has the rank of x", 1, x.rank, grid.rank);
  if (y.rank != x.rank)
    return rules::refuse(v, "grid_sample keeps the rank", rules::output(0), x.rank, y.rank);
  const int last = x.rank - 1;
  if (grid.dims[last] != x.rank - 2)
    return rules::refuse(v, "the grid names one place a spatial dimension", 1, x.rank - 2,
                         grid.dims[last]);
  if (grid.dims[0] != x.dims[0])
    return rules::refuse(v, "the grid has the batch of x", 1, x.dims[0], grid.dims[0]);
  if (y.dims[last] != x.dims[last])
    return rules::refuse(v, "grid_sample keeps the channels", rules::output(0), x.dims[last],
                         y.dims[last]);
  for (int i = 0; i < last; i++)
    if (y.dims[i] != grid.dims[i])
      return rules::refuse(v, "y has the places of the grid", rules::output(0), grid.dims[i],
                           y.dims[i]);
  for (int i = 1; i < last; i++) {
    if (x.dims[i] > kMaxGridExtent)
      return rules::refuse(v, "grid_sample extents fit 24 bits", 0, kMaxGridExtent, x.dims[i]);
    if (x.dims[i] == 0 && y.elements() != 0)
      return rules::refuse(v, "grid_sample cannot read an empty dimension", 0, 1, 0);
  }
  return true;
}

}  // namespace

const OpContract kGridSampleContract = {OpCode::kGridSample, 1,       2,       2, 1, 1,
                                        check_grid_sample,   nullptr, nullptr, 3, 1};

}  // namespace ingot
