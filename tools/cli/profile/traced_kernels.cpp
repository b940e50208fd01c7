#include "tools/cli/profile/traced_kernels.h"

#include <array>
#include <utility>

namespace ingot::cli {
namespace {

constexpr size_t kMaxTracedRows = 160;  // of a table and its fallbacks; rows beyond it run untraced

std::array<Kernel, kMaxTracedRows> g_traced_kernels;
std::array<std::vector<KernelSpan>, kMaxThreads> g_spans;

template <size_t Row>
Status traced(const OpArguments& arguments, const Team& team) {
  const uint64_t begin = ingot_clock_ns();
  const Status status = g_traced_kernels[Row](arguments, team);
  std::vector<KernelSpan>& spans = g_spans[size_t(team.id)];
  if (spans.size() < spans.capacity()) spans.push_back({&arguments, begin, ingot_clock_ns()});
  return status;
}

template <size_t... Rows>
constexpr std::array<Kernel, sizeof...(Rows)> traced_rows(std::index_sequence<Rows...>) {
  return {traced<Rows>...};
}
constexpr std::array<Kernel, kMaxTracedRows> kTraced =
    traced_rows(std::make_index_sequence<kMaxTracedRows>());

}  // namespace

TracedKernels::TracedKernels(const ingot_kernel_table* kernels, uint32_t instructions) {
  const auto* first = reinterpret_cast<const KernelTable*>(kernels);
  for (const KernelTable* table = first; table; table = table->fallback)
    rows_.insert(rows_.end(), table->entries, table->entries + table->entry_count);
  for (size_t row = 0; row < rows_.size() && row < kMaxTracedRows; row++) {
    if (!rows_[row].run) continue;
    g_traced_kernels[row] = rows_[row].run;
    rows_[row].run = kTraced[row];
  }
  for (std::vector<KernelSpan>& spans : g_spans) {
    spans.clear();
    spans.reserve(instructions);
  }
  table_ = {first->isa, rows_.data(), uint32_t(rows_.size()), nullptr};
}

TracedKernels::~TracedKernels() {
  for (std::vector<KernelSpan>& spans : g_spans) std::vector<KernelSpan>().swap(spans);
}

const std::vector<KernelSpan>& TracedKernels::spans(int id) const { return g_spans[size_t(id)]; }

}  // namespace ingot::cli
