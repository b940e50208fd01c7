// SPDX-License-Identifier: Apache-2.0
// tools/cli/profile/traced_kernels.h - kernels that note when each thread of the team enters and
// leaves them, for --profile. The library tells the calling thread what ran; who helped, and for
// how long, only the kernels see. Costs two clock readings an instruction and thread. One object at
// a time; threads write to places of their own.
#pragma once
#include <cstdint>
#include <vector>

#include "tools/diagnose/program/kernel_hook.h"

namespace ingot::cli {

struct KernelSpan {
  const void* arguments;  // the argument block: one for each instruction of a session
  uint64_t begin_ns, end_ns;
};

class TracedKernels {
 public:
  /// `instructions`: about how many a run has, so that nothing is allocated while it runs.
  TracedKernels(const ingot_kernel_table* kernels, uint32_t instructions);
  ~TracedKernels();
  TracedKernels(const TracedKernels&) = delete;
  TracedKernels& operator=(const TracedKernels&) = delete;
  const ingot_kernel_table* table() const { return hook_.table(); }
  /// What member `id` of the team ran, 0: the calling thread.
  const std::vector<KernelSpan>& spans(int id) const;

 private:
  KernelHook hook_;
};

}  // namespace ingot::cli
