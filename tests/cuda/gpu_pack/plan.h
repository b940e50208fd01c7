// SPDX-License-Identifier: Apache-2.0
// tests/cuda/gpu_pack/plan.h - what a pack does, in its order: parts, each of jobs, each a process.
// The figures of most worth come first, what can hang the GPU comes last.
#pragma once
#include <string>
#include <vector>

#include "tests/cuda/gpu_pack/children.h"

namespace ingot::pack {

/// One process. Its log is WORK/logs/PART.NAME.log.
struct Job {
  std::string name;
  std::vector<std::string> words;
  Environment environment = {};
  std::vector<std::string> needs = {};  // files that other jobs make
  std::string progress = {};            // of a shard: begun again while it gets on
  std::string skip = {};                // why it cannot run here
  double limit = 600;                   // seconds
  bool retreats = false;                // a failure is tried again with less of the driver's graphs
  int skipped_exit = 77, nothing_exit = -1;  // exits that are no failure
};

struct Part {
  std::string name, what;
  double floor = 2;   // seconds below which it is not begun: cold starts
  double weight = 1;  // its share of the time that is left
  int parallel = 1;
  bool needs_gpu = true;
  std::vector<Job> jobs = {};
};

/// A network at a batch and a precision.
struct Network {
  std::string name, precision, file, inputs;
  int batch = 1;
  std::vector<std::string> shapes = {};
  bool is_seeded = false;
  std::string key() const { return name + "." + precision + ".b" + std::to_string(batch); }
};

struct Setting {
  std::string pack, work;     // folders
  std::string architecture;   // "sm_90"
  std::string predicted_as;   // name of the cost model's GPU: "h200", or sm_90
  bool is_exclusive = false;  // one process at a time on the GPU
  int processors = 1;
};

/// Of PACK/models.txt: lines "name precisions batches shapes...".
std::vector<Network> read_networks(const Setting& setting);
/// Jobs of the CPU that make the networks without weights, and predict each: while other parts have
/// the GPU.
Part plan_networks(const Setting& setting, const std::vector<Network>& networks);
/// All others, in their order.
std::vector<Part> plan_parts(const Setting& setting, const std::vector<Network>& networks);

/// Which graphs are tried one after the other (runtime/device/cuda/driver.h).
constexpr const char* kRungs[] = {"full", "ordered", "serial", "host", "none"};

/// PACK_NAME of the environment, for rehearsals; else `otherwise`.
std::string option(const char* name, const std::string& otherwise);
/// Of PATH and the folders of toolkits; "" where it is not here.
std::string find_program(const std::string& name);

}  // namespace ingot::pack
