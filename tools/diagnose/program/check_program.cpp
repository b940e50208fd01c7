// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/program/check_program.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/diagnose/program/kernel_hook.h"

namespace ingot::cli {
namespace {

using compare::Measure;
using compare::Tensor;
using host::Array;

/// What a run is at: an output of an instruction.
struct Moment {
  uint64_t at;  // instructions that ran before
  uint32_t instruction, output;
  int32_t value;
  compare::Iterations iterations;
};

/// Keeps the worse of two; of a loop the first that is wrong.
bool worsen(Verdict* kept, const Measure& m, const Moment& moment) {
  const bool is_settled = kept->elements > 0 && !kept->passed && kept->at != moment.at;
  const bool worse = kept->elements == 0 || (kept->passed && !m.passed) ||
                     (kept->passed == m.passed && !is_settled && m.ratio() > kept->ratio());
  if (!worse) return false;
  static_cast<Measure&>(*kept) = m;
  kept->at = moment.at;
  kept->iterations = moment.iterations;
  return true;
}

/// One run with every value kept and looked at as it is written.
class Watched {
 public:
  using Look = std::function<void(const Moment& moment, const ingot_tensor& tensor)>;

  Watched(const ProgramQuestion& question, const ingot_kernel_table* kernels)
      : engine_(question.file, with(question, kernels)), loops_(*question.loops) {
    engine_.bind_dims(question.bindings);
    engine_.assume_rest();
    SessionSettings settings;
    settings.threads = 1;  // helpers would begin the next instruction while this one is looked at
    settings.flags = INGOT_KEEP_VALUES;
    settings.run_seconds = question.run_seconds;
    engine_.create_session(settings);
    feed(&engine_, question);
  }

  void run(Look look) {
    look_ = std::move(look);
    ingot_session_set_profile(
        engine_.session().get(),
        [](void* user, const ingot_profile_event* event) {
          static_cast<Watched*>(user)->ran(*event);
        },
        this);
    engine_.run();
    ingot_session_set_profile(engine_.session().get(), nullptr, nullptr);
  }
  Engine& engine() { return engine_; }

 private:
  static OpenSettings with(const ProgramQuestion& question, const ingot_kernel_table* kernels) {
    OpenSettings open = question.open;
    open.kernels = kernels;
    return open;
  }
  void ran(const ingot_profile_event& event) {
    Moment moment{ran_++, event.instruction, 0, -1, iterations(event.instruction)};
    ingot_instruction instruction{};
    if (ingot_session_instruction(engine_.session().get(), event.instruction, &instruction) !=
        INGOT_OK)
      return;
    for (uint32_t o = 0; o < instruction.output_count; o++) {
      ingot_tensor tensor{};
      if (instruction.outputs[o] < 0 ||
          ingot_session_value(engine_.session().get(), uint32_t(instruction.outputs[o]), &tensor,
                              nullptr) != INGOT_OK)
        continue;
      moment.output = o, moment.value = instruction.outputs[o];
      look_(moment, tensor);
    }
  }
  compare::Iterations iterations(uint32_t instruction) {
    compare::Iterations all;
    for (const int32_t counter : loops_.counters(instruction)) {
      ingot_tensor tensor{};
      const bool is_there = counter >= 0 &&
                            ingot_session_value(engine_.session().get(), uint32_t(counter), &tensor,
                                                nullptr) == INGOT_OK &&
                            tensor.data;
      all.push_back(is_there ? *static_cast<const int64_t*>(tensor.data) : -1);
    }
    return all;
  }
  Engine engine_;
  const LoopNest& loops_;
  uint64_t ran_ = 0;
  Look look_;
};

/// The reference values of a value in the form of the file, or null where the shapes say that it
/// is something else.
const Tensor* reference_values_of(const ProgramQuestion& question, const Moment& moment,
                                  const ingot_tensor& tensor) {
  const Tensor* reference_values =
      question.reference_values
          ? question.reference_values({moment.instruction, moment.value, moment.iterations})
          : nullptr;
  return reference_values && same_shape(tensor, reference_values->dims) ? reference_values
                                                                        : nullptr;
}

class Checker {
 public:
  explicit Checker(const ProgramQuestion& question) : question_(question) {}

  CheckedProgram run() {
    run_chosen();
    run_naive();
    run_whole();
    return std::move(result_);
  }

 private:
  using Place = std::pair<uint64_t, uint32_t>;  // instructions that ran before, output
  using Field = Verdict CheckedInstruction::*;

  void declare(Engine& engine) {
    result_.instructions.resize(engine.summary().instruction_count);
    for (uint32_t i = 0; i < result_.instructions.size(); i++) {
      ingot_instruction from{};
      if (ingot_session_instruction(engine.session().get(), i, &from) != INGOT_OK) continue;
      CheckedInstruction& to = result_.instructions[i];
      to.op = from.op;
      to.name = from.name;
      to.sources.assign(from.source_nodes, from.source_nodes + from.source_count);
      if (from.kernel) to.kernel = from.kernel;
      result_.winograd |= to.kernel.find("winograd") != std::string::npos;
    }
  }

  /// Largest number among the operands, for what rounding may cost.
  double floor_of(Engine& engine, uint32_t index) const {
    ingot_instruction instruction{};
    ingot_session_instruction(engine.session().get(), index, &instruction);
    double most = 0;
    for (uint32_t i = 0; i < instruction.input_count; i++) {
      ingot_tensor tensor{};
      if (instruction.inputs[i] < 0 ||
          ingot_session_value(engine.session().get(), uint32_t(instruction.inputs[i]), &tensor,
                              nullptr) != INGOT_OK)
        continue;
      ingot_value_type type{};
      ingot_model_value(engine.model().get(), uint32_t(instruction.inputs[i]), &type);
      if (tensor.dtype != INGOT_F32 || type.kind == 1 || !tensor.data) continue;
      most = std::max(most, compare::magnitude(compare::to_tensor(copy_out(tensor, ""))));
    }
    return most * 1e-6;
  }

  /// Whether it was right.
  bool check(Engine& engine, const Moment& moment, const Tensor& want, const Array& array,
             Field field, bool with_floor = true) {
    CheckedInstruction& to = result_.instructions[moment.instruction];
    const Tensor found = compare::to_tensor(array);
    compare::Limits limits = question_.limits;
    limits.winograd = true;  // of one instruction alone: the wider row serves all
    Measure m = compare::measure(want, found, array.dtype, limits);
    if (with_floor && !m.passed)  // what rounding may cost is looked for only where it matters
      m = compare::measure(want, found, array.dtype, limits, floor_of(engine, moment.instruction));
    const bool is_worse = worsen(&(to.*field), m, moment);
    if (!is_worse || field == &CheckedInstruction::whole_error) return m.passed;
    ingot_value_type type{};
    ingot_model_value(engine.model().get(), uint32_t(moment.value), &type);
    to.value = type.name;
    to.dims = want.dims;
    return m.passed;
  }

  bool is_kept(const Moment& moment) const {
    return moment.iterations.empty() || !question_.is_kept || question_.is_kept(moment.iterations);
  }

  const ingot_kernel_table* chosen() const {
    return question_.open.kernels ? question_.open.kernels : chosen_kernels();
  }

  /// The chosen kernels; what they write is replaced by the reference values where it is known.
  void run_chosen() {
    Watched watched(question_, chosen());
    declare(watched.engine());
    result_.isa = watched.engine().placement().isa;
    watched.run([&](const Moment& moment, const ingot_tensor& tensor) {
      CheckedInstruction& to = result_.instructions[moment.instruction];
      const Tensor* reference_values = reference_values_of(question_, moment, tensor);
      if (!to.ran) result_.order.push_back(moment.instruction);
      to.ran = true;
      wanted_.resize(moment.at + 1, false);
      if (is_kept(moment)) {
        if (checked_.insert(moment.instruction).second) to.known = true;
        if (!reference_values) to.known = false;
        Array found = copy_out(tensor, "");
        if (!reference_values || !check(watched.engine(), moment, *reference_values, found,
                                        &CheckedInstruction::alone_error)) {
          wanted_[moment.at] = true;
          chosen_[{moment.at, moment.output}] = std::move(found);
        }
      } else {
        wanted_[moment.at] = true;
      }
      if (reference_values)
        copy_in(compare::to_array(*reference_values, DType(tensor.dtype), "").bytes.data(), tensor);
    });
  }

  /// The naive kernels for instructions that went wrong, or whose reference values nobody knows: is
  /// it the program or the kernel?
  void run_naive() {
    if (chosen_.empty()) return;
    const auto leave_out_others = [&, next = size_t(0)](const KernelEntry& entry,
                                                        const OpArguments& arguments,
                                                        const Team& team) mutable {
      const size_t at = next++;
      return at >= wanted_.size() || wanted_[at] ? entry.run(arguments, team) : Status();
    };
    const KernelHook hook(question_.naive
                              ? question_.naive
                              : reinterpret_cast<const ingot_kernel_table*>(oracle_kernels()),
                          leave_out_others);
    Watched watched(question_, hook.table());
    watched.run([&](const Moment& moment, const ingot_tensor& tensor) {
      const Tensor* reference_values = reference_values_of(question_, moment, tensor);
      const auto chosen = chosen_.find({moment.at, moment.output});
      if (chosen != chosen_.end()) {
        const Array found = copy_out(tensor, "");
        if (reference_values)
          check(watched.engine(), moment, *reference_values, found,
                &CheckedInstruction::conversion_error);
        check(watched.engine(), moment, compare::to_tensor(found), chosen->second,
              &CheckedInstruction::kernel_error);
      }
      if (reference_values)
        copy_in(compare::to_array(*reference_values, DType(tensor.dtype), "").bytes.data(), tensor);
    });
  }

  void run_whole() {
    Watched watched(question_, chosen());
    watched.run([&](const Moment& moment, const ingot_tensor& tensor) {
      const Tensor* reference_values = reference_values_of(question_, moment, tensor);
      if (reference_values && is_kept(moment))
        check(watched.engine(), moment, *reference_values, copy_out(tensor, ""),
              &CheckedInstruction::whole_error, false);
    });
    for (uint32_t o = 0; o < watched.engine().summary().output_count; o++)
      result_.outputs.push_back(watched.engine().take_output(o));
    append_states(&watched.engine(), &result_.outputs);
  }

  const ProgramQuestion& question_;
  CheckedProgram result_;
  std::map<Place, Array> chosen_;  // what is wrong, or whose reference values nobody knows
  std::vector<bool> wanted_;       // of the naive kernels, by the instructions that ran before
  std::set<uint32_t> checked_;     // instructions, once at least
};

}  // namespace

void feed(Engine* engine, const ProgramQuestion& question) {
  for (uint32_t i = 0; i < question.inputs.size(); i++)
    engine->set_input(i, question.inputs[i],
                      question.file + ": input '" + question.inputs[i].name + "'");
  for (const StateBefore& state : question.states) {
    ingot_tensor tensor{};
    if (ingot_session_value(engine->session().get(), uint32_t(state.value), &tensor, nullptr) ==
            INGOT_OK &&
        tensor.data)
      copy_in(state.array.bytes.data(), tensor);
  }
}

std::vector<StateBefore> states_of(Engine* engine) {
  std::vector<StateBefore> states;
  for (uint32_t v = 0; v < engine->summary().value_count; v++) {
    ingot_value_type type{};
    ingot_tensor tensor{};
    ingot_model_value(engine->model().get(), v, &type);
    if (type.kind != 4 ||
        ingot_session_value(engine->session().get(), v, &tensor, nullptr) != INGOT_OK ||
        !tensor.data)
      continue;
    states.push_back({int32_t(v), copy_out(tensor, type.name)});
  }
  return states;
}

void append_states(Engine* engine, std::vector<Array>* outputs) {
  for (uint32_t i = 0; i < engine->summary().state_count; i++) {
    const std::string output = engine->state(i).output_name;
    if (!output.empty()) outputs->push_back(copy_out(engine->state_tensor(i), output));
  }
}

CheckedProgram check_program(const ProgramQuestion& question) { return Checker(question).run(); }

std::vector<Array> run_plainly(const ProgramQuestion& question, const SessionSettings& session) {
  Engine engine(question.file, question.open);
  engine.bind_dims(question.bindings);
  engine.assume_rest();
  engine.create_session(session);
  feed(&engine, question);
  engine.run();
  std::vector<Array> outputs;
  for (uint32_t o = 0; o < engine.summary().output_count; o++)
    outputs.push_back(engine.take_output(o));
  append_states(&engine, &outputs);
  return outputs;
}

int64_t first_wrong(const CheckedProgram& program, Verdict CheckedInstruction::*field,
                    bool allows_loss) {
  int64_t first = -1;
  uint64_t at = ~uint64_t{0};
  for (const uint32_t index : program.order) {
    const Verdict& m = program.instructions[index].*field;
    const bool is_loss = allows_loss && m.error <= m.largest;
    const bool is_wrong = (m.elements > 0 && !m.passed && !is_loss) || !m.same_dims;
    if (is_wrong && m.at < at) first = index, at = m.at;
  }
  return first;
}

}  // namespace ingot::cli
