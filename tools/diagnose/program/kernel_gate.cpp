#include "tools/diagnose/program/kernel_gate.h"

#include <array>
#include <utility>

namespace ingot::cli {
namespace {

constexpr size_t kMaxGatedRows = 160;  // rows beyond it are always wanted

std::array<Kernel, kMaxGatedRows> g_gated_kernels;
std::vector<bool> g_wanted;
size_t g_next = 0;

template <size_t Row>
Status gated(const OpArguments& arguments, const Team& team) {
  const size_t at = g_next++;
  return at >= g_wanted.size() || g_wanted[at] ? g_gated_kernels[Row](arguments, team) : Status();
}

template <size_t... Rows>
constexpr std::array<Kernel, sizeof...(Rows)> gated_rows(std::index_sequence<Rows...>) {
  return {gated<Rows>...};
}
constexpr std::array<Kernel, kMaxGatedRows> kGated =
    gated_rows(std::make_index_sequence<kMaxGatedRows>());

}  // namespace

KernelGate::KernelGate(const ingot_kernel_table* kernels, std::vector<bool> wanted) {
  const auto* first = reinterpret_cast<const KernelTable*>(kernels);
  for (const KernelTable* table = first; table; table = table->fallback)
    rows_.insert(rows_.end(), table->entries, table->entries + table->entry_count);
  for (size_t row = 0; row < rows_.size() && row < kMaxGatedRows; row++) {
    if (!rows_[row].run) continue;
    g_gated_kernels[row] = rows_[row].run;
    rows_[row].run = kGated[row];
  }
  table_ = {first->isa, rows_.data(), uint32_t(rows_.size()), nullptr};
  g_wanted = std::move(wanted);
  g_next = 0;
}

}  // namespace ingot::cli
