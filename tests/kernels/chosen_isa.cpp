// SPDX-License-Identifier: Apache-2.0
// tests/kernels/chosen_isa.cpp - prints the instruction set that this processor gets. Run under
// emulated processors, tests/kernels/CMakeLists.txt says which one each of them has to get.
#include <cstdio>

#include "kernels/cpu/cpu_kernels.h"

int main() {
  const ingot::KernelTable* const table = ingot::cpu_kernels(nullptr);
  if (!table) return std::puts("none"), 1;
  std::puts(table->isa);
  return 0;
}
