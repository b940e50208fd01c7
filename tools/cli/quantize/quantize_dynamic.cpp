// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/quantize/quantize_dynamic.h"

#include <algorithm>
#include <set>

#include "tools/compile/quantize/dynamic.h"
#include "tools/compile/quantize/tables.h"
#include "tools/files/failure.h"
#include "tools/files/suggest.h"
#include "tools/session/arguments.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

bool is_quantized_already(const graph::Model& model) {
  const auto starts = [](const std::string& op, const char* with) {
    return op.rfind(with, 0) == 0;
  };
  for (const graph::SourceNode& node : model.source_nodes)
    if (starts(node.op, "QLinear") || starts(node.op, "DynamicQuantize") ||
        node.op == "DequantizeLinear" || node.op == "ConvInteger" || node.op == "MatMulInteger")
      return true;
  return model.graph.has_integers();
}

}  // namespace

void check_quantize_arguments(const ConvertArguments& arguments) {
  const std::vector<std::string> on_off = {"on", "off"};
  parse_choice("--bias-correction", arguments.bias_correction, on_off);
  parse_choice("--equalize", arguments.equalize, on_off);
  parse_choice("--linear", arguments.linear, {"auto", "static", "rows"});
  if (!arguments.calibrate.empty() && !arguments.budget.empty() &&
      parse_budget(arguments.budget).is_ratio && !arguments.metric.empty())
    fail(Exit::kUsage, "--budget of a --metric is in percent, as in 0.5%");
}

void refuse_quantized(const graph::Model& model, const std::string& source) {
  if (is_quantized_already(model))
    fail(Exit::kUnsupported, source + ": is quantized already; convert it without --dtype int8");
}

void fail_unknown_layer(const std::string& pattern, const std::vector<std::string>& names) {
  fail(Exit::kMismatch,
       "--keep-fp32 " + pattern + ": no layer has that name" + host::did_you_mean(pattern, names));
}

convert::ConvertOptions quantized_in_each_run(const std::string& source,
                                              const convert::ConvertOptions& options,
                                              const ConvertArguments& arguments,
                                              QuantizeReport* report) {
  convert::ConvertOptions made = options;
  made.rewrite = [source, keep = arguments.keep_fp32, report](graph::Model& model) {
    refuse_quantized(model, source);
    quantize::Keep kept;
    kept.patterns = keep;
    std::set<std::string> matched;
    const quantize::DynamicLayers found = quantize::quantize_in_each_run(model, kept, &matched);
    quantize::quantize_tables(model, kept, &matched);
    for (const std::string& pattern : keep)
      if (!matched.count(pattern)) fail_unknown_layer(pattern, found.names);
    if (found.names.size() == found.kept)
      fail(Exit::kUnsupported, source + ": has no matrix product with constant weights" +
                                   (found.kept ? " that --keep-fp32 leaves" : "") +
                                   "; give --calibrate for networks of convolutions");
    *report = {};
    report->layers = found.names.size(), report->kept = found.kept;
  };
  return made;
}

}  // namespace ingot::cli
