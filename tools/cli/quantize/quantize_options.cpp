#include "tools/cli/quantize/quantize_options.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/cli/options/command.h"
#include "tools/cli/options/help.h"
#include "tools/cli/output/html_page.h"
#include "tools/cli/output/terminal.h"
#include "tools/cli/quantize/output_loss.h"
#include "tools/session/arguments.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

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

void QuantizeOptions::declare(CLI::App* command) {
  command
      ->add_option("--calibrate", arguments.data,
                   "with --dtype int8: inputs like those of later runs: an .npz (first dimension: "
                   "samples), or a folder of .npz or images; without it linear layers alone "
                   "compute with bytes, and quantize their inputs in each run")
      ->type_name("FOLDER|NPZ");
  command
      ->add_option(
          "--calibrate-method", arguments.method,
          "what of a tensor's numbers bytes cover: minmax, percentile[=99.99], mse, or auto: "
          "what measures best at the outputs")
      ->type_name("METHOD")
      ->capture_default_str();
  command->add_option("--calibrate-samples", samples, "take so many samples at most")
      ->type_name("NUMBER");
  command->add_option("--bias-correction", bias, "move biases by the mean error of the weights")
      ->type_name("on|off")
      ->capture_default_str();
  command
      ->add_option("--equalize", equalize,
                   "even out channels between convolutions where their sizes differ much")
      ->type_name("on|off")
      ->capture_default_str();
  command
      ->add_option("--linear", arguments.linear,
                   "how inputs of linear layers become bytes where they are made in floating "
                   "point: static (by the calibrated range), rows (each row by its own numbers in "
                   "each run), or auto: rows where that measures 3 dB better")
      ->type_name("auto|static|rows")
      ->capture_default_str();
  command->add_flag("--sensitivity", sensitivity,
                    "with --dtype int8: print what each layer loses, the worst first");
  writes_file(command->add_option("--sensitivity-html", html, "write the same as a page")
                  ->type_name("OUT.html"));
  command
      ->add_option("--budget", arguments.budget,
                   "leave the worst layers in f32 until outputs keep so many decibels, or lose no "
                   "more than so many percent (of rows whose largest number moves, or of --metric)")
      ->type_name("30dB|0.5%");
  command
      ->add_option("--metric", arguments.metric,
                   "with --budget: a command that prints one number for an .ingot file; {} in it "
                   "is the file")
      ->type_name("COMMAND");
  group_options(command, "Quantization (--dtype int8)",
                {"calibrate", "calibrate-method", "calibrate-samples", "bias-correction",
                 "equalize", "linear", "sensitivity", "sensitivity-html", "budget", "metric"});
}

bool QuantizeOptions::are_wanted(const std::string& dtype,
                                 const std::vector<std::string>& keep_fp32) {
  arguments.correct_bias = parse_choice("--bias-correction", bias, {"on", "off"}) == "on";
  arguments.equalize = parse_choice("--equalize", equalize, {"on", "off"}) == "on";
  (void)parse_choice("--linear", arguments.linear, {"auto", "static", "rows"});
  if (!samples.empty())
    arguments.samples =
        uint64_t(parse_integer("--calibrate-samples", samples, 1, int64_t(1) << 40));
  if (dtype != "int8") {
    if (!arguments.data.empty())
      fail(Exit::kUsage, "convert: --calibrate is about --dtype int8; say that too");
    if (sensitivity || !html.empty() || !arguments.budget.empty() || !arguments.metric.empty() ||
        !samples.empty() || bias != "on" || equalize != "on" || arguments.method != "auto" ||
        arguments.linear != "auto")
      fail(Exit::kUsage,
           "convert: --calibrate-method, --calibrate-samples, --bias-correction, --equalize, "
           "--linear, "
           "--sensitivity, --sensitivity-html, --budget and --metric are about --dtype int8; say "
           "that too");
    return false;
  }
  if (arguments.data.empty() &&
      (sensitivity || !html.empty() || !arguments.budget.empty() || !arguments.metric.empty() ||
       !samples.empty() || bias != "on" || equalize != "on" || arguments.method != "auto" ||
       arguments.linear != "auto"))
    fail(Exit::kUsage,
         "convert: --calibrate-method, --calibrate-samples, --bias-correction, --equalize, "
         "--linear, "
         "--sensitivity, --sensitivity-html, --budget and --metric need inputs like those of later "
         "runs: --calibrate FOLDER or --calibrate FILE.npz");
  if (!arguments.metric.empty() && arguments.budget.empty())
    fail(Exit::kUsage, "convert: --metric is what --budget is about; say how much, as in 0.5%");
  if (!arguments.budget.empty() && !arguments.metric.empty() &&
      parse_budget(arguments.budget).is_ratio)
    fail(Exit::kUsage, "convert: --budget of a --metric is in percent, as in 0.5%");
  arguments.keep = keep_fp32;
  arguments.measure_layers = sensitivity || !html.empty();
  return true;
}

void print_quantize_report(const QuantizeReport& report, const QuantizeOptions& options,
                           const std::string& source) {
  if (!options.html.empty()) write_page(report, source, options.html);
  for (const std::string& text : report.notes) note(text);
  if (options.sensitivity) {
    Table table(kHeadings);
    for (const LayerLoss& loss : report.losses) table.row(row_of(loss));
    printf("%s", table.text("").c_str());
  }
  note("quantized: " + summary_of(report) +
       (report.outputs.empty() ? "" : "; " + outputs_text(report.outputs)));
  if (!options.arguments.metric.empty())
    note("metric: " + number(report.metric, 6) + ", in f32 " + number(report.metric_f32, 6));
}

}  // namespace ingot::cli
