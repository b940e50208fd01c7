// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/copy.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

/// The bits of a number as those of another type. A bool has two values, not all bits.
bool keeps_bits(const TensorType& x, const TensorType& y) {
  return x.dtype != DType::kBool && y.dtype != DType::kBool &&
         dtype_bytes(x.dtype) == dtype_bytes(y.dtype);
}

bool check_copy(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kCopyContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  if (!keeps_bits(x, y) && !rules::check_same_dtype(x, y, rules::output(0), v)) return false;
  if (x.elements() != y.elements())
    return rules::refuse(v, "copy keeps the number of elements", rules::output(0), x.elements(),
                         y.elements());
  return true;
}

uint32_t copy_in_place(const OpArguments& a) {
  return rules::overlays(a.inputs[0], a.outputs[0]) ||
                 (a.inputs[0].is_dense() && a.outputs[0].is_dense())
             ? 1u
             : 0u;
}

bool check_tile(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kTileContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  if (!rules::check_same_dtype(x, y, rules::output(0), v)) return false;
  if (x.rank != y.rank)
    return rules::refuse(v, "tile keeps the rank", rules::output(0), x.rank, y.rank);
  for (int i = 0; i < x.rank; i++) {
    if (x.dims[i] == 0 ? y.dims[i] != 0 : y.dims[i] % x.dims[i] != 0)
      return rules::refuse(v, "tile's output is a multiple of the input", rules::output(0),
                           x.dims[i], y.dims[i]);
  }
  return true;
}

}  // namespace

const OpContract kCopyContract = {OpCode::kCopy, 1,       1, 1, 1, 1, check_copy,
                                  copy_in_place, nullptr, 1, 1};
const OpContract kTileContract = {OpCode::kTile, 1, 1, 1, 1, 1, check_tile, nullptr, nullptr, 1, 1};

}  // namespace ingot
