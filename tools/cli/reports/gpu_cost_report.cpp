// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/reports/gpu_cost_report.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>

#include "tools/cli/output/terminal.h"
#include "tools/files/failure.h"
#include "tools/session/precision_record.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxRows = 20;

std::string microseconds(double ns) { return short_time(ns / 1e6); }

/// Names of kernels without what all of them share; "x3" where one follows itself.
std::string kernels_text(const Json& kernels) {
  std::string text, last;
  size_t times = 0;
  const auto end = [&] {
    if (times > 1) text += " x" + std::to_string(times);
  };
  for (const Json& kernel : kernels) {
    std::string name = kernel;
    if (name.rfind("ingot_", 0) == 0) name = name.substr(6);
    if (name == last) {
      times++;
      continue;
    }
    end();
    text += (text.empty() ? "" : ", ") + name, last = name, times = 1;
  }
  end();
  return text;
}

void print_instructions(const Json& report, bool all) {
  std::vector<Json> rows = report["instructions"];
  std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
    return a["ns"].get<double>() > b["ns"].get<double>();
  });
  Table table({">#", "op", ">time", ">bytes", ">GFLOP", ">launches", ">waves", "bound", "kernels",
               "output"});
  const double total = report["ns"];
  double shown = 0;
  for (size_t i = 0; i < rows.size() && (all || i < kMaxRows); i++) {
    const Json& r = rows[i];
    shown += r["ns"].get<double>();
    const bool runs = r["row"].get<std::string>() != "";
    table.row({r["index"].dump(), r["op"], runs ? microseconds(r["ns"]) : "the CPU",
               short_bytes(uint64_t(r["bytes"].get<double>())),
               r["flops"].get<double>() > 0 ? number(r["flops"].get<double>() / 1e9, 3) : "",
               r["launches"].dump(), number(r["waves"].get<double>(), 3),
               runs ? r["bound"].get<std::string>() : "", kernels_text(r["kernels"]), r["name"]});
  }
  if (!all && rows.size() > kMaxRows)
    table.row(
        {"", "(" + std::to_string(rows.size() - kMaxRows) + " more)", microseconds(total - shown)});
  fputs(table.text().c_str(), stdout);
}

void print_bounds(const Json& report) {
  struct Sum {
    size_t instructions = 0;
    double ns = 0;
  };
  std::map<std::string, Sum> sums;
  for (const Json& r : report["instructions"]) {
    if (r["row"].get<std::string>() == "") continue;
    Sum& sum = sums[r["bound"]];
    sum.instructions++, sum.ns += r["ns"].get<double>();
  }
  Table table({"bound by", ">instructions", ">time", ">share"});
  for (const auto& [bound, sum] : sums)
    table.row({bound, std::to_string(sum.instructions), microseconds(sum.ns),
               number(100 * sum.ns / std::max(report["ns"].get<double>(), 1e-9), 3) + " %"});
  fputs(table.text().c_str(), stdout);
}

}  // namespace

const gpu_cost::GpuModel* predicted_gpu(const std::string& device) {
  const std::string kind = "cuda:";
  if (device.compare(0, kind.size(), kind) != 0) return nullptr;
  const std::string name = device.substr(kind.size());
  if (name.empty() || isdigit(static_cast<unsigned char>(name[0]))) return nullptr;
  if (const gpu_cost::GpuModel* gpu = gpu_cost::find_gpu_model(name)) return gpu;
  host::fail(host::Exit::kUsage, "--device " + device + ": no GPU of the table is '" + name +
                                     "'; it has " + gpu_cost::known_gpu_models());
}

Json gpu_cost_json(const gpu_cost::ProgramCost& cost, const ProgramView& view) {
  const gpu_cost::GpuModel& gpu = *cost.gpu;
  Json report = {{"gpu",
                  {{"key", gpu.key},
                   {"name", gpu.name},
                   {"sm", gpu.sm},
                   {"multiprocessors", gpu.multiprocessors},
                   {"clock_ghz", gpu.clock_ghz},
                   {"memory_gbytes", gpu.memory_gbytes},
                   {"l2_mbytes", gpu.l2_mbytes}}},
                 {"precision", precision_name(view.program().precision)},
                 {"weights_stay_in_l2", cost.weights_stay},
                 {"ns", cost.ns},
                 {"start_ns", cost.start_ns},
                 {"hidden_ns", cost.hidden_ns},
                 {"bytes", cost.bytes},
                 {"weight_bytes", cost.weight_bytes},
                 {"weights_ns", cost.weight_bytes / gpu.memory_gbytes},
                 {"flops", cost.flops},
                 {"launches", cost.launches},
                 {"left_to_cpu", cost.left_to_cpu},
                 {"activation_bytes", cost.activation_bytes},
                 {"activation_bytes_f32", view.plan_bytes()},
                 {"instructions", Json::array()}};
  if (const auto* const measured =
          gpu_cost::measured_factor(gpu, precision_name(view.program().precision)))
    report["measured"] = {{"factor", measured->factor}, {"networks", measured->networks}};
  for (const gpu_cost::InstructionCost& c : cost.instructions) {
    const InstructionDef& instruction = view.program().instructions[c.instruction];
    const int32_t output = instruction.output_count ? instruction.outputs[0] : -1;
    report["instructions"].push_back({{"index", c.instruction},
                                      {"op", op_name(instruction.op)},
                                      {"name", output >= 0 ? view.value_name(output) : ""},
                                      {"row", c.row ? c.row : ""},
                                      {"kernels", c.kernels},
                                      {"launches", c.kernels.size()},
                                      {"waves", c.waves},
                                      {"bytes", c.bytes},
                                      {"flops", c.flops},
                                      {"ns", c.ns},
                                      {"start_ns", c.start_ns},
                                      {"bound", gpu_cost::bound_name(c.bound)}});
  }
  return report;
}

void print_gpu_cost(const Json& report, bool all) {
  const Json& gpu = report["gpu"];
  printf("Predicted, not measured: %s, %s, %s: %s (%s multiprocessors, %s GHz, %s GB/s)\n",
         report["file"].get<std::string>().c_str(), report["precision"].get<std::string>().c_str(),
         gpu["name"].get<std::string>().c_str(), microseconds(report["ns"]).c_str(),
         gpu["multiprocessors"].dump().c_str(), number(gpu["clock_ghz"].get<double>()).c_str(),
         number(gpu["memory_gbytes"].get<double>()).c_str());
  printf("  %s launches, %s of it starting them; %s GFLOP; %s of operands and results\n",
         report["launches"].dump().c_str(), microseconds(report["start_ns"]).c_str(),
         number(report["flops"].get<double>() / 1e9, 3).c_str(),
         short_bytes(uint64_t(report["bytes"].get<double>())).c_str());
  printf("  %s of weights take %s at the memory's rate\n",
         short_bytes(uint64_t(report["weight_bytes"].get<double>())).c_str(),
         microseconds(report["weights_ns"]).c_str());
  if (report.contains("measured"))
    printf("  %s times of that were measured there, a mean over %s networks: %s\n",
           number(report["measured"]["factor"].get<double>(), 3).c_str(),
           report["measured"]["networks"].dump().c_str(),
           microseconds(report["ns"].get<double>() * report["measured"]["factor"].get<double>())
               .c_str());
  if (report["hidden_ns"].get<double>() > 0.5)
    printf("  %s more as one chain: launches that wait for none of each other hide their starts\n",
           microseconds(report["hidden_ns"]).c_str());
  const uint64_t activations = report["activation_bytes"], f32 = report["activation_bytes_f32"];
  printf("  %s of activations in the arena%s\n", short_bytes(activations).c_str(),
         activations == f32 ? "" : (", " + short_bytes(f32) + " if all were f32").c_str());
  if (report["left_to_cpu"].get<size_t>())
    printf("  %s instructions have no kernel there and are in no sum\n",
           report["left_to_cpu"].dump().c_str());
  print_instructions(report, all);
  print_bounds(report);
}

}  // namespace ingot::cli
