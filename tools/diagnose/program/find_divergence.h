// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/program/find_divergence.h - a source, its converted file and one set of inputs:
// the first node where they part, and who did it.
//   import   the source's graph, in double, is not what the golden says: an attribute or an
//            operator was misread
//   pass     a pass changed a result
//   conversion
//            the graph after all passes is right, the program made of it is not (packing, method,
//            chain, view)
//   kernel   the program is right with the naive kernels and wrong with the chosen ones
//   memory   every instruction is right alone, but a run that reuses bytes is not: the plan, or the
//            threads
//   rounding every instruction is right alone; what they lose together passes the tolerance
//   output   everything agrees with the source, and the golden disagrees with both
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tools/compile/convert/convert.h"
#include "tools/diagnose/golden/compare.h"
#include "tools/diagnose/golden/golden.h"
#include "tools/diagnose/graph/check_graph.h"
#include "tools/diagnose/program/check_program.h"

namespace ingot::cli {

enum class DivergenceCause {
  kNone,
  kImport,
  kPass,
  kConversion,
  kKernel,
  kMemory,
  kRounding,
  kOutput
};
const char* cause_name(DivergenceCause cause);

struct DivergenceQuestion {
  std::string source;
  std::string file;    // "": converted now, with `options`
  std::string golden;  // "": random inputs
  convert::ConvertOptions options;
  OpenSettings open;
  SessionSettings session;
  std::map<std::string, int64_t> dims;
  std::optional<double> rtol, atol;
  const ingot_kernel_table* naive = nullptr;  // null: oracle_kernels()
};

struct CheckedOutput {
  check::Comparison comparison;
  std::vector<int64_t> dims;
};

struct DivergenceAnswer {
  DivergenceCause cause = DivergenceCause::kNone;
  std::string pass;      // that did it; for a kernel its name, for conversion the operator
  std::string node, op;  // of the first source node that is wrong, "" when none can be named
  std::vector<uint32_t> sources;
  std::string value;   // of the source, or of the file
  std::string detail;  // the numbers
  int32_t instruction = -1;
  compare::Iterations iterations;  // of the loops around it, the outermost first
  int64_t step = 0, steps = 1;
  bool has_golden = false, is_fresh_conversion = true;
  std::string quantization;  // as the file records it; "": it was converted without
  uint32_t import_compared = 0, nodes_checked = 0, passes_checked = 0;
  uint32_t instructions_ran = 0, instructions_known = 0;
  // outputs on whose path nothing was compared: about them nothing is known
  std::vector<std::string> uncompared;
  std::vector<uint32_t> suspects;
  std::vector<graph::SourceNode> source_nodes;
  std::vector<compare::SourceState> source;
  CheckedProgram program;
  std::vector<CheckedOutput> outputs;
  std::string outputs_against;  // "golden" or "source"
  std::vector<std::string> notes;
  /// "wrong pass: fold affine, at BatchNormalization 'bn1'".
  std::string headline() const;
  /// "outputs 'a', 'b'": those of `uncompared`.
  std::string uncompared_text() const;
  bool is_equal() const { return cause == DivergenceCause::kNone && uncompared.empty(); }
};

/// @throws Failure, ConversionError.
DivergenceAnswer find_divergence(const DivergenceQuestion& question);

}  // namespace ingot::cli
