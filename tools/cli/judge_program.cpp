#include "tools/cli/judge_program.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/cli/kernel_gate.h"

namespace ingot::cli {
namespace {

using compare::Measure;
using compare::Tensor;
using host::Array;

/// Keeps the worse of two.
bool worsen(Measure* kept, const Measure& m) {
  const bool worse =
      kept->elements == 0 || (kept->passed && !m.passed) || (kept->passed == m.passed && m.ratio() > kept->ratio());
  if (worse) *kept = m;
  return worse;
}

/// One run with every value kept and looked at as it is written.
class Watched {
 public:
  using Look = std::function<void(uint32_t instruction, uint32_t output, int32_t value, const ingot_tensor& tensor)>;

  Watched(const ProgramQuestion& question, const ingot_kernel_table* kernels)
      : engine_(question.file, with(question, kernels)) {
    engine_.bind_dims(question.bindings);
    engine_.assume_rest();
    SessionSettings settings;
    settings.threads = 1;  // helpers would begin the next instruction while this one is looked at
    settings.flags = INGOT_KEEP_VALUES;
    engine_.create_session(settings);
    feed(&engine_, question);
  }

  void run(Look look) {
    look_ = std::move(look);
    ingot_session_set_profile(
        engine_.session().get(),
        [](void* user, const ingot_profile_event* event) { static_cast<Watched*>(user)->ran(*event); }, this);
    engine_.run();
    ingot_session_set_profile(engine_.session().get(), nullptr, nullptr);
  }
  Engine& engine() { return engine_; }
  std::vector<uint32_t> order;

 private:
  static OpenSettings with(const ProgramQuestion& question, const ingot_kernel_table* kernels) {
    OpenSettings open = question.open;
    open.kernels = kernels;
    return open;
  }
  void ran(const ingot_profile_event& event) {
    order.push_back(event.instruction);
    ingot_instruction instruction{};
    if (ingot_session_instruction(engine_.session().get(), event.instruction, &instruction) != INGOT_OK) return;
    for (uint32_t o = 0; o < instruction.output_count; o++) {
      ingot_tensor tensor{};
      if (instruction.outputs[o] < 0 ||
          ingot_session_value(engine_.session().get(), uint32_t(instruction.outputs[o]), &tensor, nullptr) != INGOT_OK)
        continue;
      look_(event.instruction, o, instruction.outputs[o], tensor);
    }
  }
  Engine engine_;
  Look look_;
};

/// The truth about a value in the form of the file, or null where the shapes say that it is something else.
const Tensor* truth_of(const ProgramQuestion& question, int32_t value, const ingot_tensor& tensor) {
  const Tensor* truth = question.truth ? question.truth(value) : nullptr;
  return truth && same_shape(tensor, truth->dims) ? truth : nullptr;
}

class Judge {
 public:
  explicit Judge(const ProgramQuestion& question) : question_(question) {}

  JudgedProgram run() {
    run_chosen();
    run_naive();
    run_whole();
    return std::move(result_);
  }

 private:
  using Place = std::pair<uint32_t, uint32_t>;  // instruction, output

  void declare(Engine& engine) {
    result_.instructions.resize(engine.summary().instruction_count);
    for (uint32_t i = 0; i < result_.instructions.size(); i++) {
      ingot_instruction from{};
      if (ingot_session_instruction(engine.session().get(), i, &from) != INGOT_OK) continue;
      JudgedInstruction& to = result_.instructions[i];
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
          ingot_session_value(engine.session().get(), uint32_t(instruction.inputs[i]), &tensor, nullptr) != INGOT_OK)
        continue;
      ingot_value_type type{};
      ingot_model_value(engine.model().get(), uint32_t(instruction.inputs[i]), &type);
      if (tensor.dtype != INGOT_F32 || type.kind == 1 || !tensor.data) continue;
      most = std::max(most, compare::magnitude(compare::to_tensor(copy_out(tensor, ""))));
    }
    return most * 1e-6;
  }

  void judge(Engine& engine, const Place& place, const Tensor& want, const ingot_tensor& tensor,
             Measure JudgedInstruction::*field, int32_t value, bool with_floor) {
    judge(engine, place, want, copy_out(tensor, ""), field, value, with_floor);
  }

  void judge(Engine& engine, const Place& place, const Tensor& want, const Array& array,
             Measure JudgedInstruction::*field, int32_t value, bool with_floor = true) {
    JudgedInstruction& to = result_.instructions[place.first];
    const Tensor found = compare::to_tensor(array);
    compare::Limits limits = question_.limits;
    limits.winograd = true;  // of one instruction alone: the wider row serves all
    Measure m = compare::measure(want, found, array.dtype, limits);
    if (with_floor && !m.passed)  // what rounding may cost is looked for only where it matters
      m = compare::measure(want, found, array.dtype, limits, floor_of(engine, place.first));
    const bool is_worse = worsen(&(to.*field), m);
    if (!is_worse || field == &JudgedInstruction::whole_error) return;
    ingot_value_type type{};
    ingot_model_value(engine.model().get(), uint32_t(value), &type);
    to.value = type.name;
    to.dims = want.dims;
  }

  const ingot_kernel_table* chosen() const {
    return question_.open.kernels ? question_.open.kernels : chosen_kernels();
  }

  /// The chosen kernels; what they write is replaced by the truth where it is known.
  void run_chosen() {
    Watched watched(question_, chosen());
    declare(watched.engine());
    result_.isa = watched.engine().placement().isa;
    watched.run([&](uint32_t index, uint32_t output, int32_t value, const ingot_tensor& tensor) {
      JudgedInstruction& to = result_.instructions[index];
      const Tensor* truth = truth_of(question_, value, tensor);
      if (!to.ran) to.known = true;
      to.ran = true;
      if (truth) judge(watched.engine(), {index, output}, *truth, tensor, &JudgedInstruction::alone_error, value, true);
      if (!truth) to.known = false;
      chosen_[{index, output}] = copy_out(tensor, "");
      if (truth) copy_in(compare::to_array(*truth, DType(tensor.dtype), "").bytes.data(), tensor);
    });
    result_.order = watched.order;
  }

  /// The naive kernels for instructions that went wrong, or whose truth nobody knows: is it the program or the kernel?
  void run_naive() {
    std::vector<bool> wanted, by_index(result_.instructions.size(), false);
    for (const uint32_t index : result_.order) {
      const JudgedInstruction& i = result_.instructions[index];
      by_index[index] = !i.known || !i.alone_error.passed;
      wanted.push_back(by_index[index]);
    }
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
    const KernelGate gate(
        question_.naive ? question_.naive : reinterpret_cast<const ingot_kernel_table*>(oracle_kernels()), wanted);
    Watched watched(question_, gate.table());
    watched.run([&](uint32_t index, uint32_t output, int32_t value, const ingot_tensor& tensor) {
      const Tensor* truth = truth_of(question_, value, tensor);
      const Place place{index, output};
      if (by_index[index]) {
        if (truth) judge(watched.engine(), place, *truth, tensor, &JudgedInstruction::cast_error, value, true);
        const Tensor naive = compare::to_tensor(copy_out(tensor, ""));
        judge(watched.engine(), place, naive, chosen_.at(place), &JudgedInstruction::kernel_error, value);
      }
      if (truth) copy_in(compare::to_array(*truth, DType(tensor.dtype), "").bytes.data(), tensor);
    });
  }

  void run_whole() {
    Watched watched(question_, chosen());
    watched.run([&](uint32_t index, uint32_t output, int32_t value, const ingot_tensor& tensor) {
      const Tensor* truth = truth_of(question_, value, tensor);
      if (truth)
        judge(watched.engine(), {index, output}, *truth, tensor, &JudgedInstruction::whole_error, value, false);
    });
    for (uint32_t o = 0; o < watched.engine().summary().output_count; o++)
      result_.outputs.push_back(watched.engine().take_output(o));
  }

  const ProgramQuestion& question_;
  JudgedProgram result_;
  std::map<Place, Array> chosen_;
};

}  // namespace

void feed(Engine* engine, const ProgramQuestion& question) {
  for (uint32_t i = 0; i < question.inputs.size(); i++)
    engine->set_input(i, question.inputs[i], question.file + ": input '" + question.inputs[i].name + "'");
  for (const StateBefore& state : question.states) {
    ingot_tensor tensor{};
    if (ingot_session_value(engine->session().get(), uint32_t(state.value), &tensor, nullptr) == INGOT_OK &&
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
    if (type.kind != 4 || ingot_session_value(engine->session().get(), v, &tensor, nullptr) != INGOT_OK || !tensor.data)
      continue;
    states.push_back({int32_t(v), copy_out(tensor, type.name)});
  }
  return states;
}

JudgedProgram judge_program(const ProgramQuestion& question) { return Judge(question).run(); }

std::vector<Array> run_plainly(const ProgramQuestion& question, const SessionSettings& session) {
  Engine engine(question.file, question.open);
  engine.bind_dims(question.bindings);
  engine.assume_rest();
  engine.create_session(session);
  feed(&engine, question);
  engine.run();
  std::vector<Array> outputs;
  for (uint32_t o = 0; o < engine.summary().output_count; o++) outputs.push_back(engine.take_output(o));
  return outputs;
}

}  // namespace ingot::cli
