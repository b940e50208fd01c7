// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/reports/compare_report.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const compare::Measure& m) {
  return {{"passed", m.passed},
          {"error", finite_or_text(m.error)},
          {"largest", finite_or_text(m.largest)},
          {"allowed", m.allowed},
          {"ratio", m.ratio()},
          {"differing", m.differing},
          {"elements", m.elements}};
}

std::string plural(size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string verdict(const DivergenceAnswer& a, DivergenceCause cause) {
  return a.cause == cause ? "WRONG" : int(a.cause) != 0 && a.cause < cause ? "?" : "ok";
}

/// The stage, and what stands behind "ok".
void print_stages(const DivergenceAnswer& a) {
  Table table({"", "", ""});
  table.row({a.has_golden ? verdict(a, DivergenceCause::kImport) : "-", "import",
             a.has_golden ? plural(a.import_compared, "value") +
                                " of the source's graph compared with the golden"
                          : "no golden to check it by"});
  table.row({verdict(a, DivergenceCause::kPass), "passes",
             std::to_string(a.passes_checked) + " runs of passes checked, " +
                 plural(a.nodes_checked, "node") + " computed"});
  table.row({verdict(a, DivergenceCause::kConversion), "conversion",
             std::to_string(a.instructions_known) + " of " +
                 plural(a.instructions_ran, "instruction") + " compared with the source" +
                 (a.quantization.empty() ? "" : ", but for what quantization loses")});
  table.row({verdict(a, DivergenceCause::kKernel), "kernels",
             a.program.isa + " against the naive ones in double"});
  fputs(table.text("").c_str(), stdout);
}

}  // namespace

std::string source_text(const DivergenceAnswer& a, uint32_t source) {
  if (source >= a.source_nodes.size()) return "node " + std::to_string(source);
  const graph::SourceNode& node = a.source_nodes[source];
  return node.op + " '" + (node.name.empty() ? node.output : node.name) + "'";
}

std::string iterations_text(const compare::Iterations& iterations) {
  std::string text;
  for (size_t i = iterations.size(); i-- > 0;)
    text += (text.empty() ? "iteration " : " of the inner loop, in iteration ") +
            std::to_string(iterations[i]);
  return text + " of the " + (iterations.size() > 1 ? "outer " : "") + "loop";
}

void print_compare_text(const DivergenceAnswer& a) {
  printf("%s\n", a.headline().c_str());
  if (!a.value.empty() && a.cause != DivergenceCause::kNone)
    printf("  value '%s': %s\n", a.value.c_str(), a.detail.c_str());
  if (!a.iterations.empty())
    printf("  in %s, counted from 0\n", iterations_text(a.iterations).c_str());
  for (size_t i = 0; i < a.sources.size() && i < 8; i++)
    printf("  %s %s\n", i == 0 ? "source node " : "together with",
           source_text(a, a.sources[i]).c_str());
  if (a.cause == DivergenceCause::kImport && a.suspects.size() > 1) {
    printf("  one of these %zu nodes is wrong (mid: arrays in the golden narrow it):\n",
           a.suspects.size());
    for (size_t i = 0; i < a.suspects.size() && i < 12; i++)
      printf("    %s\n", source_text(a, a.suspects[i]).c_str());
  }
  if (a.steps > 1 && a.cause == DivergenceCause::kNone)
    printf("  all %lld steps are within the tolerance; step %lld was looked into\n",
           static_cast<long long>(a.steps), static_cast<long long>(a.step));
  else if (a.steps > 1)
    printf("  step %lld of %lld, counted from 0, is the first that is wrong\n",
           static_cast<long long>(a.step), static_cast<long long>(a.steps));
  print_stages(a);
  for (const CheckedOutput& o : a.outputs)
    printf("%s %s (against the %s)\n", o.comparison.passed ? "ok  " : "FAIL",
           check::summary(o.comparison, o.dims).c_str(), a.outputs_against.c_str());
  for (const std::string& text : a.notes) note(text);
}

void print_compare_json(const DivergenceAnswer& a, const std::string& source,
                        const std::string& file) {
  const auto name = [&](uint32_t s) {
    return s < a.source_nodes.size() ? a.source_nodes[s].name : "";
  };
  Json instructions = Json::array(), outputs = Json::array(), sources = Json::array(),
       suspects = Json::array();
  for (const uint32_t index : a.program.order) {
    const CheckedInstruction& i = a.program.instructions[index];
    Json one = {
        {"index", index}, {"op", i.op}, {"name", i.name}, {"kernel", i.kernel}, {"dims", i.dims}};
    for (const uint32_t s : i.sources) one["sources"].push_back(name(s));
    if (i.known) one["alone"] = to_json(i.alone_error), one["whole"] = to_json(i.whole_error);
    if (i.conversion_error.elements) one["naive_against_source"] = to_json(i.conversion_error);
    if (i.kernel_error.elements) one["kernel_against_naive"] = to_json(i.kernel_error);
    instructions.push_back(one);
  }
  for (const CheckedOutput& o : a.outputs)
    outputs.push_back({{"name", o.comparison.name},
                       {"passed", o.comparison.passed},
                       {"largest_error", finite_or_text(o.comparison.largest_error)},
                       {"largest_expected", finite_or_text(o.comparison.largest_expected)},
                       {"allowed", o.comparison.allowed}});
  for (const uint32_t s : a.sources) sources.push_back(name(s));
  for (const uint32_t s : a.suspects) suspects.push_back(name(s));
  const Json report = {{"source", source},
                       {"file", file},
                       {"diverges", a.cause != DivergenceCause::kNone},
                       {"equal", a.is_equal()},
                       {"stage", cause_name(a.cause)},
                       {"headline", a.headline()},
                       {"by", a.pass},
                       {"node", a.node},
                       {"op", a.op},
                       {"value", a.value},
                       {"detail", a.detail},
                       {"source_nodes", sources},
                       {"suspects", suspects},
                       {"instruction", a.instruction},
                       {"iterations", a.iterations},
                       {"step", a.step},
                       {"steps", a.steps},
                       {"isa", a.program.isa},
                       {"is_fresh_conversion", a.is_fresh_conversion},
                       {"quantization", a.quantization},
                       {"values_compared_with_golden", a.import_compared},
                       {"uncompared_outputs", a.uncompared},
                       {"nodes_checked", a.nodes_checked},
                       {"instructions_compared", a.instructions_known},
                       {"outputs_against", a.outputs_against},
                       {"outputs", outputs},
                       {"instructions", instructions},
                       {"notes", a.notes}};
  printf("%s\n", json_text(report).c_str());
}

}  // namespace ingot::cli
