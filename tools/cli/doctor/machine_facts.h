// SPDX-License-Identifier: Apache-2.0
// tools/cli/doctor/machine_facts.h - what a Linux machine says of itself in files: system,
// processor, memory, Jetson board, power mode, clocks. Nothing is run and nothing needs root. All
// paths are below a root, so that a copy of another machine's files can be read.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::cli {

/// A device whose frequency the kernel governs: the GPU of a Jetson, or the processor.
struct Clock {
  std::string name, governor;
  // limit: what the power mode or a governor allows now; 0: unknown
  int64_t now_hz = 0, most_hz = 0, limit_hz = 0;
};

/// Empty strings and zeros: the machine does not say.
struct MachineFacts {
  std::string system, kernel;  // "Ubuntu 22.04.5 LTS", "5.15.148-tegra"
  int64_t page_bytes = 0;
  std::string processor;              // "Cortex-A78AE", or the processor's model name
  std::vector<std::string> features;  // flags of /proc/cpuinfo
  int online_processors = 0, present_processors = 0;
  int64_t memory_bytes = 0, available_bytes = 0, swap_bytes = 0;
  std::string huge_pages;                 // "madvise", "always", "never"
  int overcommit = 0;                     // vm.overcommit_memory
  std::string board;                      // "NVIDIA Jetson Orin Nano Developer Kit"
  std::string l4t;                        // "36.4.3", of /etc/nv_tegra_release
  int jetpack = 0;                        // 5, 6, 7, told from L4T
  std::string jetpack_package;            // "6.2+b77" where the package nvidia-jetpack is installed
  std::string kernel_driver;              // "580.65.06" of a desktop's kernel module
  std::vector<std::string> closed_nodes;  // device files of the GPU that this user may not open
  bool has_gpu_nodes = false;
  int power_mode = -1;  // nvpmodel's number
  std::string power_mode_name, full_power_name;
  int full_power_mode = -1;  // the mode without a budget, where the board has one
  std::vector<Clock> clocks;
};

/// @param root "/" for this machine; else a folder with copies of etc, proc, sys, dev, var
MachineFacts read_machine(const std::string& root);

}  // namespace ingot::cli
