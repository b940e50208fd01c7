// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/profile/traced_kernels.h"

#include <array>

namespace ingot::cli {
namespace {

std::array<std::vector<KernelSpan>, kMaxThreads> g_spans;

Status traced(const KernelEntry& entry, const OpArguments& arguments, const Team& team) {
  const uint64_t begin = ingot_clock_ns();
  const Status status = entry.run(arguments, team);
  std::vector<KernelSpan>& spans = g_spans[size_t(team.id)];
  if (spans.size() < spans.capacity()) spans.push_back({&arguments, begin, ingot_clock_ns()});
  return status;
}

}  // namespace

TracedKernels::TracedKernels(const ingot_kernel_table* kernels, uint32_t instructions)
    : hook_(kernels, traced, true) {
  for (std::vector<KernelSpan>& spans : g_spans) {
    spans.clear();
    spans.reserve(instructions);
  }
}

TracedKernels::~TracedKernels() {
  for (std::vector<KernelSpan>& spans : g_spans) std::vector<KernelSpan>().swap(spans);
}

const std::vector<KernelSpan>& TracedKernels::spans(int id) const { return g_spans[size_t(id)]; }

}  // namespace ingot::cli
