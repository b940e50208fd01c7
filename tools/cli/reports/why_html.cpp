// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/reports/why_html.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "tools/cli/output/html_page.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/reports/memory_parts.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[400];
  snprintf(text, sizeof text, pattern, values...);
  return text;
}

/// The operator that writes each value, and its step.
struct Maker {
  std::string op;
  uint32_t step = 0;
};

std::map<int32_t, Maker> makers(const ProgramView& view) {
  std::map<int32_t, Maker> all;
  const ProgramDef& program = view.program();
  for (uint32_t step = 0; step < program.steps.size; step++) {
    if (program.steps[step].kind == StepKind::kJump) continue;
    const InstructionDef& instruction = program.instructions[program.steps[step].index];
    for (uint32_t o = 0; o < instruction.output_count; o++) {
      if (instruction.outputs[o] < 0) continue;
      const int32_t root = program.values[size_t(instruction.outputs[o])].root;
      all.emplace(root, Maker{op_name(instruction.op), step});
    }
  }
  return all;
}

/// Which values lie where in the activation region, over the steps of a run.
void add_memory_map(const Json& m, const ProgramView& view, HtmlPage* page) {
  const uint32_t steps = uint32_t(std::max<size_t>(view.program().steps.size, 1));
  const uint64_t bytes = std::max<uint64_t>(view.plan_bytes(), 1);
  constexpr double kWidth = 960, kHeight = 340, kLeft = 78, kTop = 12;
  const double per_step = kWidth / steps, per_byte = kHeight / double(bytes);
  const std::map<int32_t, Maker> made = makers(view);
  std::string boxes;
  for (size_t v = 0; v < view.lifetimes().size(); v++) {
    const Lifetime& life = view.lifetimes()[v];
    if (!life.bytes || v >= view.offsets().size() || view.offsets()[v] == kNoOffset) continue;
    const auto maker = made.find(int32_t(v));
    const std::string op = maker == made.end() ? "input" : maker->second.op;
    boxes += format("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\">",
                    kLeft + life.first_step * per_step, kTop + double(view.offsets()[v]) * per_byte,
                    (life.last_step - life.first_step + 1) * per_step,
                    std::max(double(life.bytes) * per_byte, 0.6), hue_of(op).c_str()) +
             "<title>" +
             escaped(view.value_name(int32_t(v)) + " (" + op + ")\n" + grouped(life.bytes) +
                     " bytes at " + grouped(view.offsets()[v]) + ", steps " +
                     std::to_string(life.first_step) + " to " + std::to_string(life.last_step)) +
             "</title></rect>\n";
  }
  std::string axis;
  for (int i = 0; i <= 4; i++) {
    const double y = kTop + kHeight * i / 4;
    axis += format("<path d=\"M%.0f %.1fH%.0f\" stroke=\"#d5dae2\"/>", kLeft, y, kLeft + kWidth) +
            format("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", kLeft - 6, y + 4) +
            escaped(short_bytes(bytes * uint64_t(i) / 4)) + "</text>\n";
  }
  const double peak = kLeft + (view.peak_step() + 0.5) * per_step;
  page->add(format("<svg id=\"memory\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                   "height=\"%.0f\">\n",
                   kLeft + kWidth + 20, kTop + kHeight + 40) +
            axis + "<g stroke=\"#fff\" stroke-width=\"0.5\">" + boxes + "</g>" +
            format("<path d=\"M%.1f %.0fV%.0f\" stroke=\"#b3261e\" stroke-dasharray=\"4 3\"/>",
                   peak, kTop, kTop + kHeight) +
            format("<path d=\"M%.0f %.1fH%.0f\" stroke=\"#1d7a3c\" stroke-dasharray=\"4 3\"/>",
                   kLeft, kTop + double(view.lower_bound()) * per_byte, kLeft + kWidth) +
            format("<text x=\"%.0f\" y=\"%.0f\">step 0</text><text x=\"%.0f\" y=\"%.0f\" "
                   "text-anchor=\"end\">step %u</text>",
                   kLeft, kTop + kHeight + 16, kLeft + kWidth, kTop + kHeight + 16, steps - 1) +
            "</svg>\n<p>Red: the fullest step, " + escaped(m["peak_at"].get<std::string>()) +
            ". Green: the lower bound, " + grouped(view.lower_bound()) + " bytes; the plan takes " +
            grouped(view.plan_bytes()) + ".</p>\n");
}

void add_memory_parts(const Json& m, HtmlPage* page) {
  std::vector<std::vector<std::string>> rows;
  for (const MemoryPart& part : arena_parts({}))
    if (const uint64_t bytes = m[part.key]) rows.push_back({part.name, grouped(bytes)});
  rows.push_back({"arena", grouped(m["arena_bytes"].get<uint64_t>())});
  for (const MemoryPart& part : other_parts({}))
    if (const uint64_t bytes = m[part.key])
      rows.push_back({"outside of it, " + std::string(part.name), grouped(bytes)});
  page->table({"part", ">bytes"}, rows);
}

struct Bar {
  std::string label, color;
  double ms = 0;
};

void add_bars(const std::vector<Bar>& bars, double total_ms, HtmlPage* page) {
  constexpr int kLeft = 260, kWidth = 640, kRow = 20;
  double most = 1e-9;
  for (const Bar& bar : bars) most = std::max(most, bar.ms);
  std::string out =
      format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n",
             kLeft + kWidth + 180, int(bars.size()) * kRow + 6);
  for (size_t i = 0; i < bars.size(); i++) {
    const int y = int(i) * kRow;
    const std::string label =
        bars[i].label.size() > 40 ? bars[i].label.substr(0, 37) + "..." : bars[i].label;
    out += format("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", kLeft - 6, y + 14) +
           escaped(label) + "</text>" +
           format("<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" fill=\"%s\"><title>", kLeft,
                  y + 3, kWidth * bars[i].ms / most, bars[i].color.c_str()) +
           escaped(bars[i].label) + "</title></rect>" +
           format("<text x=\"%.1f\" y=\"%d\">", kLeft + kWidth * bars[i].ms / most + 6, y + 14) +
           escaped(short_time(bars[i].ms) +
                   format(", %.1f %%", 100 * bars[i].ms / std::max(total_ms, 1e-9))) +
           "</text>\n";
  }
  page->add(out + "</svg>\n");
}

void add_time(const Json& report, HtmlPage* page) {
  const double total = report["instructions_ms"];
  std::map<std::string, Bar> by_op;
  std::vector<Bar> each;
  for (const Json& i : report["instructions"]) {
    const std::string op = i["op"], name = i["name"];
    const double ms = i["ms"];
    Bar& sum = by_op[op];
    sum.label = op, sum.color = hue_of(op), sum.ms += ms;
    each.push_back(
        {std::to_string(i["index"].get<size_t>()) + " " + op + " " + name, hue_of(op), ms});
  }
  std::vector<Bar> ops;
  for (const auto& [op, bar] : by_op) ops.push_back(bar);
  const auto slower = [](const Bar& a, const Bar& b) { return a.ms > b.ms; };
  std::sort(ops.begin(), ops.end(), slower);
  std::stable_sort(each.begin(), each.end(), slower);
  each.resize(std::min<size_t>(each.size(), 24));
  add_bars(ops, total, page);
  page->heading("Slowest instructions");
  add_bars(each, total, page);
}

/// GFLOP/s over operations per byte, both logarithmic, under what the machine can do.
void add_roofline(const Json& report, HtmlPage* page) {
  constexpr double kLeft = 60, kTop = 10, kWidth = 720, kHeight = 320;
  const double flops = report["peak_gflops"], bytes = report["peak_gbytes"];
  const double x0 = -2, x1 = 3, y0 = -2, y1 = std::ceil(std::log10(std::max(flops, 1.0)) + 0.1);
  const auto px = [&](double intensity) {
    return kLeft + kWidth * (std::clamp(std::log10(intensity), x0, x1) - x0) / (x1 - x0);
  };
  const auto py = [&](double rate) {
    return kTop + kHeight * (1 - (std::clamp(std::log10(rate), y0, y1) - y0) / (y1 - y0));
  };
  std::string out = format(
      "<svg id=\"roofline\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\">\n",
      kLeft + kWidth + 30, kTop + kHeight + 44);
  for (double e = x0; e <= x1; e++)
    out += format(
        "<path d=\"M%.1f %.0fV%.0f\" stroke=\"#e3e7ec\"/><text x=\"%.1f\" y=\"%.0f\" "
        "text-anchor=\"middle\">%g</text>\n",
        px(std::pow(10, e)), kTop, kTop + kHeight, px(std::pow(10, e)), kTop + kHeight + 16,
        std::pow(10, e));
  for (double e = y0; e <= y1; e++)
    out += format(
        "<path d=\"M%.0f %.1fH%.0f\" stroke=\"#e3e7ec\"/><text x=\"%.0f\" y=\"%.1f\" "
        "text-anchor=\"end\">%g</text>\n",
        kLeft, py(std::pow(10, e)), kLeft + kWidth, kLeft - 6, py(std::pow(10, e)) + 4,
        std::pow(10, e));
  if (flops > 0 && bytes > 0) {
    const double knee = flops / bytes, low = std::pow(10, x0);
    out += format(
        "<path d=\"M%.1f %.1fL%.1f %.1fH%.1f\" fill=\"none\" stroke=\"#b3261e\" "
        "stroke-width=\"1.5\"/>\n",
        px(low), py(low * bytes), px(knee), py(flops), kLeft + kWidth);
  }
  size_t without = 0;
  for (const Json& i : report["instructions"]) {
    const double macs = i["macs"], moved = i["bytes"], rate = i["gflops"], ms = i["ms"];
    if (macs <= 0 || moved <= 0 || rate <= 0) {
      without++;
      continue;
    }
    const double share = ms / std::max(report["instructions_ms"].get<double>(), 1e-9);
    out += format(
               "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" stroke=\"#5c6675\" "
               "fill-opacity=\"0.8\"><title>",
               px(2 * macs / moved), py(rate), 3 + 14 * std::sqrt(share), hue_of(i["op"]).c_str()) +
           escaped(i["op"].get<std::string>() + " " + i["name"].get<std::string>() + "\n" +
                   format("%.1f GFLOP/s, %.2f operations a byte, %.1f %% of the time", rate,
                          2 * macs / moved, 100 * share)) +
           "</title></circle>\n";
  }
  out += format(
      "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">operations per byte</text></svg>\n",
      kLeft + kWidth / 2, kTop + kHeight + 36);
  page->add(out + "<p>" + std::to_string(without) +
            " instructions without multiply-adds are left out.</p>\n");
}

void add_lists(const Json& report, HtmlPage* page) {
  std::map<size_t, double> ms;
  for (const Json& i : report["instructions"]) ms[i["index"].get<size_t>()] = i["ms"];
  std::vector<std::vector<std::string>> rows;
  for (const Json& m : report["moves"])
    rows.push_back({m["index"].dump(), m["op"].get<std::string>(), m["dims"].dump(),
                    grouped(m["bytes"].get<uint64_t>()), short_time(ms[m["index"].get<size_t>()]),
                    m["name"].get<std::string>()});
  page->add("<section>\n");
  page->heading("Layout changes and copies that remain", rows.empty() ? "None." : "");
  if (!rows.empty()) page->table({">#", "operator", "dims", ">bytes", ">time", "output"}, rows);
  page->add("</section>\n<section>\n");
  page->heading("Passes");
  rows.clear();
  for (const Json& p : report["passes"])
    rows.push_back(
        {p["name"].get<std::string>(), p["changed"].dump(), p["note"].get<std::string>()});
  page->table({"pass", ">changed", "remarks"}, rows);
  page->add("</section>\n");
}

}  // namespace

void add_why_sections(const Json& report, const ProgramView& view, HtmlPage* page) {
  const int threads = report["threads"];
  page->style(
      "rect,circle{cursor:default} #memory rect:hover,#roofline "
      "circle:hover{stroke:#1d2430;stroke-width:1.5}");
  page->add("<section>\n");
  page->heading("Memory over steps",
                "Each value at its place in the activations, from the step that writes it to the "
                "last that reads it.");
  add_memory_map(report["memory"], view, page);
  add_memory_parts(report["memory"], page);
  page->add("</section>\n<section>\n");
  page->heading("Time by operator", "Medians of runs on random inputs.");
  add_time(report, page);
  page->add("</section>\n<section>\n");
  page->heading(
      "Roofline",
      format(
          "Measured here: a product in the cache reaches %.1f GFLOP/s%s, copying large blocks %.1f "
          "GB/s; what stays in "
          "the cache may pass the slanted line, Winograd the level one. Area: share of the time.",
          report["peak_gflops"].get<double>(),
          threads == 1
              ? ""
              : (" on " + std::to_string(threads) + " threads (as often one thread)").c_str(),
          report["peak_gbytes"].get<double>()));
  add_roofline(report, page);
  page->add("</section>\n");
  add_lists(report, page);
}

std::string session_line(const Json& report) {
  std::string dims;
  for (const auto& [name, extent] : report["dims"].items())
    dims += ", " + name + " = " + extent.dump();
  const int threads = report["threads"];
  return report["device"].get<std::string>() + " " + report["isa"].get<std::string>() + ", " +
         std::to_string(threads) + (threads == 1 ? " thread" : " threads") + dims + ", " +
         short_time(report["instructions_ms"]) + " in instructions";
}

void write_why_html(const Json& report, const ProgramView& view, const std::string& path) {
  const std::string file = report["file"];
  HtmlPage page("ingot why " + file);
  page.add("<header><h1>" + escaped(file) + "</h1><p>" + escaped(session_line(report)) +
           "</p></header>\n");
  add_why_sections(report, view, &page);
  page.write(path);
}

}  // namespace ingot::cli
