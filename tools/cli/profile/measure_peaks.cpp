// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/profile/measure_peaks.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/op/linear.h"

namespace ingot::cli {
namespace {

TensorView view_of(std::vector<int64_t> dims, std::vector<float>* memory,
                   Packing packing = Packing::kDense) {
  TensorView view;
  view.dtype = DType::kF32;
  view.packing = packing;
  view.rank = uint8_t(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  view.row_stride = dims.back();
  view.data = memory->data();
  return view;
}

/// Best rate of some tries of `work`, which does `amount`.
template <class Work>
double best_rate(double amount, Work work) {
  double best = 0;
  for (int i = 0; i < 12; i++) {
    const uint64_t began = ingot_clock_ns();
    work();
    const uint64_t took = ingot_clock_ns() - began;
    if (took) best = std::max(best, amount / double(took));
  }
  return best;
}

}  // namespace

Peaks measure_peaks(const ingot_kernel_table* kernels) {
  Peaks peaks;
  constexpr int64_t kRows = 168, kDepth = 256, kOutputs = 192;
  std::vector<float> x(kRows * kDepth, 0.5f), w(kOutputs * kDepth, 0.25f), y(kRows * kOutputs);
  const TensorView inputs[] = {view_of({kRows, kDepth}, &x),
                               view_of({kOutputs, kDepth}, &w, Packing::kPanels16)};
  const TensorView outputs[] = {view_of({kRows, kOutputs}, &y)};
  const LinearAttributes attributes;
  const OpArguments arguments{&attributes, inputs, outputs, 2, 1};
  const KernelEntry* entry =
      find_kernel(*reinterpret_cast<const KernelTable*>(kernels), OpCode::kLinear, arguments);
  Violation violation;
  if (entry && entry->run && entry->contract->check(arguments, &violation)) {
    const ScratchNeed need =
        entry->contract->scratch ? entry->contract->scratch(arguments, 1) : ScratchNeed{};
    std::vector<uint64_t> own(need.per_thread_bytes / 8 + 16), shared(need.shared_bytes / 8 + 16);
    const auto aligned = [](std::vector<uint64_t>& memory) {
      return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) &
                                     ~uintptr_t{63});
    };
    Team team;
    team.scratch = aligned(own), team.shared = aligned(shared);
    peaks.gflops = best_rate(2.0 * kRows * kDepth * kOutputs * 8, [&] {
      for (int i = 0; i < 8; i++) (void)entry->run(arguments, team);
    });
  }
  std::vector<char> from(48 << 20, 1), to(48 << 20);
  peaks.gbytes =
      best_rate(2.0 * double(from.size()), [&] { memcpy(to.data(), from.data(), from.size()); });
  return peaks;
}

}  // namespace ingot::cli
