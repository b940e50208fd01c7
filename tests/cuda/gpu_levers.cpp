// SPDX-License-Identifier: Apache-2.0
// tests/cuda/gpu_levers.cpp - what a GPU that is not here is predicted to take for files, with all
// that sessions have and without each of four changes: gpu_levers GPU FILE.. prints a line for each
// file and change.
#include <cstdio>
#include <exception>
#include <iterator>

#include "tools/diagnose/gpu_cost/predict.h"

using namespace ingot;

int main(int argc, char** argv) try {
  gpu_cost::Without changes[5];
  changes[1].early_weights = changes[2].loads = changes[3].large_tiles = true;
  changes[4].last_block = true;
  const gpu_cost::GpuModel* gpu = argc > 2 ? gpu_cost::find_gpu_model(argv[1]) : nullptr;
  if (!gpu) {
    fprintf(stderr, "gpu_levers: GPU FILE..; GPUs: %s\n", gpu_cost::known_gpu_models().c_str());
    return 1;
  }
  for (int file = 2; file < argc; file++) {
    const cli::ProgramView view(argv[file], {});
    for (size_t i = 0; i < std::size(changes); i++) {
      const gpu_cost::ProgramCost cost = gpu_cost::predict(view, *gpu, changes[i]);
      size_t large = 0, sums = 0;
      for (const gpu_cost::InstructionCost& instruction : cost.instructions)
        for (const char* kernel : instruction.kernels) {
          large += std::string(kernel).find("128x128") != std::string::npos;
          sums += std::string(kernel).find("add_splits") != std::string::npos;
        }
      printf("%s\t%zu\t%.1f\t%zu\t%zu\t%zu\n", argv[file], i, cost.ns, cost.launches, large, sums);
    }
  }
  return 0;
} catch (const std::exception& e) {
  fprintf(stderr, "gpu_levers: %s\n", e.what());
  return 1;
}
