// SPDX-License-Identifier: Apache-2.0
// runtime/op/gather.h - reading and writing by index tensors (i32 or i64, negative counts from the
// end); a bad index is kBadIndexValue.
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

struct GatherAttributes {
  uint32_t axis = 0;
};
struct GatherElementsAttributes {
  uint32_t axis = 0;
};
struct GatherNdAttributes {
  uint32_t batch_dims = 0;
};
enum class ScatterReduction : uint8_t { kNone = 0, kAdd = 1, kMul = 2, kMax = 3, kMin = 4 };
struct ScatterNdAttributes {
  ScatterReduction reduction = ScatterReduction::kNone;
};
struct ScatterElementsAttributes {
  uint32_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
};
// data, indices -> dims of data with axis replaced by those of indices
extern const OpContract kGatherContract;
extern const OpContract kGatherElementsContract;  // data, indices -> dims of indices
extern const OpContract kGatherNdContract;
extern const OpContract kScatterNdContract;  // data, indices, updates -> dims of data
extern const OpContract kScatterElementsContract;

}  // namespace ingot
