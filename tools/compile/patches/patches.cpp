// SPDX-License-Identifier: Apache-2.0
// tools/compile/patches/patches.cpp - see patches.h. Regions around the fullest step and grids of
// patches are sorted by a quick sum of live bytes; the best are laid out as they would be.
#include "tools/compile/patches/patches.h"

#include <algorithm>
#include <cstdio>

#include "runtime/op/multiply_adds.h"
#include "tools/compile/patches/candidates.h"
#include "tools/compile/patches/region.h"
#include "tools/compile/plan/in_place.h"
#include "tools/compile/plan/schedule.h"
#include "tools/compile/plan/views.h"
#include "tools/files/work_budget.h"

namespace ingot::convert {
namespace {

constexpr size_t kLaidOut = 32;            // candidates of each round that are laid out
constexpr size_t kMaxInstructions = 4096;  // of a microcontroller's core
constexpr uint32_t kMaxRounds = 4;         // regions that are computed in patches
// An instruction takes some 170 bytes of flash; a byte of RAM counts as 16 of flash.
constexpr uint64_t kRamForInstruction = 10;

double work_of(const LoweredProgram& lowered) {
  double sum = 0;
  const Bindings typical = typical_binding(lowered);
  for (const LoweredInstruction& instruction : lowered.subprograms[0].instructions)
    sum += double(multiply_adds(instruction.op(), Arguments(lowered, instruction, typical).get()));
  return sum;
}

/// As a microcontroller's core lays it out: validation keeps 8 bytes of each value in the arena
/// before the first run, and scratch has a place of 2 bytes for each instruction.
uint64_t needed_bytes(const LoweredProgram& lowered, size_t value_count,
                      const ArenaEstimate& estimate) {
  const uint64_t validation = 8 * uint64_t(value_count);
  return std::max(estimate.bytes, validation) + 2 * lowered.subprograms[0].instructions.size();
}

class ArenaReduction {
 public:
  ArenaReduction(LoweredProgram* lowered, const MinimumRam& options, MinimumRamReport* report)
      : lowered_(lowered), options_(options), report_(report) {}

  void run() {
    report_->whole_work = report_->work = work_of(*lowered_);
    for (uint32_t round = 0; round < kMaxRounds; round++) {
      const Layout now = lay_out(*lowered_);
      if (round == 0) report_->whole_bytes = now.bytes;
      if (!reduce(now)) break;
    }
    report_->work = work_of(*lowered_);
  }

 private:
  struct Layout {
    uint64_t bytes = 0;
    size_t instructions = 0;
    std::vector<int32_t> fullest;  // what the fullest step writes
    uint64_t cost() const { return bytes + kRamForInstruction * instructions; }
  };
  Layout lay_out(const LoweredProgram& program) const {
    LoweredProgram tried = program;
    ConversionReport ignored;
    host::charge_work(tried.values.size());
    eliminate_views(&tried, &ignored);
    apply_in_place(&tried);
    const ArenaEstimate estimate = estimate_arena(tried, typical_binding(tried));
    const auto& instructions = tried.subprograms[0].instructions;
    Layout layout{needed_bytes(tried, tried.values.size(), estimate), instructions.size(), {}};
    if (estimate.peak_step < instructions.size())
      layout.fullest = instructions[estimate.peak_step].outputs;
    return layout;
  }

  /// Takes the best region and grid; false where none makes the arena smaller.
  bool reduce(const Layout& now) {
    const auto& instructions = lowered_->subprograms[0].instructions;
    const auto fullest =
        std::find_if(instructions.begin(), instructions.end(),
                     [&](const LoweredInstruction& i) { return i.outputs == now.fullest; });
    if (fullest == instructions.end()) return false;
    std::vector<PatchCandidate> candidates =
        find_candidates(*lowered_, uint32_t(fullest - instructions.begin()),
                        options_.max_work * report_->whole_work - work_of(*lowered_));
    if (candidates.size() > kLaidOut) candidates.resize(kLaidOut);
    const PatchCandidate* best = nullptr;
    uint64_t best_cost = now.cost();
    for (const PatchCandidate& candidate : candidates) {
      LoweredProgram tried = *lowered_;
      compute_in_patches(&tried, candidate.region, candidate.grid);
      const Layout layout = lay_out(tried);
      if (layout.bytes < now.bytes && layout.cost() < best_cost)
        best = &candidate, best_cost = layout.cost();
    }
    if (!best) return false;
    report_->regions.push_back("'" + instructions[best->region.first].node + "' to '" +
                               instructions[best->region.last].node + "' in " +
                               std::to_string(best->grid.rows) + " x " +
                               std::to_string(best->grid.columns) + " patches");
    compute_in_patches(lowered_, best->region, best->grid);
    return true;
  }

  LoweredProgram* lowered_;
  const MinimumRam& options_;
  MinimumRamReport* report_;
};

}  // namespace

void reduce_arena(LoweredProgram* lowered, const MinimumRam& options, ConversionReport* report) {
  if (lowered->subprograms.size() != 1 ||
      lowered->subprograms[0].instructions.size() > kMaxInstructions) {
    report->notes.push_back(
        "minimum RAM: a network with branches, loops or more than 4,096 instructions is not "
        "computed in patches");
    return;
  }
  ArenaReduction(lowered, options, &report->min_ram).run();
}

void finish_min_ram(const LoweredProgram& lowered, size_t value_count, ConversionReport* report) {
  MinimumRamReport& min_ram = report->min_ram;
  if (min_ram.whole_bytes == 0) return;
  if (min_ram.regions.empty()) {
    report->notes.push_back(
        "minimum RAM: no patches make the arena smaller within the work that --max-work allows; "
        "the network is computed as a whole");
    return;
  }
  min_ram.bytes =
      needed_bytes(lowered, value_count, estimate_arena(lowered, typical_binding(lowered)));
  report->notes.push_back("minimum RAM: " + min_ram.text());
  for (const std::string& region : min_ram.regions)
    report->notes.push_back("minimum RAM: " + region);
}

std::string MinimumRamReport::text() const {
  char said[200];
  std::snprintf(said, sizeof said,
                "arena %llu of %llu bytes (%.1f %%), multiply-adds %.0f of %.0f "
                "(%.2f times)",
                static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(whole_bytes),
                100.0 * double(bytes) / double(whole_bytes), work, whole_work,
                whole_work > 0 ? work / whole_work : 1);
  return said;
}

}  // namespace ingot::convert
