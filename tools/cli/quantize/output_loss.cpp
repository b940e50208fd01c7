// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/quantize/output_loss.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

#include "tools/cli/output/terminal.h"

namespace ingot::cli {

using host::Exit;
using host::fail;

Budget parse_budget(const std::string& text) {
  char* end = nullptr;
  Budget budget;
  budget.number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  budget.is_ratio = unit == "dB" || unit == "db";
  const bool is_number = end != text.c_str() && std::isfinite(budget.number);
  if (!is_number || (!budget.is_ratio && unit != "%") || budget.number < 0)
    fail(Exit::kUsage, "--budget: '" + text +
                           "' is neither a number of decibels (30dB, of the outputs' signal to "
                           "noise) nor of percent (0.5%)");
  return budget;
}

double decibels(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

double least_decibels(const std::vector<OutputLoss>& losses) {
  double least = std::numeric_limits<double>::infinity();
  for (const OutputLoss& loss : losses) least = std::min(least, loss.signal_to_noise);
  return least;
}

OutputLosses::OutputLosses(const Engine& engine) {
  for (uint32_t o = 0; o < engine.summary().output_count; o++) {
    sums_.emplace_back();
    sums_.back().name = engine.output(o).name;
  }
}

void OutputLosses::add(uint32_t output, const host::Array& expected, const host::Array& found) {
  if (expected.dtype != DType::kF32 || expected.dims != found.dims || !expected.elements()) return;
  Sums& sums = sums_[output];
  const float *x = expected.as<float>(), *y = found.as<float>();
  for (int64_t i = 0; i < expected.elements(); i++) {
    const double error = double(y[i]) - double(x[i]);
    sums.signal += double(x[i]) * double(x[i]);
    sums.noise += error * error;
  }
  const int64_t width = expected.dims.empty() ? 1 : expected.dims.back();
  sums.width = std::max(sums.width, width);
  for (int64_t row = 0; row < expected.elements() / width; row++) {
    const float *a = x + row * width, *b = y + row * width;
    sums.rows++;
    sums.agreeing += std::max_element(a, a + width) - a == std::max_element(b, b + width) - b;
  }
}

std::vector<OutputLoss> OutputLosses::take() const {
  std::vector<OutputLoss> losses;
  for (const Sums& sums : sums_) {
    if (!sums.rows) continue;
    OutputLoss loss;
    loss.name = sums.name;
    loss.signal_to_noise = decibels(sums.signal, sums.noise);
    loss.has_rows = sums.width > 1;
    loss.agreement = double(sums.agreeing) / double(sums.rows);
    losses.push_back(std::move(loss));
  }
  return losses;
}

std::string outputs_text(const std::vector<OutputLoss>& losses) {
  std::string text;
  for (const OutputLoss& loss : losses)
    text += (text.empty() ? "output '" : ", '") + loss.name + "' " +
            number(loss.signal_to_noise, 3) + " dB" +
            (loss.has_rows ? ", the largest at the same place in " +
                                 number(100 * loss.agreement, 4) + " % of rows"
                           : "");
  return text;
}

double metric_of(const std::string& command, const std::string& file) {
  std::string line = command, path = file;
  const std::string own = "/proc/self/";  // of another process for the command
  if (path.rfind(own, 0) == 0) path = "/proc/" + std::to_string(getpid()) + path.substr(10);
  const size_t at = line.find("{}");
  const std::string quoted = "'" + path + "'";
  at == std::string::npos ? line += " " + quoted : line.replace(at, 2, quoted);
  std::fflush(nullptr);
  const std::unique_ptr<FILE, int (*)(FILE*)> out(popen(line.c_str(), "r"), pclose);
  if (!out) fail(Exit::kUnavailable, "--metric " + command + ": cannot be started");
  std::string said;
  char piece[4096];
  while (const size_t count = std::fread(piece, 1, sizeof piece, out.get()))
    if (said.size() < sizeof piece) said.append(piece, count);
  while (!said.empty() && std::isspace(static_cast<unsigned char>(said.back()))) said.pop_back();
  char* end = nullptr;
  const double found = std::strtod(said.c_str(), &end);
  if (said.empty() || *end != '\0' || !std::isfinite(found))
    fail(Exit::kCheckFailed, "--metric " + command + ": expected one number, found '" +
                                 one_line(said.substr(0, 80)) + "'");
  return found;
}

}  // namespace ingot::cli
