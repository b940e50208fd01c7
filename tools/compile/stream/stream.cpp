// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/stream/stream.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <numeric>
#include <set>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/editor.h"
#include "tools/compile/stream/multiply_adds.h"
#include "tools/compile/stream/rules.h"
#include "tools/files/suggest.h"

namespace ingot::convert {
namespace {

using graph::fail_mismatch;
using graph::fail_unsupported;
using graph::fail_usage;
using graph::Graph;
using graph::Model;
using graph::Node;
using graph::ValueId;

/// The values of an outer graph that subgraphs read, among others.
void add_reads(const Graph& graph, std::set<ValueId>* reads) {
  for (const Node& node : graph.nodes) {
    reads->insert(node.inputs.begin(), node.inputs.end());
    for (const auto& inner : node.subgraphs()) add_reads(*inner, reads);
  }
  reads->insert(graph.outputs.begin(), graph.outputs.end());
}

class Streaming {
 public:
  Streaming(Model& model, const StreamOptions& options)
      : model_(model),
        options_(options),
        where_("--stream " + (options.input.empty() ? "" : options.input + ":") +
               std::to_string(options.axis) + "=" + std::to_string(options.frames) + ": ") {}

  StreamedNetwork run() {
    find_input();
    find_rules();
    check_latency();
    check_frames();
    const double whole = multiply_adds(model_);
    rewrite();
    describe(whole);
    return std::move(made_);
  }

 private:
  const std::string& name(ValueId id) const { return model_.values[size_t(id)].name; }

  void find_input() {
    std::vector<std::string> names;
    for (const ValueId id : model_.graph.inputs) {
      if (model_.constant(id)) continue;
      names.push_back(name(id));
      if (options_.input.empty() || name(id) == options_.input) input_ = id;
    }
    std::string all;
    for (const std::string& one : names) all += (all.empty() ? "" : ", ") + one;
    if (options_.input.empty() && names.size() != 1)
      fail_mismatch(where_ + "the network has " + std::to_string(names.size()) +
                    " inputs; choose one: --stream INPUT:" + std::to_string(options_.axis) + "=" +
                    std::to_string(options_.frames) + "; there are " + all);
    if (input_ < 0)
      fail_mismatch(where_ + "the network has no input '" + options_.input + "'" +
                    host::did_you_mean(options_.input, names));
    const graph::Dims& dims = model_.values[size_t(input_)].dims;
    if (options_.axis >= dims.size())
      fail_mismatch(where_ + "input '" + name(input_) + "' has no axis " +
                    std::to_string(options_.axis) + ", its shape is " + text(dims));
    const graph::Dim& extent = dims[options_.axis];
    if (!extent.value())
      fail_mismatch(where_ + "axis " + std::to_string(options_.axis) + " of input '" +
                    name(input_) + "' is dynamic (" + extent.text() +
                    "); set how many frames the whole network has with --dim or "
                    "--input-shape");
    whole_frames_ = *extent.value();
    if (options_.frames > whole_frames_)
      fail_mismatch(where_ + "axis " + std::to_string(options_.axis) + " of input '" +
                    name(input_) + "' has " + std::to_string(whole_frames_) +
                    " frames, expected at most as many new ones a run");
    Timeline& timeline = timelines_[input_];
    timeline.axis = options_.axis;
    timeline.extent = timeline.exact_to = whole_frames_;
  }

  void find_rules() {
    std::vector<graph::Unsupported> refused;
    std::set<ValueId> unknown;  // outputs of operators that were refused
    for (size_t i = 0; i < model_.graph.nodes.size(); i++) {
      const Node& node = model_.graph.nodes[i];
      std::set<ValueId> reads(node.inputs.begin(), node.inputs.end());
      for (const auto& inner : node.subgraphs()) add_reads(*inner, &reads);
      const auto is_in = [&](const auto& values) {
        return std::any_of(reads.begin(), reads.end(),
                           [&](ValueId id) { return values.count(id) != 0; });
      };
      if (is_in(unknown)) {
        unknown.insert(node.outputs.begin(), node.outputs.end());
        continue;
      }
      if (!is_in(timelines_)) continue;
      try {
        add_rule(i, node);
      } catch (const NotStreamable& no) {
        refused.push_back({text(node.op), "", node.name,
                           node.outputs.empty() || node.outputs[0] < 0 ? "" : name(node.outputs[0]),
                           no.why, no.hint});
        unknown.insert(node.outputs.begin(), node.outputs.end());
      }
      unknown.erase(graph::kAbsent);
    }
    if (!refused.empty()) fail_operators(std::move(refused));
  }

  void add_rule(size_t place, const Node& node) {
    if (!node.subgraphs().empty()) throw NotStreamable{"a branch or loop reads frames", ""};
    StreamRule rule = stream_rule(model_, node, timelines_);
    std::set<ValueId> carried;
    for (const CarriedState& state : rule.carried) {
      if (state.operand < node.inputs.size() && node.inputs[state.operand] >= 0) {
        const graph::Constant* first = model_.constant(node.inputs[state.operand]);
        if (!first || (first->elements() > 0 && !passes::uniform(*first)))
          throw NotStreamable{"its first state is not one number repeated", ""};
      }
      if (state.output < node.outputs.size() && node.outputs[state.output] >= 0) {
        carried.insert(node.outputs[state.output]);
        if (is_read(node.outputs[state.output]))
          throw NotStreamable{"its state after the last frame of the whole is read",
                              "take its output of each frame"};
      }
    }
    for (const ValueId id : node.outputs)
      if (id >= 0 && !carried.count(id)) {
        Timeline timeline = rule.y;
        const graph::Dims& dims = model_.values[size_t(id)].dims;
        if (timeline.axis >= dims.size() || dims[timeline.axis] != graph::Dim(timeline.extent))
          throw NotStreamable{"its output '" + name(id) + "' has no such axis", ""};
        timelines_[id] = timeline;
      }
    rules_.emplace_back(place, std::move(rule));
  }

  bool is_read(ValueId id) const {
    std::set<ValueId> reads;
    add_reads(model_.graph, &reads);
    return reads.count(id) != 0;
  }

  [[noreturn]] void fail_operators(std::vector<graph::Unsupported> refused) const {
    graph::ConversionError error;
    error.exit_code = host::Exit::kUnsupported;
    const graph::Unsupported& first = refused[0];
    error.message =
        where_ + first.op + (first.node.empty() ? "" : " '" + first.node + "'") +
        " cannot run frame by frame: " + first.why + (first.hint.empty() ? "" : "; " + first.hint) +
        (refused.size() == 1 ? "" : "; " + std::to_string(refused.size()) + " operators in all");
    if (refused.size() == 1) error.says = graph::Says::kWhyAndHint;
    error.unsupported = std::move(refused);
    throw error;
  }

  /// The operator that waits, seen from an output: the last whose inputs do not wait themselves.
  const Node* waiting_node(ValueId id) const {
    const Node* last = nullptr;
    for (;;) {
      const auto made = std::find_if(rules_.rbegin(), rules_.rend(), [&](const auto& rule) {
        const std::vector<ValueId>& outputs = model_.graph.nodes[rule.first].outputs;
        return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
      });
      if (made == rules_.rend()) return last;
      last = &model_.graph.nodes[made->first];
      const auto waits = std::find_if(last->inputs.begin(), last->inputs.end(), [&](ValueId input) {
        const auto found = timelines_.find(input);
        return found != timelines_.end() && found->second.look_ahead(whole_frames_) > 0;
      });
      if (waits == last->inputs.end()) return last;
      id = *waits;
    }
  }

  void check_latency() {
    bool has_frames = false;
    for (const ValueId id : model_.graph.outputs) {
      const auto found = timelines_.find(id);
      if (found == timelines_.end()) continue;
      has_frames = true;
      const int64_t waits = found->second.look_ahead(whole_frames_) * found->second.rate;
      if (waits <= options_.latency) continue;
      const Node* node = waiting_node(id);
      fail_unsupported(where_ + (node ? text(node->op) + " '" + node->name + "'" : "a port") +
                       " looks ahead: output '" + name(id) + "' waits for " +
                       std::to_string(waits) + " more frames of the input, allowed are " +
                       std::to_string(options_.latency) + "; --latency " + std::to_string(waits) +
                       " allows it");
    }
    if (!has_frames) fail_mismatch(where_ + "no output has frames of input '" + name(input_) + "'");
  }

  void check_frames() {
    int64_t together = 1;
    for (const auto& entry : timelines_) together = std::lcm(together, entry.second.rate);
    if (options_.frames % together == 0) return;
    fail_mismatch(where_ + "its strides along the axis take " + std::to_string(together) +
                  " frames together, expected a multiple of that; take --stream " +
                  std::to_string(options_.axis) + "=" + std::to_string(together));
  }

  std::string new_name(const std::string& wanted) {
    if (names_.empty())
      for (const graph::Value& value : model_.values) names_.insert(value.name);
    std::string given = wanted;
    for (int count = 2; !names_.insert(given).second; count++)
      given = wanted + "." + std::to_string(count);
    return given;
  }

  void rewrite() {
    for (const auto& [id, timeline] : timelines_)
      model_.values[size_t(id)].dims[timeline.axis] = graph::Dim(options_.frames / timeline.rate);
    passes::Editor editor(model_, model_.graph);
    const std::vector<Node*> nodes = editor.nodes();
    for (const auto& entry : rules_) apply(editor, *nodes[entry.first], entry.second);
    editor.commit();
    for (const auto& state : ports_) {
      model_.graph.inputs.push_back(state.first);
      model_.graph.outputs.push_back(state.second);
    }
  }

  void apply(passes::Editor& editor, Node& node, const StreamRule& rule) {
    for (const auto& entry : rule.histories) {
      if (entry.second.is_none()) continue;
      editor.set_input(node, entry.first,
                       with_history(editor, node, node.inputs[entry.first], entry.second));
    }
    if (rule.only_operand) editor.set_inputs(node, {node.inputs[*rule.only_operand]});
    if (rule.edit) rule.edit(node);
    for (const CarriedState& state : rule.carried) carry(editor, node, state);
  }

  void add_state(ValueId input, ValueId output, double init, bool has_channels_second) {
    ports_.emplace_back(input, output);
    made_.states.push_back({name(input), name(output), init, has_channels_second});
  }

  /// `x` with the frames before it. Bytes behind a DequantizeLinear are kept as they are.
  ValueId with_history(passes::Editor& editor, const Node& reader, ValueId x,
                       const History& history) {
    Node* wide = editor.producer_if(x, op::DequantizeLinear);
    if (wide && history.first == 0 && !model_.constant(wide->inputs[0])) {
      const graph::Constant* zero =
          wide->inputs.size() > 2 ? model_.constant(wide->inputs[2]) : nullptr;
      const std::optional<double> number = wide->inputs.size() > 2 && wide->inputs[2] >= 0
                                               ? (zero ? passes::uniform(*zero) : std::nullopt)
                                               : std::optional<double>(0);
      if (number) {
        History narrow = history;
        narrow.first = *number;
        std::vector<ValueId> inputs = wide->inputs;
        inputs[0] = with_history(editor, reader, wide->inputs[0], narrow);
        return editor.emit(op::DequantizeLinear, inputs, editor.value(x).dtype,
                           editor.dims(inputs[0]), reader, wide->attributes);
      }
    }
    const Timeline& timeline = timelines_.at(x);
    const int64_t frames = options_.frames / timeline.rate;
    const DType dtype = editor.value(x).dtype;
    const auto with_frames = [&](int64_t count) {
      graph::Dims dims = editor.dims(x);
      dims[timeline.axis] = graph::Dim(count);
      return dims;
    };
    const auto cut = [&](ValueId from, int64_t start, int64_t count) {
      graph::Dims starts(editor.rank(from), graph::Dim(0));
      starts[timeline.axis] = graph::Dim(start);
      return editor.emit(
          op::Slice, {from}, dtype, with_frames(count), reader,
          {{attr::starts, starts}, {attr::steps, std::vector<int64_t>(starts.size(), 1)}});
    };
    ValueId all = x;
    if (history.frames > 0) {
      const std::string port = new_name(name(x) + ".history");
      const ValueId before = editor.new_value(port, dtype, with_frames(history.frames));
      all = editor.emit(op::Concat, {before, x}, dtype, with_frames(history.frames + frames),
                        reader, {{attr::axis, int64_t(timeline.axis)}});
      const ValueId after = cut(all, frames, history.frames);
      editor.value(after).name = new_name(port + ".next");
      add_state(before, after, history.first, timeline.axis >= 2);
    }
    if (history.drop_begin == 0 && history.drop_end == 0) return all;
    return cut(all, history.drop_begin,
               history.frames + frames - history.drop_begin - history.drop_end);
  }

  /// The last state of a recurrent layer becomes its first of the next run.
  void carry(passes::Editor& editor, Node& node, const CarriedState& state) {
    std::vector<ValueId> inputs = node.inputs, outputs = node.outputs;
    inputs.resize(std::max(inputs.size(), state.operand + 1), graph::kAbsent);
    outputs.resize(std::max(outputs.size(), state.output + 1), graph::kAbsent);
    double init = 0;
    if (const graph::Constant* first = model_.constant(inputs[state.operand]))
      init = passes::uniform(*first).value_or(0);
    // [T, D, B, H] without T; by batch [B, T, D, H]
    graph::Dims dims = editor.dims(outputs[0]);
    dims.erase(dims.begin() + std::ptrdiff_t(timelines_.at(outputs[0]).axis));
    const std::string port =
        new_name((node.name.empty() ? name(outputs[0]) : node.name) + ".state");
    const DType dtype = editor.value(outputs[0]).dtype;
    inputs[state.operand] = editor.new_value(port, dtype, dims);
    outputs[state.output] = editor.new_value(new_name(port + ".next"), dtype, dims);
    editor.set_inputs(node, inputs);
    editor.set_outputs(node, outputs);
    add_state(inputs[state.operand], outputs[state.output], init, false);
  }

  void describe(double whole) {
    const double run = multiply_adds(model_);
    char text[320];
    std::snprintf(text, sizeof text,
                  "streaming: a run takes %lld of the %lld frames of '%s' and %.0f of %.0f "
                  "multiply-adds, %.3f times the frames' share; %zu states keep what was",
                  static_cast<long long>(options_.frames), static_cast<long long>(whole_frames_),
                  name(input_).substr(0, 64).c_str(), run, whole,
                  whole > 0 ? run * double(whole_frames_) / (whole * double(options_.frames)) : 0,
                  made_.states.size());
    model_.notes.emplace_back(text);
    made_.metadata.emplace_back("ingot.stream", name(input_) + " axis " +
                                                    std::to_string(options_.axis) + " frames " +
                                                    std::to_string(options_.frames));
    for (const ValueId id : model_.graph.outputs) {
      const auto found = timelines_.find(id);
      if (found != timelines_.end()) describe_output(name(id), found->second);
    }
  }

  void describe_output(const std::string& output, const Timeline& timeline) {
    const int64_t from = std::max(timeline.exact_from, -timeline.offset);
    made_.metadata.emplace_back(
        "ingot.stream." + output,
        "axis " + std::to_string(timeline.axis) + " delay " + std::to_string(timeline.offset) +
            " equal " + std::to_string(from) + " to " + std::to_string(timeline.exact_to));
    std::string said = "streaming: output '" + output + "': frame t is frame ";
    said += timeline.offset == 0 ? "t of the whole"
                                 : "t " + std::string(timeline.offset > 0 ? "- " : "+ ") +
                                       std::to_string(std::abs(timeline.offset)) + " of the whole";
    if (from >= timeline.exact_to)
      said +=
          "; all frames of the whole touch padding that a stream does not have, so none is "
          "equal";
    else if (from == 0 && timeline.exact_to == timeline.extent)
      said += "; all are equal";
    else
      said += "; equal are the whole's frames " + std::to_string(from) + " to " +
              std::to_string(timeline.exact_to - 1) + " of " + std::to_string(timeline.extent) +
              ", the others touch padding that a stream does not have";
    model_.notes.push_back(said);
  }

  Model& model_;
  const StreamOptions& options_;
  std::string where_;
  ValueId input_ = graph::kAbsent;
  int64_t whole_frames_ = 0;
  Timelines timelines_;
  std::vector<std::pair<size_t, StreamRule>> rules_;  // by place of the node
  std::set<std::string> names_;
  std::vector<std::pair<ValueId, ValueId>> ports_;
  StreamedNetwork made_;
};

int64_t parse_count(const std::string& text, const std::string& where, const char* what,
                    int64_t low) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < low)
    fail_usage(where + "expected " + what + ", found '" + text + "'");
  return number;
}

}  // namespace

void set_stream(StreamOptions& options, const std::string& argument) {
  const std::string where = "--stream '" + argument + "': ";
  const size_t equals = argument.rfind('=');
  if (equals == std::string::npos)
    fail_usage(where + "expected [INPUT:]AXIS=N, as 1=4 or features:1=4");
  std::string axis = argument.substr(0, equals);
  const size_t colon = axis.rfind(':');
  if (colon != std::string::npos) {
    options.input = axis.substr(0, colon);
    axis.erase(0, colon + 1);
  }
  options.axis = size_t(parse_count(axis, where, "an axis, counted from 0", 0));
  options.frames = parse_count(argument.substr(equals + 1), where,
                               "how many new frames a run has, at least 1", 1);
}

StreamedNetwork stream_frames(graph::Model& model, const StreamOptions& options) {
  return Streaming(model, options).run();
}

}  // namespace ingot::convert
