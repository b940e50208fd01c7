// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/program/kernel_hook.h"

#include <array>
#include <utility>

namespace ingot::cli {
namespace {

constexpr size_t kMaxHookedRows = 256;  // rows beyond it are called directly

std::array<KernelEntry, kMaxHookedRows> g_hooked;
KernelHook::Call g_call;

template <size_t Row>
Status hooked(const OpArguments& arguments, const Team& team) {
  return g_call(g_hooked[Row], arguments, team);
}

template <size_t... Rows>
constexpr std::array<Kernel, sizeof...(Rows)> hooked_rows(std::index_sequence<Rows...>) {
  return {hooked<Rows>...};
}
constexpr std::array<Kernel, kMaxHookedRows> kHooked =
    hooked_rows(std::make_index_sequence<kMaxHookedRows>());

}  // namespace

KernelHook::KernelHook(const ingot_kernel_table* kernels, Call call, bool as_it_is) {
  const auto* first = reinterpret_cast<const KernelTable*>(kernels);
  for (const KernelTable* table = first; table; table = table->fallback)
    rows_.insert(rows_.end(), table->entries, table->entries + table->entry_count);
  has_all_ = rows_.size() <= kMaxHookedRows;
  for (size_t row = 0; row < rows_.size() && row < kMaxHookedRows; row++) {
    if (!rows_[row].run) continue;
    g_hooked[row] = rows_[row];
    rows_[row].run = kHooked[row];
  }
  table_ = {first->isa, rows_.data(), uint32_t(rows_.size()), nullptr, first->products_per_ns};
  table_.takes_bf16_weights = as_it_is && first->takes_bf16_weights;
  g_call = std::move(call);
}

}  // namespace ingot::cli
