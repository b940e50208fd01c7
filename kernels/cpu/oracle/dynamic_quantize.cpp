// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/dynamic_quantize.cpp - floats to bytes by what they hold, as
// runtime/op/dynamic_quantize.h says, one number at a time.
#include "runtime/op/dynamic_quantize.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/dynamic_range.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
Status dynamic_quantize(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const DynamicQuantizeAttributes& t = a.as<DynamicQuantizeAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0], &steps = a.outputs[1];
  const int inner = x.rank - int(t.axis);
  int64_t group = 0;
  for_each_index(x.dims, int(t.axis), [&](const int64_t* outer) {
    int64_t at[kMaxRank] = {};
    for (uint32_t i = 0; i < t.axis; i++) at[i] = outer[i];
    const auto each = [&](auto use) {
      for_each_index(x.dims + t.axis, inner, [&](const int64_t* index) {
        for (int i = 0; i < inner; i++) at[int(t.axis) + i] = index[i];
        use(x.as<const float>()[offset_of(x, at)]);
      });
    };
    Group g;
    each([&](float v) { g.add(v); });
    const GroupNumbers n = numbers_of(t.range, g);
    steps.as<float>()[2 * group] = n.scale;
    steps.as<float>()[2 * group + 1] = n.zero + (t.range == DynamicRange::kFull ? 0.0f : 128.0f);
    group++;
    each([&](float v) { y.as<uint8_t>()[offset_of(y, at)] = uint8_t(byte_of(t.range, g, n, v)); });
  });
  return {};
}

}  // namespace ingot::cpu::oracle
