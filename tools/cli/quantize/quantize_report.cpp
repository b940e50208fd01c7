// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/quantize/quantize_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/cli/output/html_page.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/quantize/output_loss.h"

namespace ingot::cli {
namespace {

std::string range_text(double low, double high) {
  return number(low, 3) + " .. " + number(high, 3);
}

std::string percent(double share) { return number(100 * share, share < 0.5 ? 2 : 5); }

std::vector<std::string> row_of(const LayerLoss& loss) {
  return {loss.name,
          loss.op,
          number(loss.signal_to_noise, 3),
          range_text(loss.input.low, loss.input.high),
          range_text(loss.output.low, loss.output.high),
          range_text(loss.low, loss.high),
          percent(loss.clipped),
          loss.kept   ? "f32"
          : loss.rows ? "rows"
                      : "int8"};
}
const std::vector<std::string> kHeadings = {
    "layer", ">op", ">dB", ">input bytes", ">output bytes", ">output held", ">clipped %", ">as"};

/// A bar for each layer: long is good.
std::string bars_of(const std::vector<LayerLoss>& losses) {
  double most = 1;
  for (const LayerLoss& loss : losses)
    if (std::isfinite(loss.signal_to_noise)) most = std::max(most, loss.signal_to_noise);
  std::string svg = "<svg viewBox=\"0 0 960 " + std::to_string(losses.size() * 18 + 8) +
                    "\" width=\"960\" role=\"img\">\n";
  size_t row = 0;
  for (const LayerLoss& loss : losses) {
    const double db = std::isfinite(loss.signal_to_noise) ? loss.signal_to_noise : most;
    const double width = std::max(2.0, 600 * db / most);
    const int hue = int(std::min(120.0, std::max(0.0, (db - 5) * 4)));
    const std::string y = std::to_string(row++ * 18 + 4);
    svg += "<text x=\"300\" y=\"" + std::to_string(row * 18 - 4) +
           "\" text-anchor=\"end\" font-size=\"11\">" + escaped(loss.name.substr(0, 44)) +
           "</text><rect x=\"308\" y=\"" + y + "\" width=\"" + number(width, 5) +
           "\" height=\"13\" fill=\"hsl(" + std::to_string(hue) + ",60%,60%)\"><title>" +
           escaped(loss.name + " (" + loss.op + "): " + number(loss.signal_to_noise, 3) +
                   " dB, output " + range_text(loss.output.low, loss.output.high) + ", clipped " +
                   percent(loss.clipped) + " %") +
           "</title></rect>\n";
  }
  return svg + "</svg>\n";
}

void write_page(const QuantizeReport& report, const std::string& source, const std::string& path) {
  HtmlPage page("Quantization of " + source);
  page.heading("Quantization of " + source, summary_of(report));
  std::vector<std::vector<std::string>> outputs;
  for (const OutputLoss& loss : report.outputs)
    outputs.push_back(
        {loss.name, number(loss.signal_to_noise, 3), loss.has_rows ? percent(loss.agreement) : ""});
  page.heading("Outputs", "against f32, over the samples");
  page.table({"output", ">signal to noise, dB", ">largest at the same place, %"}, outputs);
  page.heading("Layers", "each alone, of operands without error, the worst first");
  page.add(bars_of(report.losses));
  std::vector<std::vector<std::string>> rows;
  for (const LayerLoss& loss : report.losses) rows.push_back(row_of(loss));
  page.table(kHeadings, rows);
  page.write(path);
}

}  // namespace

std::string summary_of(const QuantizeReport& report) {
  std::string text = std::to_string(report.layers - report.kept) + " of " +
                     std::to_string(report.layers) + " layers as int8, ";
  text += report.samples == 0
              ? "inputs quantized in each run"
              : "calibrated on " + grouped(report.samples) +
                    (report.samples == 1 ? " sample (" : " samples (") + report.method + ")";
  if (report.rows) text += ", rows of " + std::to_string(report.rows) + " quantized in each run";
  if (report.kept) text += ", " + std::to_string(report.kept) + " in f32";
  return text;
}

void print_quantize_report(const QuantizeReport& report, const ConvertArguments& a,
                           const std::string& source) {
  if (!a.sensitivity_html.empty()) write_page(report, source, a.sensitivity_html);
  for (const std::string& text : report.notes) note(text);
  if (a.sensitivity) {
    Table table(kHeadings);
    for (const LayerLoss& loss : report.losses) table.row(row_of(loss));
    printf("%s", table.text("").c_str());
  }
  note("quantized: " + summary_of(report) +
       (report.outputs.empty() ? "" : "; " + outputs_text(report.outputs)));
  if (!a.metric.empty())
    note("metric: " + number(report.metric, 6) + ", in f32 " + number(report.metric_f32, 6));
}

}  // namespace ingot::cli
