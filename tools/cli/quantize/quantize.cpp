// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tools/cli/output/terminal.h"
#include "tools/cli/quantize/channel_shift.h"
#include "tools/cli/quantize/network_run.h"
#include "tools/cli/quantize/output_loss.h"
#include "tools/cli/quantize/quantize_dynamic.h"
#include "tools/compile/quantize/dynamic.h"
#include "tools/compile/quantize/equalize.h"
#include "tools/compile/quantize/tables.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

constexpr uint64_t kMaxCompared = 64;  // samples on which outputs are compared
constexpr uint64_t kMaxShifted = 512;  // on which their means are
// dB at the outputs: later runs have larger numbers than the samples had, which are clipped further
constexpr double kWorthClipping = 3;
// dB that rows of their own have to gain, and below which outputs are worth it
constexpr double kWorthRows = 3, kFewDecibels = 30;

struct Seen {
  quantize::Histogram histogram;
  // of each channel, of a layer's input or output
  std::vector<double> sums, largest;
  int64_t per_channel = 0;  // numbers in each
};

class Quantizer {
  using Histogram = quantize::Histogram;
  using Layer = quantize::Layer;
  using Model = graph::Model;
  using Sites = quantize::Sites;
  using ValueId = graph::ValueId;

 public:
  Quantizer(const convert::Source& source, const convert::ConvertOptions& options,
            const ConvertArguments& arguments, QuantizeReport* report)
      : opened_(source),
        source_(source.path()),
        options_(options),
        arguments_(arguments),
        report_(*report),
        chooses_(arguments.calibrate_method == "auto"),
        method_(chooses_ ? "mse" : arguments.calibrate_method),
        uses_rows_(arguments.linear == "rows"),
        samples_(arguments.calibrate, most_samples(arguments.calibrate_samples)) {
    keep_.patterns = arguments.keep_fp32;
    insert_.correct_bias = corrects_bias();
    use_method(method_);
  }

  convert::ConvertOptions run() {
    calibrate();
    if (arguments_.equalize == "on") equalize();
    if (uses_rows_ && row_layers_.empty())
      report_.notes.push_back("--linear rows: no linear layer reads what is in floating point");
    if (chooses_) choose();
    if (arguments_.sensitivity || !arguments_.sensitivity_html.empty() ||
        !arguments_.budget.empty())
      measure_layers();
    if (!arguments_.budget.empty())
      meet_budget();
    else if (!chooses_)
      report_.outputs = losses_with(keep_);
    if (corrects_bias() && !last_outputs_.empty()) correct_means();
    finish_report();
    convert::ConvertOptions made = options_;
    made.rewrite = rewrite(keep_);
    return made;
  }

 private:
  /// As the source has its inputs and outputs, on this machine.
  convert::ConvertOptions plain_options() const {
    convert::ConvertOptions plain = options_;
    plain.targets = {"cpu"};
    plain.winograd = convert::WinogradMode::kOff;
    plain.storage = {};
    plain.io_layout.clear();
    plain.goldens.clear();
    plain.keep_weights = false;
    if (!samples_.are_images()) plain.images = {};
    return plain;
  }

  std::function<void(Model&)> rewrite(const quantize::Keep& keep) const {
    return [found = found_, insert = insert_, pairs = pairs_, keep,
            rows = uses_rows_ ? row_layers_ : std::set<size_t>()](Model& model) {
      quantize::prepare(model);
      quantize::equalize(model, pairs);
      std::set<std::string> matched;
      std::set<ValueId> weights;
      for (const Layer& layer : quantize::find_sites(model, keep, &matched).layers)
        if (rows.count(layer.node)) weights.insert(layer.weights);
      quantize::Keep others = keep;
      others.nodes.insert(rows.begin(), rows.end());
      quantize::insert_quantization(model, quantize::find_sites(model, others, &matched), found,
                                    insert);
      if (!weights.empty()) quantize::quantize_in_each_run(model, {}, &matched, &weights);
      quantize::quantize_tables(model, keep, &matched);
    };
  }

  bool corrects_bias() const { return arguments_.bias_correction == "on"; }
  std::unique_ptr<NetworkRun> network(const convert::ConvertOptions& options) const {
    return std::make_unique<NetworkRun>(convert::convert_source(opened_, options).file, source_);
  }

  /// The f32 network whose tensors of bytes are outputs.
  convert::ConvertOptions observed_options() {
    convert::ConvertOptions observed = plain_options();
    observed.rewrite = [this](Model& model) {
      refuse_quantized(model, source_);
      quantize::prepare(model);
      quantize::equalize(model, pairs_);
      std::set<std::string> matched;
      sites_ = quantize::find_sites(model, keep_, &matched);
      quantize::find_tables(model, keep_, &matched);
      for (const std::string& pattern : keep_.patterns)
        if (!matched.count(pattern)) fail_unmatched(model, pattern);
      if (sites_.layers.empty())
        fail(Exit::kUnsupported,
             source_ +
                 ": has no layer that is computed with bytes: no convolution or matrix "
                 "product with constant weights outside of branches and loops" +
                 (sites_.kept.empty() ? "" : " that --keep-fp32 leaves"));
      name_layers(model);
      last_outputs_ = quantize::find_last_outputs(model, sites_);
      row_layers_ = quantize::find_row_layers(model, keep_);
      sources_.values = model.values, sources_.graph = model.graph;
      quantize::add_outputs(model, sites_);
    };
    return observed;
  }

  [[noreturn]] void fail_unmatched(const Model& model, const std::string& pattern) const {
    std::set<std::string> matched;
    std::vector<std::string> names;
    for (const Layer& layer : quantize::find_sites(model, {}, &matched).layers)
      names.push_back(layer.name);
    fail_unknown_layer(pattern, names);
  }

  void name_layers(const Model& model) {
    weights_of_.clear(), names_.clear();
    for (const Layer& layer : sites_.layers)
      weights_of_.push_back(model.values[size_t(layer.weights)].name);
    for (const ValueId id : sites_.tensors) names_[id] = model.values[size_t(id)].name;
  }

  void calibrate() {
    Progress progress("calibrating " + source_);
    progress.show("converting");
    samples_.rewind();
    found_ = {};
    report_.notes.clear();
    const std::unique_ptr<NetworkRun> run = network(observed_options());
    std::map<ValueId, bool> channels;  // of layers' tensors: whether they are dimension 1
    for (const Layer& layer : sites_.layers) channels[layer.output] = layer.op == op::Conv;
    for (const Layer& layer : sites_.layers) channels[layer.input] = layer.op == op::Conv;
    std::map<ValueId, Seen> seen;
    std::vector<char> is_alive(run->engine().summary().input_count, 0);
    Sample sample;
    while (samples_.next(run->engine(), &sample)) {
      progress.show("sample " + std::to_string(samples_.given()), samples_.progress());
      note_alive(sample, &is_alive);
      run->run(sample);
      for (uint32_t o = 0; o < run->engine().summary().output_count; o++) {
        const int64_t id = quantize::number_of_output(run->engine().output(o).name, "calibrate");
        if (id >= 0) add(run->output(o), ValueId(id), channels, sample.where, &seen[ValueId(id)]);
      }
    }
    report_.samples = samples_.given();
    if (report_.samples == 0) fail(Exit::kMismatch, arguments_.calibrate + ": has no samples");
    if (std::count(is_alive.begin(), is_alive.end(), 1) == 0)
      fail(Exit::kMismatch, arguments_.calibrate + ": every input is zero in all " +
                                std::to_string(report_.samples) +
                                " samples; give data like the network's own");
    for (const auto& [id, what] : seen) take(id, what);
    seen_ = std::move(seen);
    use_method(method_);
  }

  void add(const host::Array& array, ValueId id, const std::map<ValueId, bool>& channels,
           const std::string& where, Seen* seen) const {
    const float* numbers = array.as<float>();
    seen->histogram.add(numbers, size_t(array.elements()));
    if (seen->histogram.not_finite())
      fail(Exit::kMismatch, where + ": makes " + std::to_string(seen->histogram.not_finite()) +
                                " NaN or infinite numbers in '" + names_.at(id) +
                                "', which no byte stands for; leave that layer in floating point "
                                "with --keep-fp32, or look at the data");
    const auto at = channels.find(id);
    if (at == channels.end() || array.dims.empty() || array.elements() == 0) return;
    const size_t axis = at->second ? 1 : array.dims.size() - 1;
    int64_t inner = 1;
    for (size_t d = axis + 1; d < array.dims.size(); d++) inner *= array.dims[d];
    const int64_t count = array.dims[axis];
    seen->sums.resize(size_t(count), 0), seen->largest.resize(size_t(count), 0);
    for (int64_t row = 0; row < array.elements() / inner; row++) {
      const size_t c = size_t(row % count);
      for (int64_t i = row * inner; i < (row + 1) * inner; i++) {
        seen->sums[c] += double(numbers[i]);
        seen->largest[c] = std::max(seen->largest[c], std::fabs(double(numbers[i])));
      }
    }
    seen->per_channel += array.elements() / count;
  }

  void take(ValueId id, const Seen& seen) {
    if (seen.histogram.is_zero())
      report_.notes.push_back("'" + names_.at(id) + "' was zero in all samples");
    if (seen.sums.empty() || !seen.per_channel) return;
    std::vector<double>& means = found_.means[id];
    for (const double sum : seen.sums) means.push_back(sum / double(seen.per_channel));
  }

  void use_method(const std::string& method) {
    method_ = method;
    rule_ = quantize::parse_range_rule(method);
    insert_.fit_weights = chooses_ || rule_.method == quantize::RangeMethod::kMse;
    for (const auto& [id, seen] : seen_) found_.ranges[id] = seen.histogram.range(rule_);
  }

  /// Ranges, and whether biases are corrected, by what the outputs lose.
  void choose() {
    std::vector<OutputLoss> best;
    double most = -std::numeric_limits<double>::infinity();
    std::string method = method_;
    bool correct = insert_.correct_bias;
    const auto attempt = [&](double gain) {
      std::vector<OutputLoss> found = losses_with(keep_);
      const double least = least_decibels(found);
      if (!best.empty() && least <= most + gain) return;
      most = least, best = std::move(found), method = method_, correct = insert_.correct_bias;
    };
    use_method("minmax");
    attempt(0);
    use_method("mse");
    attempt(kWorthClipping);
    if (insert_.correct_bias) {
      use_method(method);
      insert_.correct_bias = false;
      attempt(0);
    }
    use_method(method);
    insert_.correct_bias = correct;
    bool uses_rows = uses_rows_;
    if (arguments_.linear == "auto" && may_use_rows() && most < kFewDecibels) {
      const double before = most;
      uses_rows_ = true;
      attempt(kWorthRows);
      uses_rows = most > before;
    }
    uses_rows_ = uses_rows;
    if (!correct && corrects_bias())
      report_.notes.push_back("biases stay as they are, which measured better");
    report_.outputs = std::move(best);
  }

  /// How far the last layers of the network of bytes are from those in f32 on average: what all
  /// roundings and clips before them amount to.
  void measure_shifts() {
    Progress progress("measuring the means of " + source_);
    progress.show("converting");
    convert::ConvertOptions options = plain_options();
    options.rewrite = [this](Model& model) {
      quantize::prepare(model);
      quantize::equalize(model, pairs_);
      quantize::add_named_outputs(model, last_outputs_, "shift");
    };
    const std::unique_ptr<NetworkRun> f32 = network(options);
    options.rewrite = [this, quantized = rewrite(keep_)](Model& model) {
      quantized(model);
      quantize::add_named_outputs(model, last_outputs_, "shift");
    };
    const std::unique_ptr<NetworkRun> bytes = network(options);
    ChannelShifts shifts(sites_);
    for_samples(f32->engine(), kMaxShifted, &progress, [&](const Sample& sample) {
      f32->run(sample);
      bytes->run(sample);
      shifts.add(f32.get(), bytes.get());
    });
    found_.shifts = shifts.take();
  }

  /// Takes those shifts off the biases of the last layers, where the outputs gain.
  void correct_means() {
    const std::vector<OutputLoss> before = report_.outputs;
    const double metric = report_.metric;
    measure_shifts();
    report_.outputs = losses_with(keep_);
    const bool meets = arguments_.budget.empty() || is_within(parse_budget(arguments_.budget));
    if (meets && least_decibels(report_.outputs) > least_decibels(before)) return;
    found_.shifts.clear();
    report_.outputs = before, report_.metric = metric;
  }

  bool may_use_rows() const { return !row_layers_.empty(); }

  /// Evens channels out where they are unbalanced, and looks at the data again.
  void equalize() {
    std::map<ValueId, std::vector<double>> largest;
    for (const auto& [id, seen] : seen_)
      if (!seen.largest.empty()) largest[id] = seen.largest;
    pairs_ = quantize::find_unbalanced(sources_, sites_, largest);
    sources_ = {};
    if (pairs_.empty()) return;
    calibrate();
    report_.notes.push_back(std::to_string(pairs_.size()) +
                            (pairs_.size() == 1 ? " layer reads" : " layers read") +
                            " unbalanced channels, which were equalized");
  }

  /// Each layer alone, of the f32 network's own tensors.
  void measure_layers() {
    Progress progress("measuring the layers of " + source_);
    convert::ConvertOptions options = plain_options();
    options.rewrite = [this](Model& model) {
      quantize::prepare(model);
      quantize::equalize(model, pairs_);
      std::set<std::string> matched;
      const Sites sites = quantize::find_sites(model, keep_, &matched);
      quantize::add_layer_losses(model, sites, found_, insert_);
    };
    progress.show("converting");
    const std::unique_ptr<NetworkRun> run = network(options);
    std::vector<double> noise(sites_.layers.size(), 0), signal(sites_.layers.size(), 0);
    for_samples(run->engine(), kMaxCompared, &progress, [&](const Sample& sample) {
      run->run(sample);
      for (uint32_t o = 0; o < run->engine().summary().output_count; o++) {
        const std::string name = run->engine().output(o).name;
        for (const auto& [what, sums] : {std::pair{"noise", &noise}, std::pair{"signal", &signal}})
          if (const int64_t n = quantize::number_of_output(name, what); n >= 0)
            sums->at(size_t(n)) += double(run->output(o).as<float>()[0]);
      }
    });
    for (size_t i = 0; i < sites_.layers.size(); i++) {
      const Layer& layer = sites_.layers[i];
      const Histogram& output = histogram(layer.output);
      LayerLoss loss;
      loss.name = layer.name, loss.op = graph::text(layer.op), loss.weights = weights_of_[i];
      loss.signal_to_noise = decibels(signal[i], noise[i]);
      loss.input = found_.ranges[sites_.scaled_as(layer.input)];
      loss.output = found_.ranges[sites_.scaled_as(layer.output)];
      loss.low = output.low(), loss.high = output.high();
      if (layer.gives_floats) loss.output = {loss.low, loss.high};
      loss.clipped = output.clipped(loss.output);
      loss.node = layer.node;
      report_.losses.push_back(std::move(loss));
    }
    std::stable_sort(report_.losses.begin(), report_.losses.end(),
                     [](const LayerLoss& a, const LayerLoss& b) {
                       return a.signal_to_noise < b.signal_to_noise;
                     });
  }

  const Histogram& histogram(ValueId id) const { return seen_.at(sites_.scaled_as(id)).histogram; }

  /// Some of the samples, spread over all; of a network with a state the first ones, as they follow
  /// each other.
  template <class Visit>
  void for_samples(const Engine& engine, uint64_t most, Progress* progress, Visit visit) {
    const bool has_states = engine.summary().state_count > 0;
    const uint64_t step = has_states ? 1 : (report_.samples + most - 1) / most;
    samples_.rewind();
    Sample sample;
    for (uint64_t i = 0, taken = 0; taken < most && samples_.next(engine, &sample); i++) {
      if (i % step) continue;
      taken++;
      progress->show("sample " + std::to_string(samples_.given()), samples_.progress());
      visit(sample);
    }
  }

  /// The network with these layers in floating point beside the one in f32.
  std::vector<OutputLoss> losses_with(const quantize::Keep& keep) {
    Progress progress("comparing outputs of " + source_);
    progress.show("converting");
    convert::ConvertOptions options = plain_options();
    if (!f32_) f32_ = network(options);
    options.rewrite = rewrite(keep);
    const std::unique_ptr<NetworkRun> bytes = network(options);
    OutputLosses losses(f32_->engine());
    for_samples(f32_->engine(), kMaxCompared, &progress, [&](const Sample& sample) {
      f32_->run(sample);
      bytes->run(sample);
      for (uint32_t o = 0; o < f32_->engine().summary().output_count; o++)
        losses.add(o, f32_->output(o), bytes->output(o));
    });
    if (metric_counts_ && !arguments_.metric.empty()) {
      progress.clear();
      if (std::isnan(metric_f32_)) metric_f32_ = metric_of(arguments_.metric, f32_->path());
      report_.metric_f32 = metric_f32_;
      report_.metric = metric_of(arguments_.metric, bytes->path());
    }
    return losses.take();
  }

  bool is_within(const Budget& budget) const {
    if (!arguments_.metric.empty())
      return std::fabs(report_.metric - report_.metric_f32) <=
             budget.number / 100 * std::fabs(report_.metric_f32);
    for (const OutputLoss& loss : report_.outputs)
      if (budget.is_ratio ? loss.signal_to_noise < budget.number
                          : 100 * (1 - loss.agreement) > budget.number)
        return false;
    return true;
  }

  /// The fewest of the worst layers that have to stay in floating point, by halving.
  void meet_budget() {
    const Budget budget = parse_budget(arguments_.budget);
    metric_counts_ = true;
    const auto is_enough = [&](size_t kept) {
      quantize::Keep keep = keep_;
      for (size_t i = 0; i < kept; i++) keep.nodes.insert(report_.losses[i].node);
      report_.outputs = losses_with(keep);
      return is_within(budget);
    };
    size_t low = 0, high = report_.losses.size() - 1;  // all but one may stay
    if (is_enough(0)) return;
    for (size_t step = 1; step < high; step *= 2) {
      if (is_enough(step)) {
        high = step;
        break;
      }
      low = step;
    }
    while (high - low > 1) {
      const size_t middle = low + (high - low) / 2;
      (is_enough(middle) ? high : low) = middle;
    }
    if (!is_enough(high))
      fail(Exit::kCheckFailed, "--budget " + arguments_.budget + ": " + source_ +
                                   " does not meet it with all layers but one in f32 (" +
                                   outputs_text(report_.outputs) +
                                   "); allow more, or give other calibration data");
    for (size_t i = 0; i < high; i++) keep_.nodes.insert(report_.losses[i].node);
  }

  void finish_report() {
    report_.method = method_;
    report_.layers = sites_.layers.size() + sites_.kept.size();
    report_.kept = sites_.kept.size() + keep_.nodes.size();
    const auto in_rows = [this](size_t node) {
      return uses_rows_ && row_layers_.count(node) && !keep_.nodes.count(node);
    };
    for (const size_t node : row_layers_) report_.rows += in_rows(node);
    for (LayerLoss& loss : report_.losses)
      loss.kept = keep_.nodes.count(loss.node) != 0, loss.rows = in_rows(loss.node);
  }

  const convert::Source& opened_;
  const std::string& source_;  // its path
  const convert::ConvertOptions& options_;
  const ConvertArguments& arguments_;
  QuantizeReport& report_;
  const bool chooses_;
  std::string method_;
  bool uses_rows_;
  quantize::RangeRule rule_;
  Samples samples_;
  quantize::Keep keep_;
  quantize::InsertOptions insert_;
  Sites sites_;
  Model sources_;  // what equalize() looks at
  std::vector<quantize::Equalized> pairs_;
  quantize::Found found_;
  std::map<ValueId, Seen> seen_;
  std::map<ValueId, std::string> names_;
  std::vector<std::string> weights_of_;
  std::vector<ValueId> last_outputs_;  // of layers behind which there is no further one
  std::set<size_t> row_layers_;        // linear layers that may quantize their inputs in each run
  std::unique_ptr<NetworkRun> f32_;
  bool metric_counts_ = false;  // the command is asked
  double metric_f32_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace

convert::ConvertOptions quantized(const convert::Source& source,
                                  const convert::ConvertOptions& options,
                                  const ConvertArguments& arguments, QuantizeReport* report) {
  check_quantize_arguments(arguments);
  if (arguments.calibrate.empty())
    return quantized_in_each_run(source.path(), options, arguments, report);
  return Quantizer(source, options, arguments, report).run();
}

}  // namespace ingot::cli
