// tools/cli/doctor.h - what is wrong with a machine, and what to do about it: the findings of `ingot doctor`, made of facts alone.
#pragma once
#include <string>
#include <vector>

#include "tools/cli/machine_facts.h"

namespace ingot::cli {

/// One thing to know or to do.
struct Finding {
  bool is_problem;  // else: it works, and could work better
  std::string what, fix;
};

/// A GPU as the library sees it.
struct GpuReport {
  std::string name, why;  // "cuda:0"; why it cannot be used
  bool exists = false;
};

std::vector<Finding> machine_findings(const MachineFacts& facts);
/// Of the processor that this program runs on: instruction sets built and usable.
std::vector<Finding> processor_findings(const MachineFacts& facts, const std::vector<std::string>& usable);

}  // namespace ingot::cli
