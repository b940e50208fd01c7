// tools/cli/judge_program.h - a cast program, instruction by instruction, against the numbers of its source. Each
// instruction is judged alone: after it ran, what it wrote is compared and then replaced by the truth, so that nobody
// behind it computes with a wrong number. What is wrong is computed again with the naive kernels in double: wrong there
// too, it was cast wrongly; right there, it is the kernel. Branches run as their conditions say.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/cli/engine.h"
#include "tools/compare/measure.h"

namespace ingot::cli {

struct JudgedInstruction {
  std::string op, name, kernel;  // kernel: of the chosen table
  std::vector<uint32_t> sources;
  std::vector<int64_t> dims;        // of the output that is worst
  std::string value;                // its name
  bool ran = false, known = false;  // known: the truth about it is
  compare::Measure alone_error;     // chosen kernels against the truth, operands true
  compare::Measure cast_error;      // of what is wrong there: naive kernels against the truth, operands true
  compare::Measure
      kernel_error;              // chosen kernels against the naive ones, where that is wrong or nobody knows the truth
  compare::Measure whole_error;  // chosen kernels in a run of their own against the truth: what has gathered up to here
};

struct JudgedProgram {
  std::vector<JudgedInstruction> instructions;  // by index in the file
  std::vector<uint32_t> order;                  // as they ran
  std::vector<host::Array> outputs;             // of the run of their own
  std::string isa;
  bool winograd = false;
};

/// What a state variable of the file holds before the run.
struct StateBefore {
  int32_t value;
  host::Array array;  // named as the variable is
};

struct ProgramQuestion {
  std::string file;
  OpenSettings open;                          // the chosen kernels
  const ingot_kernel_table* naive = nullptr;  // null: oracle_kernels()
  std::map<std::string, int64_t> bindings;
  std::vector<host::Array> inputs;  // by input of the file
  std::vector<StateBefore> states;
  std::function<const compare::Tensor*(int32_t value)> truth;  // null where nobody knows
  compare::Limits limits;
};

/// Inputs and state before a run. @throws Failure.
void feed(Engine* engine, const ProgramQuestion& question);
/// What the state variables of a session hold.
std::vector<StateBefore> states_of(Engine* engine);

/// @throws Failure.
JudgedProgram judge_program(const ProgramQuestion& question);

/// Outputs of a run as a user makes it: no values kept, `session` as asked for.
std::vector<host::Array> run_plainly(const ProgramQuestion& question, const SessionSettings& session);

}  // namespace ingot::cli
