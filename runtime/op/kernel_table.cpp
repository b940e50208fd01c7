// SPDX-License-Identifier: Apache-2.0
// runtime/op/kernel_table.cpp - looks rows up, at load only.
#include "runtime/op/contract.h"

namespace ingot {

const KernelEntry* find_kernel(const KernelTable& table, OpCode op, const OpArguments& arguments) {
  for (const KernelTable* t = &table; t; t = t->fallback)
    for (uint32_t i = 0; i < t->entry_count; i++) {
      const KernelEntry& row = t->entries[i];
      if (row.op == op && (!row.supports || row.supports(arguments))) return &row;
    }
  return nullptr;
}

const KernelEntry* find_row(const KernelTable& table, OpCode op) {
  for (const KernelTable* t = &table; t; t = t->fallback)
    for (uint32_t i = 0; i < t->entry_count; i++)
      if (t->entries[i].op == op) return &t->entries[i];
  return nullptr;
}

}  // namespace ingot
