// SPDX-License-Identifier: Apache-2.0
// tests/compile/make_kernel_table.cpp - make_kernel_table OUT.cpp: what `ingot kernels` writes for
// the model of firmware_model.h.
#include <cstdio>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/compile/firmware_model.h"
#include "tests/compile/interpreter.h"
#include "tools/compile/emit/kernel_table_source.h"

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  try {
    const std::vector<std::string> names = ingot::convert::kernels_of_file(
        ingot::convert::firmware_model(), *ingot::cpu_kernels("scalar"));
    const std::string source =
        ingot::convert::kernel_table_source("firmware_model \\ \n", "scalar", names);
    std::FILE* file = std::fopen(argv[1], "wb");
    if (!file) return 1;
    const bool written = std::fwrite(source.data(), 1, source.size(), file) == source.size();
    return std::fclose(file) == 0 && written ? 0 : 1;
  } catch (const ingot::graph::ConversionError& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
  }
}
