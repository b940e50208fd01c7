// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/program/divergence_text.cpp - an answer in one line.
#include "tools/diagnose/program/find_divergence.h"

namespace ingot::cli {

const char* cause_name(DivergenceCause cause) {
  switch (cause) {
    case DivergenceCause::kNone: return "none";
    case DivergenceCause::kImport: return "import";
    case DivergenceCause::kPass: return "pass";
    case DivergenceCause::kConversion: return "conversion";
    case DivergenceCause::kKernel: return "kernel";
    case DivergenceCause::kMemory: return "memory";
    case DivergenceCause::kRounding: return "rounding";
    case DivergenceCause::kOutput: return "output";
  }
  return "";
}

std::string DivergenceAnswer::headline() const {
  const std::string at = node.empty() && op.empty() ? "" : ", at " + op + " '" + node + "'";
  switch (cause) {
    case DivergenceCause::kNone:
      return uncompared.empty() ? "no divergence" : "not compared: " + uncompared_text();
    case DivergenceCause::kImport: return "wrong import" + at;
    case DivergenceCause::kPass: return "wrong pass: " + pass + at;
    case DivergenceCause::kConversion:
      return "wrong conversion: instruction " + std::to_string(instruction) + " " + pass + at;
    case DivergenceCause::kKernel: return "wrong kernel: " + pass + " (" + program.isa + ")" + at;
    case DivergenceCause::kMemory:
      return "wrong in memory: output '" + value + "' is right when every value keeps its bytes";
    case DivergenceCause::kRounding: return "rounding gathers: beyond the tolerance first" + at;
    case DivergenceCause::kOutput:
      return "output '" + value + "' is what the source computes, and not what the golden has";
  }
  return "";
}

std::string DivergenceAnswer::uncompared_text() const {
  constexpr size_t kShown = 4;
  std::string text = uncompared.size() == 1 ? "output " : "outputs ";
  for (size_t i = 0; i < uncompared.size() && i < kShown; i++)
    text += (i ? ", '" : "'") + uncompared[i] + "'";
  if (uncompared.size() > kShown)
    text += " and " + std::to_string(uncompared.size() - kShown) + " more";
  return text;
}

}  // namespace ingot::cli
