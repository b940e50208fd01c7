// SPDX-License-Identifier: Apache-2.0
// tools/cli/doctor/doctor.h - what is wrong with a machine, and what to do about it: the findings
// of `ingot doctor`, made of facts alone.
#pragma once
#include <string>
#include <vector>

#include "tools/cli/doctor/machine_facts.h"

namespace ingot::cli {

/// One thing to know or to do.
struct Finding {
  bool is_problem;  // else: it works, and could work better
  std::string what, fix;
};

/// A GPU as the library sees it.
struct GpuReport {
  std::string name;     // "cuda:0"
  std::string product;  // "Orin"
  int sm = 0, multiprocessors = 0;
  bool is_integrated = false;
  // free: with this process's context in place; 0 where it could not be made
  int64_t total_bytes = 0, free_bytes = 0;
  // What its graphs do: kernels that start early, branches, Ifs and Loops that it decides; and why
  // not.
  std::string graphs;
  int code_sm = 0, code_compiler = 0;  // of the device code that fits: 87, 11080; 0: none does
  std::string problem, fix;            // why it cannot be used; "" when it can
};

struct GpusReport {
  int driver_version = 0;    // 12060: CUDA 12.6
  std::string problem, fix;  // of the driver as a whole
  std::string library;       // where it was found
  std::string graphs;        // INGOT_CUDA_GRAPHS, "full" where it is not set
  std::vector<GpuReport> gpus;
  std::vector<std::string> device_code;  // "87 (CUDA 11.8)"
};

/// Asks the driver; makes a context on each GPU for a moment, to learn how much memory is free.
GpusReport examine_gpus();
std::vector<Finding> gpu_findings(const MachineFacts& facts, const GpusReport& report);

std::vector<Finding> machine_findings(const MachineFacts& facts);
/// Vectors that the processor has and no kernel uses, as SVE: /proc/cpuinfo's words.
std::vector<std::string> unused_vectors(const MachineFacts& facts);
/// Of the processor that this program runs on: instruction sets built and usable.
std::vector<Finding> processor_findings(const MachineFacts& facts,
                                        const std::vector<std::string>& usable);

}  // namespace ingot::cli
