// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/precision/check_precision.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/cpu/cpu_kernels.h"
#include "tools/compile/lower/state_pairs.h"
#include "tools/diagnose/golden/compare.h"
#include "tools/diagnose/precision/draw_inputs.h"
#include "tools/diagnose/steps/stream.h"
#include "tools/graph/tensor_math.h"
#include "tools/session/half_kernels.h"
#include "tools/session/run_deadline.h"

namespace ingot::precision {

using host::Array;

namespace {

// Multiply-adds, and as many for each byte that is moved. 1e10 take a core some half a second.
constexpr double kWork = 1e10, kMaxWork = 4e11;
constexpr size_t kMaxDraws = 8, kMaxLoopDraws = 2;
constexpr double kStrange = 10;      // times as large as outputs of inputs up to 1
constexpr double kNaiveTimes = 300;  // as long as the best kernels, roughly
// Of programs with loops, whose work the file does not say. Seconds.
constexpr double kPatience = 60;

double work_of(const cli::ProgramView& view) {
  double work = 0;
  for (const InstructionDef& instruction : view.program().instructions)
    work += double(view.multiply_adds(instruction)) + double(view.bytes_moved(instruction));
  return work;
}

/// Of finite numbers; 0 of what is no float.
double largest_of(const Array& array) {
  double largest = 0;
  for (int64_t k = 0; graph::is_floating(array.dtype) && k < array.elements(); k++)
    if (const double x = std::fabs(check::element_as_double(array, k)); std::isfinite(x))
      largest = std::max(largest, x);
  return largest;
}

std::string in_words(double work) {
  return std::to_string(int64_t(std::ceil(work / 1e9))) + " billion operations a run";
}

}  // namespace

PrecisionCheck::PrecisionCheck(const PrecisionQuestion& question) : question_(question) {
  expected_ = run({});
  if (!obstacle_.empty()) return;
  const bool any = std::any_of(expected_.begin(), expected_.end(), [](const Outputs& outputs) {
    return std::any_of(outputs.begin(), outputs.end(), [](const Array& a) {
      return graph::is_floating(a.dtype) && a.elements() > 0;
    });
  });
  if (!any) obstacle_ = "no output is of floats and has an element";
  leave_out_strange_runs();
}

/// A network that is made for numbers up to 1 may answer larger ones with outputs that it never has
/// otherwise, which say nothing.
void PrecisionCheck::leave_out_strange_runs() {
  const std::vector<bool> is_wide = left_out_;
  for (size_t r = 0; r < is_wide.size(); r++) {
    left_out_[r] = false;
    for (size_t o = 0; is_wide[r] && o < expected_[r].size(); o++) {
      double usual = 0;
      for (size_t other = 0; other < is_wide.size(); other++)
        if (!is_wide[other]) usual = std::max(usual, largest_of(expected_[other][o]));
      if (usual > 0 && largest_of(expected_[r][o]) > kStrange * usual) left_out_[r] = true;
    }
  }
}

size_t PrecisionCheck::runs() const {
  return runs_ - size_t(std::count(left_out_.begin(), left_out_.end(), true));
}

const ingot_kernel_table* PrecisionCheck::kernels() const {
  return cli::without_halves(question_.kernels ? question_.kernels : cli::chosen_kernels());
}

std::optional<PrecisionLoss> PrecisionCheck::loss_in(GpuPrecision precision) {
  if (!obstacle_.empty()) return std::nullopt;
  return loss_in(precision, {}, SIZE_MAX);
}

std::optional<PrecisionLoss> PrecisionCheck::loss_in(GpuPrecision precision,
                                                     const std::vector<bool>& exact, size_t runs) {
  const std::vector<Outputs> found = run(precision, exact, runs);
  if (!obstacle_.empty()) return std::nullopt;
  return measure(found, precision);
}

std::vector<PrecisionCheck::Product> PrecisionCheck::products(GpuPrecision precision) {
  products_.clear();
  if (runs_in_order_ && obstacle_.empty()) (void)run(precision, std::vector<bool>(steps_), 1);
  return products_;
}

std::vector<PrecisionCheck::Outputs> PrecisionCheck::run(
    const std::optional<GpuPrecision>& precision, const std::vector<bool>& exact, size_t runs) {
  try {
    // Extents first: which activations are f16 depends on them.
    std::map<std::string, int64_t> dims;
    {
      cli::Engine engine(question_.file);
      if (question_.golden) {
        cli::Stream(&engine, *question_.golden).bind_shapes();
      } else if (!question_.inputs.empty()) {
        for (uint32_t i = 0; i < question_.inputs[0].size(); i++)
          engine.bind_from_shape(i, question_.inputs[0][i].dims, question_.file);
      }
      engine.assume_rest();
      dims = engine.bindings();
    }
    const cli::ProgramView view(question_.file, dims);
    if (!view.bound()) {
      obstacle_ = "dynamic dimensions have no usual extent";
      return {};
    }
    const bool is_naive =
        kernels() == reinterpret_cast<const ingot_kernel_table*>(oracle_kernels());
    const double work = work_of(view) * (is_naive ? kNaiveTimes : 1);
    if (work > kMaxWork) {
      obstacle_ = "it would take too long (" + in_words(work) + ", at most " + in_words(kMaxWork) +
                  " are tried)";
      return {};
    }
    const Span<const StepDef> steps = view.program().steps;
    has_loops_ = std::any_of(steps.data, steps.data + steps.size,
                             [](const StepDef& step) { return step.kind == StepKind::kLoop; });
    runs_in_order_ = std::all_of(steps.data, steps.data + steps.size,
                                 [](const StepDef& step) { return step.kind == StepKind::kRun; });
    work_ = work, steps_ = steps.size;
    runs_ = question_.golden ? 1
            : !question_.inputs.empty()
                ? question_.inputs.size()
                : std::min(has_loops_ ? kMaxLoopDraws : kMaxDraws,
                           size_t(std::clamp(kWork / std::max(work, 1.0), 1.0, 1e3)));
    std::optional<ReducedKernels> reduced;
    if (precision) reduced.emplace(kernels(), view, *precision, exact);
    if (reduced && !reduced->has_all()) {
      obstacle_ = "there are too many kernels to watch";
      return {};
    }
    cli::OpenSettings open;
    open.kernels = reduced ? reduced->table() : kernels();
    cli::Engine engine(question_.file, open);
    engine.bind_dims(dims);
    std::vector<Outputs> outputs =
        question_.golden ? run_golden(&engine) : run_each(&engine, std::min(runs, runs_));
    products_.clear();
    for (uint32_t i = 0; !exact.empty() && i < steps.size; i++)
      if (reduced->rounded_steps()[i])
        products_.push_back(
            {i, steps[i].index,
             double(view.multiply_adds(view.program().instructions[steps[i].index]))});
    return outputs;
  } catch (const host::Failure& failure) {
    obstacle_ = failure.what();
  } catch (const std::bad_alloc&) {
    obstacle_ = "there is not enough memory";
  }
  return {};
}

namespace {

cli::SessionSettings one_thread() {
  cli::SessionSettings settings;
  settings.device = "cpu", settings.threads = 1;
  return settings;
}

/// By input the output that it is in the next run, where their names say so; -1: none.
std::vector<int64_t> fed_back(const cli::Engine& engine) {
  std::vector<int64_t> fed;
  for (const std::string& input : engine.input_names()) {
    const std::vector<std::string> outputs = engine.output_names();
    const auto at = std::find_if(outputs.begin(), outputs.end(), [&](const std::string& output) {
      return convert::are_named_as_state(input, output);
    });
    fed.push_back(at == outputs.end() ? -1 : at - outputs.begin());
  }
  return fed;
}

}  // namespace

void PrecisionCheck::give_up() {
  obstacle_ = "it takes longer than " + std::to_string(int(kPatience)) + " s";
}

std::vector<PrecisionCheck::Outputs> PrecisionCheck::run_golden(cli::Engine* engine) {
  cli::Stream stream(engine, *question_.golden);
  stream.bind_shapes();
  engine->create_session(one_thread());
  std::optional<cli::RunDeadline> deadline;
  if (has_loops_) deadline.emplace(engine->session().get(), kPatience, [] {});
  std::vector<std::string> notes;
  try {
    return {stream.run(&notes).outputs};
  } catch (const host::Failure&) {
    if (!deadline || !deadline->has_passed()) throw;
    give_up();
    return {};
  }
}

/// What input i is in run r.
Array PrecisionCheck::input_of(cli::Engine* engine, uint32_t i, size_t r, int64_t fed,
                               const Outputs& last) const {
  if (!question_.inputs.empty()) return question_.inputs[r][i];
  const ingot_tensor like = engine->session().input(i).value();
  Array drawn = draw_input(*engine, i, like, r);
  if (fed < 0) return drawn;
  const bool is_same = !last.empty() && last[size_t(fed)].dtype == drawn.dtype &&
                       last[size_t(fed)].dims == drawn.dims;
  if (is_same) drawn.bytes = last[size_t(fed)].bytes;
  if (last.empty()) std::fill(drawn.bytes.begin(), drawn.bytes.end(), uint8_t(0));
  return drawn;
}

/// One session: what it keeps from run to run it keeps here.
std::vector<PrecisionCheck::Outputs> PrecisionCheck::run_each(cli::Engine* engine, size_t runs) {
  engine->create_session(one_thread());
  std::optional<cli::RunDeadline> deadline;
  if (has_loops_) deadline.emplace(engine->session().get(), kPatience, [] {});
  const std::vector<int64_t> fed = fed_back(*engine);
  std::vector<Outputs> all;
  std::vector<bool> is_wide(runs, false);
  for (size_t r = 0; r < runs; r++) {
    for (uint32_t i = 0; i < engine->summary().input_count; i++) {
      const Array input = input_of(engine, i, r, fed[i], r ? all.back() : Outputs());
      engine->set_input(i, input, question_.file + ": input '" + engine->input(i).name + "'");
      if (fed[i] < 0 && question_.inputs.empty() && largest_of(input) > 1) is_wide[r] = true;
    }
    if (!engine->run_unless_cancelled()) {
      give_up();
      return {};
    }
    all.push_back(engine->take_outputs());
  }
  if (expected_.empty()) left_out_ = is_wide;  // of the exact kernels
  return all;
}

/// Of user's inputs the worst. A drawn one may happen to lie between two answers, where everything
/// is an error: of four and more the worst is passed over.
double PrecisionCheck::error_of(std::vector<double> errors) const {
  constexpr size_t kFew = 4;
  const bool is_drawn = !question_.golden && question_.inputs.empty();
  std::sort(errors.begin(), errors.end(), std::greater<>());
  return errors.empty() ? 0 : errors[is_drawn && errors.size() >= kFew ? 1 : 0];
}

/// Errors of all runs as parts of the largest number of all runs: one whose outputs are next to
/// nothing says little.
PrecisionLoss PrecisionCheck::measure(const std::vector<Outputs>& found,
                                      GpuPrecision precision) const {
  const DType stored =
      check::narrower(cli::stored_type(question_.file),
                      precision == GpuPrecision::kBf16 ? DType::kBF16 : DType::kF16);
  PrecisionLoss worst;
  double worst_share = -1;
  for (size_t o = 0; o < expected_[0].size(); o++) {
    std::vector<double> errors;
    double largest = 0;
    const DType dtype = expected_[0][o].dtype;
    if (!graph::is_floating(dtype)) continue;
    for (size_t r = 0; r < found.size(); r++) {
      if (r < left_out_.size() && left_out_[r]) continue;
      check::CompareOptions options;
      options.stored = stored;
      const check::Comparison c =
          check::compare(expected_[r][o].name, expected_[r][o], found[r][o], options);
      if (!c.problem.empty()) continue;  // as many elements as the data makes
      errors.push_back(c.largest_error), largest = std::max(largest, c.largest_expected);
    }
    const double error = error_of(std::move(errors));
    const check::Tolerance table = check::tolerance_of(dtype, true, stored);
    const bool is_given = question_.rtol || question_.atol;
    const double unit = largest > 0 ? largest : 1;
    const double allowed =
        is_given ? question_.rtol.value_or(0) + question_.atol.value_or(0) / unit : table.relative;
    const double share = error / unit / std::max(allowed, 1e-300);
    if (share <= worst_share) continue;
    worst_share = share;
    worst = {error / unit, allowed, expected_[0][o].name};
  }
  return worst;
}

}  // namespace ingot::precision
