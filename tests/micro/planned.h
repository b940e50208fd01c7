// SPDX-License-Identifier: Apache-2.0
// tests/micro/planned.h - small files with a plan in them, as a microcontroller's core wants it:
// every value with storage of its own has a place of its own.
#pragma once
#include "runtime/base/checked_math.h"
#include "tests/format/refuse_table.h"

namespace ingot::test {

/// The file as it is where extents are open or a size is none.
inline convert::FileSpec with_plan(convert::FileSpec file) {
  convert::PlanSpec plan;
  for (const convert::ValueSpec& v : file.program.values) {
    TensorType type;
    type.dtype = v.dtype, type.rank = uint8_t(v.dims.size());
    for (size_t i = 0; i < v.dims.size() && i < size_t(kMaxRank); i++) type.dims[i] = v.dims[i];
    type.row_stride = v.row_stride ? v.row_stride : type.row_length();
    uint64_t bytes = 0;
    if (v.kind == ValueKind::kConstant || v.alias != AliasKind::kNone) {
      plan.offsets.push_back(kNoOffset);
      continue;
    }
    if (!storage_bytes(type, &bytes) || bytes > (1 << 20)) return file;
    plan.offsets.push_back(plan.bytes);
    plan.bytes += uint64_t(round_up(int64_t(bytes), file.program.alignment));
  }
  file.program.plan = plan;
  return file;
}

/// The refuse table over such files.
inline const RefuseTable& planned_table() {
  static const RefuseTable table = refuse_table_of(with_plan);
  return table;
}

}  // namespace ingot::test
