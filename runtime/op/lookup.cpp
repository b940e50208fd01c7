// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/lookup.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_lookup(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kLookupContract, {}, v)) return false;
  const TensorType &x = a.inputs[0], &table = a.inputs[1], &y = a.outputs[0];
  const bool is_int16 = x.dtype == DType::kI16;
  if (x.dtype != DType::kU8 && !is_int16)
    return refuse(v, "lookup takes u8 or i16", 0, int64_t(DType::kU8), int64_t(x.dtype));
  const int64_t count = is_int16 ? 65536 : 256;
  if (table.rank != 1 || table.dims[0] != count)
    return refuse(v, "lookup's table has an element for each number of x", 1, count,
                  table.rank == 1 ? int64_t{table.dims[0]} : -1);
  return rules::check_same_dtype(x, table, 1, v) &&
         rules::check_same_dtype(x, y, rules::output(0), v) &&
         rules::check_same_dims(x, y, rules::output(0), v);
}

}  // namespace

const OpContract kLookupContract = {OpCode::kLookup,       1,       2,    2,   1, 1, check_lookup,
                                    rules::in_place_first, nullptr, 0x1u, 0x1u};

}  // namespace ingot
