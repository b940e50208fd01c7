// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/program/find_divergence.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/diagnose/steps/golden_steps.h"
#include "tools/diagnose/steps/operand_type.h"
#include "tools/files/output_file.h"
#include "tools/files/suggest.h"
#include "tools/session/make_inputs.h"
#include "tools/session/metadata.h"
#include "tools/session/output_paths.h"
#include "tools/session/program_view.h"

namespace ingot::cli {
namespace {

using check::Golden;
using compare::GraphChecker;
using compare::Tensor;
using host::Array;

class Finder {
 public:
  explicit Finder(const DivergenceQuestion& question) : q_(question), options_(question.options) {}

  DivergenceAnswer run() {
    if (q_.file.empty()) convert_now();
    ask_golden();
    check_conversion();
    check_instructions();
    check_outputs();
    find_uncompared();
    conclude();
    return std::move(a_);
  }

 private:
  const std::string& file() const { return converted_ ? converted_->path() : q_.file; }

  void convert_now() {
    converted_ = std::make_unique<host::TemporaryPath>(".ingot");
    convert::write_file(convert::convert_source(q_.source, options_).file, converted_->path());
  }

  /// Inputs of the step to look at: of a stream the first step that is wrong, else the first.
  void ask_golden() {
    Engine engine(file(), q_.open);
    winograd_ = true;
    stored_ = stored_type(file());
    for (const auto& [key, text] : read_metadata(engine).entries)
      if (key == "ingot.quantization") a_.quantization = text;
    if (stored_ != DType::kInvalid)  // as it was converted, but for what was kept
      options_.storage.dtype = stored_, options_.storage.allow_overflow = true;
    if (q_.golden.empty()) {
      engine.bind_dims(q_.dims);
      const std::string assumed = engine.assume_rest();
      if (!assumed.empty()) a_.notes.push_back("assumed " + assumed + " (set others with --dim)");
      engine.create_session(q_.session);
      for (uint32_t i = 0; i < engine.summary().input_count; i++) {
        inputs_.push_back(make_input(engine, i, engine.session().input(i).value()));
        inputs_.back().name = engine.input(i).name;
      }
      states_ = states_of(&engine);
      bindings_ = engine.bindings(), operands_ = operand_type(&engine);
      a_.notes.push_back(
          "no golden: the import cannot be checked, inputs are the random ones of ingot bench");
      return;
    }
    golden_ = check::read_golden(q_.golden, engine.input_names(), engine.output_names());
    a_.has_golden = !golden_.outputs.empty() || !golden_.intermediates.empty();
    if (!a_.has_golden)
      a_.notes.push_back(q_.golden + ": has inputs only, so the import cannot be checked");
    find_step(engine);
  }

  void find_step(Engine& engine) {
    const GoldenSteps steps(engine, golden_);
    a_.steps = steps.count();
    inputs_ = steps.inputs(0, {});
    engine.bind_dims(q_.dims);
    for (uint32_t i = 0; i < inputs_.size(); i++)
      engine.bind_from_shape(i, inputs_[i].dims, q_.golden + ": input '" + inputs_[i].name + "'");
    bind_states(&engine);
    engine.create_session(q_.session);
    bindings_ = engine.bindings(), operands_ = operand_type(&engine);
    set_first_states(&engine);
    std::vector<Array> last;
    for (int64_t step = 0; step < a_.steps; step++) {
      std::vector<Array> now = steps.inputs(step, last);
      for (uint32_t i = 0; i < now.size(); i++)
        engine.set_input(i, now[i], q_.golden + ": input '" + now[i].name + "'");
      std::vector<StateBefore> states = states_of(&engine);
      engine.run();
      last.clear();
      for (uint32_t o = 0; o < engine.summary().output_count; o++)
        last.push_back(engine.take_output(o));
      append_states(&engine, &last);
      const std::vector<Array> expected = steps.outputs(step);
      const bool is_right = agree(expected, last);
      if (step > 0 && is_right) continue;
      a_.step = step;
      inputs_ = std::move(now);
      states_ = std::move(states);
      expected_ = expected;
      intermediates_ = steps.intermediates(step);
      if (!is_right) return;
    }
  }

  /// The golden's arrays for state variables are their values before the first step.
  void bind_states(Engine* engine) const {
    for (uint32_t i = 0; i < engine->summary().state_count; i++) {
      const ingot_value_type type = engine->state(i).type;
      if (const Array* first = find_array(golden_.inputs, type.name))
        engine->bind_from_type(type, first->dims, q_.golden + ": state '" + type.name + "'");
    }
  }
  void set_first_states(Engine* engine) const {
    for (uint32_t i = 0; i < engine->summary().state_count; i++) {
      const std::string name = engine->state(i).type.name;
      if (const Array* first = find_array(golden_.inputs, name))
        engine->set_state(i, *first, q_.golden + ": state '" + name + "'");
    }
  }

  check::CompareOptions compare_options() const {
    check::CompareOptions options;
    options.spread = golden_.spread;
    options.rtol = q_.rtol, options.atol = q_.atol;
    options.winograd = winograd_;
    options.stored = operands_;
    return options;
  }

  CheckedOutput check_one(const Array& expected, const Array& found) const {
    const auto strides = golden_.subsample.find(expected.name);
    const Array same =
        strides == golden_.subsample.end() ? found : check::subsample(found, strides->second);
    CheckedOutput one = {check::compare(expected.name, expected, same, compare_options()),
                         expected.dims};
    allow_loss(&one.comparison);
    return one;
  }

  bool agree(const std::vector<Array>& expected, const std::vector<Array>& found) const {
    for (const Array& want : expected)
      for (const Array& have : found)
        if (have.name == want.name && !check_one(want, have).comparison.passed) return false;
    return true;
  }

  /// An array of the file's port in the source's order.
  Tensor in_source_order(const Array& array) const {
    Tensor t = compare::to_tensor(array);
    const auto layout = options_.io_layout.find(array.name);
    return layout != options_.io_layout.end() && layout->second == "nhwc" && t.dims.size() >= 3
               ? compare::channels_second(t)
               : t;
  }

  void check_conversion() {
    std::map<std::string, Tensor> inputs;
    for (const Array& array : inputs_) inputs[array.name] = in_source_order(array);
    for (const StateBefore& state : states_)
      inputs.emplace(state.array.name, compare::to_tensor(state.array));
    compare::Limits limits;
    limits.rtol = q_.rtol, limits.atol = q_.atol;
    checker_ = std::make_unique<GraphChecker>(std::move(inputs), limits);
    checker_->spread = golden_.spread;
    checker_->subsample = golden_.subsample;
    checker_->fallback = [this](const std::string& name) { return taken_from_file(name); };
    checker_->before_node = [this, begin = std::chrono::steady_clock::now()] {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      if (const double most = q_.session.run_seconds; most > 0 && passed.count() > most)
        host::fail(host::Exit::kUnavailable, late_text(q_.source, most));
    };
    for (const Array& array : expected_) checker_->expected[array.name] = in_source_order(array);
    for (const Array& array : intermediates_)
      checker_->expected.emplace(array.name, compare::to_tensor(array));
    const passes::Observer plant = options_.observe;
    options_.observe = [&](const std::string& pass, graph::Model& model) {
      if (plant) plant(pass, model);
      if (!checker_->started()) require_same_inputs(model);
      if (!checker_->started())
        for (const graph::ValueId id : model.graph.outputs)
          source_outputs_.push_back(model.values[size_t(id)].name);
      checker_->observe(pass, model);
      a_.source_nodes = model.source_nodes;
      a_.passes_checked++;
      remember_names(model);
    };
    fresh_ = convert::convert_source(q_.source, options_).file;
    options_.observe = plant;
    a_.passes_checked -= a_.passes_checked > 0;  // the import is none
    a_.source = checker_->source();
    a_.suspects = checker_->suspects();
    a_.import_compared = checker_->compared_with_golden();
    a_.nodes_checked = checker_->nodes_checked();
    a_.notes.insert(a_.notes.end(), checker_->notes().begin(), checker_->notes().end());
  }

  /// The file of another source would be compared with nothing.
  void require_same_inputs(const graph::Model& model) const {
    for (const graph::ValueId id : model.graph.inputs) {
      const std::string& name = model.values[size_t(id)].name;
      const auto is_state = [&, &input = name](const StateBefore& state) {
        return state.array.name == input;
      };
      if (model.constant(id) || find_array(inputs_, name) ||
          std::any_of(states_.begin(), states_.end(), is_state))
        continue;
      std::vector<std::string> names;
      for (const Array& array : inputs_) names.push_back(array.name);
      host::fail(host::Exit::kMismatch,
                 q_.source + ": input '" + name + "' is not among the inputs of " + file() +
                     host::did_you_mean(name, names) + "; was it converted from this source?");
    }
  }

  void remember_names(const graph::Model& model) {
    by_name_.clear();
    hollow_.clear();
    std::set<std::string> twice;
    for (const graph::ValueId id : checker_->known_values()) {
      const std::string& name = model.values[size_t(id)].name;
      if (!name.empty() && !by_name_.emplace(name, id).second) twice.insert(name);
      if (taken_.count(name)) hollow_.insert(checker_->reference_values(id));
    }
    for (const std::string& name : twice) by_name_.erase(name);
  }

  /// What the naive kernels make of the file, for operators that the reference cannot compute.
  std::optional<Tensor> taken_from_file(const std::string& name) {
    if (!naive_values_) naive_values_ = naive_values();
    const auto found = naive_values_->find(name);
    if (found == naive_values_->end()) return std::nullopt;
    taken_.insert(name);
    return found->second;
  }

  std::map<std::string, Tensor> naive_values() {
    OpenSettings open = q_.open;
    open.kernels = reinterpret_cast<const ingot_kernel_table*>(oracle_kernels());
    Engine engine(file(), open);
    engine.bind_dims(bindings_);
    SessionSettings settings;
    settings.threads = 1, settings.flags = INGOT_KEEP_VALUES;
    settings.run_seconds = q_.session.run_seconds, engine.create_session(settings);
    feed(&engine, program_question());
    engine.run();
    std::map<std::string, Tensor> values;
    for (uint32_t v = 0; v < engine.summary().value_count; v++) {
      ingot_value_type type{};
      ingot_tensor tensor{};
      ingot_model_value(engine.model().get(), v, &type);
      if (!*type.name || type.kind == 1 || *type.layout ||
          ingot_session_value(engine.session().get(), v, &tensor, nullptr) != INGOT_OK ||
          !tensor.data)
        continue;
      values.emplace(type.name, compare::to_tensor(copy_out(tensor, "")));
    }
    return values;
  }

  /// Whether the file holds the program that conversion makes now; then its values are known by
  /// their place.
  bool same_program() {
    const host::TemporaryPath path(".ingot");
    convert::write_file(fresh_, path.path());
    Engine given(file(), q_.open), made(path.path(), q_.open);
    const bool same = read_part(given, INGOT_PART_PROGRAM) == read_part(made, INGOT_PART_PROGRAM);
    a_.is_fresh_conversion = same && given.summary().weights_bytes == made.summary().weights_bytes;
    for (uint32_t i = 0; a_.is_fresh_conversion; i++) {
      const std::vector<uint8_t> weights = read_part(given, INGOT_PART_WEIGHTS, i);
      if (weights.empty()) break;
      a_.is_fresh_conversion = weights == read_part(made, INGOT_PART_WEIGHTS, i);
    }
    if (!same && !a_.quantization.empty())
      a_.notes.push_back(file() + ": quantized: " + a_.quantization +
                         "; what that loses is no divergence (--rtol, --atol set how much may be "
                         "lost); its values are matched by name");
    else if (!same)
      a_.notes.push_back(file() + ": is not the program that this version converts from " +
                         q_.source +
                         " with these options; its values are matched by name (repeat the options "
                         "of its conversion)");
    else if (!a_.is_fresh_conversion)
      a_.notes.push_back(file() + ": has other weights than this version converts from " +
                         q_.source);
    return same;
  }

  /// A quantized file loses what its conversion asked for: less than its largest number, unless the
  /// user says how much.
  bool allows_loss() const { return !a_.quantization.empty() && !q_.rtol && !q_.atol; }
  void allow_loss(check::Comparison* c) const {
    if (!allows_loss() || c->passed || !c->problem.empty()) return;
    c->allowed = c->largest_expected;
    c->passed = c->largest_error <= c->allowed;
  }

  ProgramQuestion program_question() {
    ProgramQuestion p;
    p.file = file();
    p.open = q_.open;
    p.naive = q_.naive;
    p.bindings = bindings_;
    p.inputs = inputs_;
    p.states = states_;
    p.limits.rtol = q_.rtol, p.limits.atol = q_.atol;
    p.limits.stored = operands_, p.run_seconds = q_.session.run_seconds;
    return p;
  }

  /// State variables, by value of the file: the outputs of the source that they take at the end of
  /// a run.
  std::map<int32_t, std::string> state_outputs(const Engine& engine) const {
    std::map<int32_t, std::string> all;
    for (uint32_t i = 0; i < engine.summary().state_count; i++) {
      const ingot_state state = engine.state(i);
      all[ingot_model_find_value(engine.model().get(), state.type.name)] = state.output_name;
    }
    return all;
  }

  /// What a value of the program that conversion makes now holds when `written` says.
  const Tensor* reference_by_place(const Written& written) const {
    const convert::ValueSpec& value = fresh_.program.values[size_t(written.value)];
    if (value.carried_in < 0)
      return checker_->reference_values(value.graph_value, written.iterations);
    if (loops_->owner(written.instruction) == uint32_t(value.carried_in))  // before the loop
      return checker_->reference_values(value.first_value, written.iterations);
    // another branch, which has no loop
    if (!loops_->is_inside(written.instruction, uint32_t(value.body)))
      return checker_->reference_values(value.graph_value, written.iterations);
    compare::Iterations at = written.iterations;
    at.resize(loops_->depth(uint32_t(value.body)));
    if (const Tensor* next = checker_->reference_values(value.next_value, at)) return next;
    at.back()++;  // not kept, but for what the next iteration begins with
    return value.body_value < 0 || !checker_->is_kept(at)
               ? nullptr
               : checker_->reference_values(value.body_value, at);
  }

  const Tensor* reference_by_name(const Engine& names, const Written& written) const {
    if (loops_->is_written_twice(written.value)) return nullptr;
    ingot_value_type type{};
    ingot_model_value(names.model().get(), uint32_t(written.value), &type);
    const auto at = by_name_.find(type.name);
    return at == by_name_.end() ? nullptr
                                : checker_->reference_values(at->second, written.iterations);
  }

  void check_instructions() {
    const bool by_place = same_program();
    const Engine names(file(), q_.open);
    loops_ = std::make_unique<LoopNest>(file());
    ProgramQuestion p = program_question();
    p.loops = loops_.get();
    p.is_kept = [&](const compare::Iterations& at) { return checker_->is_kept(at); };
    const std::map<int32_t, std::string> states = state_outputs(names);
    p.reference_values = [&](const Written& written) -> const Tensor* {
      if (const auto state = states.find(written.value); state != states.end()) {
        const auto next = checker_->outputs().find(state->second);
        if (next == checker_->outputs().end()) return nullptr;
        if (!taken_.count(state->second)) by_source_.insert(written.instruction);
        return &next->second;
      }
      const Tensor* reference_values =
          by_place ? reference_by_place(written) : reference_by_name(names, written);
      if (reference_values && !hollow_.count(reference_values))
        by_source_.insert(written.instruction);
      return reference_values;
    };
    a_.program = check_program(p);
    winograd_ = a_.program.winograd;
    for (const CheckedInstruction& i : a_.program.instructions) {
      a_.instructions_ran += i.ran;
      a_.instructions_known += i.known;
    }
  }

  void check_outputs() {
    plain_ = run_plainly(program_question(), q_.session);
    a_.outputs_against = expected_.empty() ? "source" : "golden";
    for (const Array& found : plain_) {
      if (const Array* want = find_array(expected_, found.name)) {
        a_.outputs.push_back(check_one(*want, found));
      } else if (expected_.empty()) {
        const auto reference_values = checker_->outputs().find(found.name);
        if (reference_values == checker_->outputs().end()) continue;
        Array have = compare::to_array(in_source_order(found), found.dtype, found.name);
        a_.outputs.push_back(
            {check::compare(found.name,
                            compare::to_array(reference_values->second, found.dtype, found.name),
                            have, compare_options()),
             reference_values->second.dims});
        allow_loss(&a_.outputs.back().comparison);
      }
    }
  }

  /// An output equals the source's only if something on its path was compared with the source: an
  /// instruction or, where none ran, the output itself. What was taken from the file is the file,
  /// not the source.
  void find_uncompared() {
    const auto is_compared = [&](uint32_t i) {
      return a_.program.instructions[i].known && by_source_.count(i);
    };
    const auto has_run = [&](uint32_t i) { return a_.program.instructions[i].ran; };
    const auto is_checked = [&](const std::string& name) {
      return std::any_of(a_.outputs.begin(), a_.outputs.end(), [&](const CheckedOutput& o) {
        return o.comparison.name == name && o.comparison.elements > 0;
      });
    };
    std::set<std::string> in_file;
    for (const OutputPath& path : output_paths(file())) {
      const std::vector<uint32_t>& all = path.instructions;
      in_file.insert(path.name);
      if (std::any_of(all.begin(), all.end(), is_compared)) continue;
      if (std::none_of(all.begin(), all.end(), has_run) && is_checked(path.name)) continue;
      a_.uncompared.push_back(path.name);
    }
    for (const std::string& name : source_outputs_)
      if (!in_file.count(name)) a_.uncompared.push_back(name);
  }

  void blame(DivergenceCause cause, const compare::Divergence& d) {
    a_.cause = cause;
    a_.pass = d.pass + (d.time > 1 ? " (run " + std::to_string(d.time) + ")" : "");
    a_.sources = d.sources;
    a_.value = d.value;
    a_.detail = compare::text(d.measure, d.dims);
    a_.iterations = d.iterations;
    name_source(d.op, d.node);
  }

  void blame(DivergenceCause cause, uint32_t index, const Verdict& m) {
    const CheckedInstruction& i = a_.program.instructions[index];
    a_.cause = cause;
    a_.iterations = m.iterations;
    a_.instruction = int32_t(index);
    a_.pass = cause == DivergenceCause::kKernel ? i.kernel : i.op;
    a_.sources = i.sources;
    a_.value = i.value.empty() ? i.name : i.value;
    a_.detail = compare::text(m, i.dims);
    std::stable_partition(a_.sources.begin(), a_.sources.end(), [&](uint32_t source) {
      return source < a_.source_nodes.size() &&
             compare::makes_value(a_.source_nodes[source], a_.value);
    });
    name_source(i.op, i.name);
  }

  void name_source(const std::string& op, const std::string& node) {
    a_.op = op, a_.node = node;
    if (a_.sources.empty() || a_.sources[0] >= a_.source_nodes.size()) return;
    a_.op = a_.source_nodes[a_.sources[0]].op;
    a_.node = a_.source_nodes[a_.sources[0]].name;
    if (a_.node.empty()) a_.node = a_.source_nodes[a_.sources[0]].output;
  }

  void conclude() {
    if (checker_->wrong_import()) return blame(DivergenceCause::kImport, *checker_->wrong_import());
    if (checker_->wrong_pass()) return blame(DivergenceCause::kPass, *checker_->wrong_pass());
    for (const auto& [cause, field] :
         {std::pair{DivergenceCause::kConversion, &CheckedInstruction::conversion_error},
          std::pair{DivergenceCause::kKernel, &CheckedInstruction::kernel_error}}) {
      const bool may_lose = cause == DivergenceCause::kConversion && allows_loss();
      const int64_t index = first_wrong(a_.program, field, may_lose);
      if (index >= 0)
        return blame(cause, uint32_t(index), a_.program.instructions[size_t(index)].*field);
    }
    const auto wrong = std::find_if(a_.outputs.begin(), a_.outputs.end(),
                                    [](const CheckedOutput& o) { return !o.comparison.passed; });
    if (wrong == a_.outputs.end()) return;
    a_.value = wrong->comparison.name;
    a_.detail = check::summary(wrong->comparison, wrong->dims);
    for (const Array& kept : a_.program.outputs) {
      const Array* plain = find_array(plain_, kept.name);
      if (plain && plain->bytes != kept.bytes) {
        a_.cause = DivergenceCause::kMemory;
        a_.value = kept.name;
        return;
      }
    }
    const int64_t gathered = first_wrong(a_.program, &CheckedInstruction::whole_error, false);
    if (gathered >= 0)
      return blame(DivergenceCause::kRounding, uint32_t(gathered),
                   a_.program.instructions[size_t(gathered)].whole_error);
    a_.cause = DivergenceCause::kOutput;
  }

  const DivergenceQuestion& q_;
  convert::ConvertOptions options_;
  DivergenceAnswer a_;
  std::unique_ptr<host::TemporaryPath> converted_;
  Golden golden_;
  std::vector<StateBefore> states_;
  std::vector<Array> inputs_, expected_, intermediates_, plain_;
  std::map<std::string, int64_t> bindings_;
  std::unique_ptr<GraphChecker> checker_;
  std::unique_ptr<LoopNest> loops_;
  std::map<std::string, graph::ValueId> by_name_;
  std::vector<std::string> source_outputs_;
  std::set<std::string> taken_;     // values of the source that the file gave
  std::set<const Tensor*> hollow_;  // the reference values of them
  std::set<uint32_t> by_source_;    // instructions that something else was known about
  std::optional<std::map<std::string, Tensor>> naive_values_;
  convert::FileSpec fresh_;
  bool winograd_ = true;
  DType stored_ = DType::kInvalid;    // of weights in the file
  DType operands_ = DType::kInvalid;  // of products in a session
};

}  // namespace

DivergenceAnswer find_divergence(const DivergenceQuestion& question) {
  return Finder(question).run();
}

}  // namespace ingot::cli
