// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/program/check_program.h - a converted program, instruction by instruction, against
// the numbers of its source. Each instruction is checked alone: after it ran, what it wrote is
// compared and then replaced by the reference values, so that nobody behind it computes with a
// wrong number. What is wrong is computed again with the naive kernels in double: wrong there too,
// it was converted wrongly; right there, it is the kernel. Branches run as their conditions say,
// and what is in a loop is checked in every iteration whose reference values were kept.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/diagnose/graph/measure.h"
#include "tools/diagnose/graph/reference_values.h"
#include "tools/session/engine.h"
#include "tools/session/loop_nest.h"

namespace ingot::cli {

/// The worst that was measured; in a loop the first that was wrong.
struct Verdict : compare::Measure {
  uint64_t at = 0;                 // instructions that ran before, each iteration counted
  compare::Iterations iterations;  // of the loops around it then
};

struct CheckedInstruction {
  std::string op, name, kernel;  // kernel: of the chosen table
  std::vector<uint32_t> sources;
  std::vector<int64_t> dims;        // of the output that is worst
  std::string value;                // its name
  bool ran = false, known = false;  // known: the reference values of it are
  Verdict alone_error;              // chosen kernels against the reference values, operands true
  // of what is wrong there: naive kernels against the reference values, operands true
  Verdict conversion_error;
  // chosen kernels against the naive ones, where that is wrong or nobody knows the reference values
  Verdict kernel_error;
  // chosen kernels in a run of their own against the reference values: what has gathered up to here
  Verdict whole_error;
};

struct CheckedProgram {
  std::vector<CheckedInstruction> instructions;  // by index in the file
  std::vector<uint32_t> order;                   // as they first ran
  std::vector<host::Array> outputs;              // of the run of their own, states behind them
  std::string isa;
  bool winograd = false;
};

/// What a state variable of the file holds before the run.
struct StateBefore {
  int32_t value;
  host::Array array;  // named as the variable is
};

/// What an instruction wrote, in which iterations of the loops around it.
struct Written {
  uint32_t instruction;
  int32_t value;
  const compare::Iterations& iterations;
};

struct ProgramQuestion {
  std::string file;
  OpenSettings open;                          // the chosen kernels
  const ingot_kernel_table* naive = nullptr;  // null: oracle_kernels()
  std::map<std::string, int64_t> bindings;
  std::vector<host::Array> inputs;  // by input of the file
  std::vector<StateBefore> states;
  std::function<const compare::Tensor*(const Written&)>
      reference_values;  // null where nobody knows
  // whether the reference values of these iterations are
  std::function<bool(const compare::Iterations&)> is_kept;
  const LoopNest* loops = nullptr;  // of the file
  compare::Limits limits;
  double run_seconds = 300;  // of one run; 0: any
};

/// Inputs and state before a run. @throws Failure.
void feed(Engine* engine, const ProgramQuestion& question);
/// What the state variables of a session hold.
std::vector<StateBefore> states_of(Engine* engine);
/// The same behind the outputs of a run, by the names of the outputs that they replaced.
void append_states(Engine* engine, std::vector<host::Array>* outputs);

/// @throws Failure.
CheckedProgram check_program(const ProgramQuestion& question);

/// The first instruction in the order of the run whose `field` failed, or -1. `allows_loss`: less
/// than the largest number is no failure.
int64_t first_wrong(const CheckedProgram& program, Verdict CheckedInstruction::*field,
                    bool allows_loss);

/// Outputs and states of a run as a user makes it: no values kept, `session` as asked for.
std::vector<host::Array> run_plainly(const ProgramQuestion& question,
                                     const SessionSettings& session);

}  // namespace ingot::cli
