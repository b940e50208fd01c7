// SPDX-License-Identifier: Apache-2.0
// tests/conformance/early_start.h - while it lives, emulated launches start while the ones before
// them run: what is no constant of the instruction is poison to them until they have waited
// (emulate::start_early()).
#pragma once
#include <vector>

#include "kernels/cuda/emulate/emulator.h"
#include "runtime/device/gpu/kernel_set.h"
#include "tests/conformance/operand_bytes.h"

namespace ingot::conformance {

class EarlyStart {
 public:
  /// Inputs behind the first are constants where `mask` has their bit.
  EarlyStart(const OpArguments& a, uint32_t mask, void* scratch, uint64_t scratch_bytes,
             GpuConstants* constants) {
    std::vector<cuda::emulate::Range> ranges;
    const auto add = [&](void* at, uint64_t bytes) {
      if (at && bytes) ranges.push_back({at, size_t(bytes)});
    };
    for (int i = 0; i < a.input_count; i++) {
      if (!a.inputs[i].present()) continue;
      if (i > 0 && i < 32 && mask >> i & 1 && !shares_memory(a, i))
        constants->add(a.inputs[i].data);
      else
        add(a.inputs[i].data, operand_bytes(a.inputs[i]));
    }
    for (int i = 0; i < a.output_count; i++) add(a.outputs[i].data, operand_bytes(a.outputs[i]));
    add(scratch, scratch_bytes);
    cuda::emulate::start_early(ranges.data(), ranges.size());
  }
  ~EarlyStart() { cuda::emulate::start_early(nullptr, 0); }
  EarlyStart(const EarlyStart&) = delete;
  EarlyStart& operator=(const EarlyStart&) = delete;

 private:
  /// With an output, or with another input, which may be none.
  static bool shares_memory(const OpArguments& a, int input) {
    const TensorView& own = a.inputs[input];
    const auto meets = [&](const TensorView& other) {
      const char *begin = static_cast<const char*>(own.data), *at = static_cast<char*>(other.data);
      return at && begin < at + operand_bytes(other) && at < begin + operand_bytes(own);
    };
    for (int i = 0; i < a.input_count; i++)
      if (i != input && meets(a.inputs[i])) return true;
    for (int i = 0; i < a.output_count; i++)
      if (meets(a.outputs[i])) return true;
    return false;
  }
};

}  // namespace ingot::conformance
