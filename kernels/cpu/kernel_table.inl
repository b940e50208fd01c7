// kernels/cpu/kernel_table.inl - the table of one instruction set, INGOT_ISA_TABLE, from struct V
// and the two lists of kernels. Constant data: no code runs before main, and everything but the
// table has internal linkage.
#include "kernels/cpu/isa/tables.h"
#include "kernels/cpu/products.inl"
#include "kernels/cpu/tensors.inl"

namespace ingot::cpu {
namespace {

// Each list ends with an empty row, so that a list may be empty.
constexpr uint32_t kProductCount = sizeof(kProductKernels) / sizeof(KernelEntry) - 1;
constexpr uint32_t kTensorCount = sizeof(kTensorKernels) / sizeof(KernelEntry) - 1;

struct EntryArray {
  KernelEntry rows[kProductCount + kTensorCount];
};
constexpr EntryArray concatenate_lists() {
  EntryArray all{};
  for (uint32_t i = 0; i < kProductCount; i++) all.rows[i] = kProductKernels[i];
  for (uint32_t i = 0; i < kTensorCount; i++) all.rows[kProductCount + i] = kTensorKernels[i];
  return all;
}
constexpr EntryArray kEntries = concatenate_lists();

}  // namespace

const KernelTable INGOT_ISA_TABLE = {INGOT_ISA_NAME, kEntries.rows, kProductCount + kTensorCount,
                                     nullptr, INGOT_ISA_PRODUCTS};

}  // namespace ingot::cpu
