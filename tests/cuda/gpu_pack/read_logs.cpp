// SPDX-License-Identifier: Apache-2.0
// tests/cuda/gpu_pack/read_logs.cpp - what logs of the pack's programs say.
#include <cstdlib>
#include <sstream>

#include "tests/cuda/gpu_pack/run_jobs.h"

namespace ingot::pack {
namespace {

/// The number behind "key": in a JSON text; 0.
double number_in(const std::string& json, const std::string& key) {
  const size_t at = json.find("\"" + key + "\": ");
  return at == std::string::npos ? 0 : std::atof(json.c_str() + at + key.size() + 4);
}

std::string trimmed(const std::string& text) {
  const size_t from = text.find_first_not_of(" \t"), to = text.find_last_not_of(" \t");
  return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

}  // namespace

std::vector<std::string> read_failures(const std::string& text) {
  constexpr size_t kMaxLines = 40;
  std::vector<std::string> out;
  std::istringstream lines(text);
  std::string test, ran, open;
  int left = 0;  // lines of the failure that is read
  const auto close = [&] {
    if (!open.empty() && out.size() < kMaxLines) out.push_back(open.substr(0, 700));
    open.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    const std::string bare = trimmed(line);
    if (bare.rfind("TEST CASE:", 0) == 0) {
      close();
      test = trimmed(bare.substr(10));
    } else if (bare.rfind("on the GPU ran:", 0) == 0) {
      close();
      ran = bare;
    } else if (const size_t error = bare.find("ERROR: "); error != std::string::npos) {
      close();
      open = test + ": " + bare.substr(error + 7) + (ran.empty() ? "" : "; " + ran);
      left = 8, ran.clear();
    } else if (!open.empty()) {
      if (bare.empty() || bare[0] == '=' || left-- == 0)
        close();
      else
        open += "; " + bare;
    }
  }
  close();
  return out;
}

bool read_figure(const std::string& text, Figure* out) {
  const size_t at = text.rfind("\ngpu {");
  const std::string json =
      at == std::string::npos ? text.rfind("gpu {", 0) == 0 ? text : "" : text.substr(at);
  if (json.empty()) return false;
  out->p50_ms = number_in(json, "p50_ms");
  out->p99_ms = number_in(json, "p99_ms");
  out->first_result_ms = number_in(json, "first_result_ms");
  out->device_mib = number_in(json, "device_bytes") / (1 << 20);
  out->beyond_mib = number_in(json, "beyond_bytes") / (1 << 20);
  return true;
}

void collect_figures(const std::vector<Network>& networks, Results* results) {
  results->figures.clear();
  for (const Network& n : networks) {
    const Outcome* const known = results->outcome("replays", n.key());
    if (!known || known->state != "done") continue;
    Figure figure{n.name, n.precision, n.batch};
    if (!read_figure(read_text(results->work + "/logs/replays." + n.key() + ".log"), &figure))
      continue;
    const std::string why = read_text(results->work + "/logs/networks.why." + n.key() + ".log");
    const size_t begin = why.find('{');  // behind warnings
    const Json report = Json::parse(begin == std::string::npos ? "" : why.substr(begin), nullptr,
                                    /*allow_exceptions=*/false);
    if (report.is_object()) figure.predicted_ms = report.value("ns", 0.0) * 1e-6;
    results->figures.push_back(figure);
  }
}

}  // namespace ingot::pack
