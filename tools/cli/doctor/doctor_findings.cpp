// SPDX-License-Identifier: Apache-2.0
// tools/cli/doctor/doctor_findings.cpp - from facts to advice. Each finding names its own remedy.
#include <algorithm>

#include "tools/cli/doctor/doctor.h"

namespace ingot::cli {
namespace {

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string megahertz(int64_t hz) { return std::to_string(hz / 1000000) + " MHz"; }

void look_at_board(const MachineFacts& facts, std::vector<Finding>* out) {
  if (!facts.l4t.empty() && facts.jetpack == 0)
    out->push_back({true,
                    "Jetson Linux " + facts.l4t +
                        " is none that this version knows (35, 36 and 38 are JetPack 5, 6 and 7)",
                    "see docs/jetson.md, and try: ingot doctor --require cuda"});
  if (facts.jetpack == 4)
    out->push_back(
        {true,
         "JetPack 4 (Jetson Linux " + facts.l4t +
             ") has CUDA 10.2, whose driver is older than the oldest one used here (11.4)",
         "flash JetPack 5 or later; until then models run on the CPU"});
  for (const std::string& node : facts.closed_nodes)
    out->push_back({true, node + " may not be opened by this user, so the driver finds no GPU",
                    "sudo usermod -aG video,render $USER, then log in again"});
}

void look_at_power(const MachineFacts& facts, std::vector<Finding>* out) {
  if (facts.power_mode >= 0 && facts.full_power_mode >= 0 &&
      facts.power_mode != facts.full_power_mode)
    out->push_back({false,
                    "power mode " + std::to_string(facts.power_mode) + " (" +
                        facts.power_mode_name + ") limits clocks and cores; " +
                        facts.full_power_name + " does not",
                    "sudo nvpmodel -m " + std::to_string(facts.full_power_mode)});
  bool slow = false;
  for (const Clock& clock : facts.clocks) {
    const bool limited = clock.limit_hz && clock.most_hz && clock.limit_hz < clock.most_hz;
    if (limited && facts.power_mode < 0)
      out->push_back({false,
                      clock.name + " is held at " + megahertz(clock.limit_hz) + " of " +
                          megahertz(clock.most_hz),
                      "raise its limit (cpupower frequency-set -u, or the board's power mode)"});
    slow |= clock.governor == "powersave" && clock.now_hz && clock.most_hz &&
            clock.now_hz * 2 < clock.most_hz;
  }
  if (slow)
    out->push_back({false,
                    "a governor 'powersave' keeps a clock below half of its most: the first runs "
                    "after a pause are slow",
                    facts.l4t.empty()
                        ? "sudo cpupower frequency-set -g schedutil (or performance)"
                        : "sudo jetson_clocks, where latency matters more than power"});
  if (facts.online_processors && facts.online_processors < facts.present_processors)
    out->push_back({false,
                    std::to_string(facts.present_processors - facts.online_processors) + " of " +
                        std::to_string(facts.present_processors) + " processors are off line",
                    facts.power_mode >= 0 ? "another power mode (nvpmodel) turns them on"
                                          : "echo 1 into /sys/devices/system/cpu/cpuN/online"});
}

void look_at_memory(const MachineFacts& facts, std::vector<Finding>* out) {
  if (facts.memory_bytes && facts.available_bytes * 10 < facts.memory_bytes)
    out->push_back({false,
                    "less than a tenth of the memory is available (" +
                        std::to_string(facts.available_bytes >> 20) + " of " +
                        std::to_string(facts.memory_bytes >> 20) + " MiB)",
                    "end what is not needed; on a board without a screen: sudo systemctl "
                    "set-default multi-user.target"});
  if (facts.huge_pages == "never")
    out->push_back({false,
                    "transparent huge pages are off: large arenas cost more of the processor's "
                    "address translation",
                    "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"});
  if (facts.overcommit == 2)
    out->push_back(
        {false,
         "vm.overcommit_memory is 2: every reserved byte counts, mapped weights too where they are "
         "private",
         "sudo sysctl vm.overcommit_memory=0, or set vm.overcommit_ratio for what runs here"});
  if (facts.page_bytes > 65536)
    out->push_back({true,
                    "pages of " + std::to_string(facts.page_bytes) +
                        " bytes: weights are aligned for at most 65536, so they are copied at load",
                    "a kernel with pages of 4, 16 or 64 KiB maps them"});
}

}  // namespace

std::vector<Finding> machine_findings(const MachineFacts& facts) {
  std::vector<Finding> out;
  look_at_board(facts, &out);
  look_at_power(facts, &out);
  look_at_memory(facts, &out);
  return out;
}

std::vector<std::string> unused_vectors(const MachineFacts& facts) {
  std::vector<std::string> out;
  for (const char* name : {"sve", "sve2", "sme", "sme2", "avx512_fp16"})
    if (has(facts.features, name)) out.push_back(name);
  return out;
}

std::vector<Finding> processor_findings(const MachineFacts& facts,
                                        const std::vector<std::string>& usable) {
  std::vector<Finding> out;
  const bool is_x86 = has(facts.features, "sse2"), fuses = has(facts.features, "fma");
  // nothing is usable where the facts are another machine's
  if (usable.empty() ? is_x86 && !(fuses && has(facts.features, "avx2")) : usable.back() == "sse2")
    out.push_back(
        {false,
         "this processor has no fused multiply-add with AVX2: products are rounded before "
         "they are added, so results in fp32 are not the bits of other processors",
         "INGOT_CPU_ISA=scalar has those bits, far slower"});
  else if (!usable.empty() && usable.back() == "neon32")
    out.push_back({false,
                   "vectors of this processor take subnormal numbers (below 1.2e-38) for zero, so "
                   "results with such numbers are not the bits of other processors",
                   "INGOT_CPU_ISA=scalar has those bits, several times slower"});
  else if (usable.size() == 1 && is_x86 && !fuses)
    out.push_back({true,
                   "this processor has no fused multiply-add: the scalar kernels emulate it, "
                   "correct and very slow",
                   "build with -DINGOT_ISAS left empty, so that sse2 is in"});
  else if (usable.size() == 1)
    out.push_back({true, "only the scalar kernels can run here, which are slow",
                   "build with -DINGOT_ISAS left empty, so that all instruction sets are in"});
  return out;
}

}  // namespace ingot::cli
