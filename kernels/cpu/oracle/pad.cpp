// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/pad.cpp
#include "runtime/op/pad.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {

Status pad(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const PadAttributes& t = a.as<PadAttributes>();
  for_each_index(y, [&](const int64_t* index) {
    int64_t source[kMaxRank];
    bool inside = true;
    for (int i = 0; i < x.rank; i++) {
      const int64_t n = x.dims[i];
      int64_t at = index[i] - t.before[i];
      switch (t.mode) {
        case PadMode::kConstant: inside = inside && at >= 0 && at < n; break;
        case PadMode::kReflect: at = at < 0 ? -at : at >= n ? 2 * (n - 1) - at : at; break;
        case PadMode::kEdge: at = at < 0 ? 0 : at >= n ? n - 1 : at; break;
        case PadMode::kWrap: at = at < 0 ? at + n : at >= n ? at - n : at; break;
      }
      source[i] = at;
    }
    if (inside)
      copy_element(y, offset_of(y, index), x, offset_of(x, source));
    else if (const TensorView* value = a.optional(1))
      copy_element(y, offset_of(y, index), *value, 0);
    else
      write(y, offset_of(y, index), double(t.value));
  });
  return {};
}

}  // namespace ingot::cpu::oracle
