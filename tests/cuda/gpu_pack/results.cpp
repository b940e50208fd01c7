// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu_pack/results.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/cuda/gpu_pack/archive.h"

namespace ingot::pack {
namespace {

constexpr size_t kArchiveMost = 12u << 20, kLogMost = 192u << 10, kReportLog = 6u << 10;

std::string fixed(double x, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

std::string in_row(std::string text) {  // of a table
  for (char& c : text)
    if (c == '|' || c == '\n' || c == '\t') c = ' ';
  return text;
}

/// Every log and every file of state, the state whole.
Files files_of(const std::string& work) {
  Files state, logs;
  if (DIR* folder = opendir((work + "/logs").c_str())) {
    while (const dirent* entry = readdir(folder)) {
      const std::string name = entry->d_name;
      if (name[0] == '.' || name.size() > 90) continue;
      const bool is_progress = name.size() > 9 && name.rfind(".progress") == name.size() - 9;
      (is_progress ? state : logs)
          .emplace_back(name, read_text(work + "/logs/" + name, is_progress ? SIZE_MAX : kLogMost));
    }
    closedir(folder);
  }
  std::sort(logs.begin(), logs.end(),
            [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  size_t total = 0;
  for (const auto& file : state) total += file.second.size();
  for (auto& file : logs) {
    if (total + file.second.size() > kArchiveMost) file.second = "left out: no room for it\n";
    total += file.second.size() + 1024;
    state.push_back(std::move(file));
  }
  return state;
}

std::string to_line(const Outcome& o) {
  std::ostringstream line;
  line << o.part << '\t' << o.job << '\t' << o.state << '\t' << o.exit << '\t'
       << fixed(o.seconds, 1) << '\t' << in_row(o.note) << '\n';
  return line.str();
}

}  // namespace

std::string read_text(const std::string& path, size_t most) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const size_t size = size_t(file.tellg());
  std::string text;
  const auto read = [&](size_t from, size_t bytes) {
    std::string piece(bytes, '\0');
    file.seekg(std::streamoff(from));
    file.read(piece.data(), std::streamsize(bytes));
    text += piece;
  };
  if (size <= most) {
    read(0, size);
  } else {
    read(0, most / 4);
    text += "\n... " + std::to_string(size - most) + " bytes are left out here ...\n";
    read(size - most * 3 / 4, most * 3 / 4);
  }
  return text;
}

bool write_whole(const std::string& path, const std::string& text) {
  const std::string half = path + ".tmp";
  std::FILE* file = std::fopen(half.c_str(), "wb");
  if (!file) return false;
  bool ok = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  ok = std::fflush(file) == 0 && ok;
  ok = std::fclose(file) == 0 && ok;
  if (ok && std::rename(half.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  unlink(half.c_str());
  errno = error;
  return false;
}

PartState* Results::part(const std::string& name) {
  for (PartState& p : parts)
    if (p.name == name) return &p;
  return nullptr;
}

const Outcome* Results::outcome(const std::string& part, const std::string& job) const {
  for (const Outcome& o : outcomes)
    if (o.part == part && o.job == job) return &o;
  return nullptr;
}

void Results::add(const Outcome& outcome) {
  for (Outcome& o : outcomes)
    if (o.part == outcome.part && o.job == outcome.job) {
      o = outcome;
      return;
    }
  outcomes.push_back(outcome);
}

std::string Results::report() const {
  std::ostringstream to;
  to << "# " << gpu << "\n\n" << made << "  \n" << call << "  \nended: " << ended << "\n\n";
  for (const std::string& note : notes) to << "- " << note << "\n";
  to << "\n| part | state | s | |\n|---|---|---:|---|\n";
  for (const PartState& p : parts)
    to << "| " << p.name << " | " << p.state << " | " << fixed(p.seconds, 1) << " | "
       << in_row(p.note) << " |\n";
  if (!retreats.empty()) {
    to << "\n## Retreats\n\n";
    for (const std::string& line : retreats) to << "- " << line << "\n";
  }
  if (!failures.empty()) {
    to << "\n## Failures\n\n";
    for (size_t i = 0; i < failures.size() && i < 100; i++) to << "- " << failures[i] << "\n";
    if (failures.size() > 100) to << "- and " << failures.size() - 100 << " more: state.tar\n";
  }
  if (!figures.empty()) {
    to << "\n## Figures\n\nms; factor: measured by predicted; beyond: of arena and weights\n\n"
       << "| network | precision | batch | p50 | p99 | predicted | factor | first result | MiB | "
          "beyond |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
    for (const Figure& f : figures)
      to << "| " << f.network << " | " << f.precision << " | " << f.batch << " | "
         << fixed(f.p50_ms, 3) << " | " << fixed(f.p99_ms, 3) << " | "
         << (f.predicted_ms > 0 ? fixed(f.predicted_ms, 3) : "-") << " | "
         << (f.predicted_ms > 0 ? fixed(f.p50_ms / f.predicted_ms, 2) : "-") << " | "
         << fixed(f.first_result_ms, 1) << " | " << fixed(f.device_mib, 1) << " | "
         << fixed(f.beyond_mib, 1) << " |\n";
  }
  for (const PartState& p : parts) {
    if (p.logs.empty()) continue;
    to << "\n## " << p.name << "\n\n" << p.what << "\n\n```\n";
    for (const std::string& log : p.logs) {
      const std::string text = read_text(log, std::max<size_t>(kReportLog / p.logs.size(), 600));
      if (text.empty()) continue;
      if (p.logs.size() > 1) to << "== " << log.substr(log.rfind('/') + 1) << "\n";
      to << text << (text.back() == '\n' ? "" : "\n");
    }
    to << "```\n";
  }
  return to.str();
}

Json Results::json() const {
  Json all = {{"gpu", gpu},
              {"pack", made},
              {"library", library},
              {"call", call},
              {"ended", ended},
              {"notes", notes},
              {"retreats", retreats},
              {"failures", failures},
              {"parts", Json::array()},
              {"jobs", Json::array()},
              {"figures", Json::array()}};
  for (const PartState& p : parts)
    all["parts"].push_back(
        {{"name", p.name}, {"state", p.state}, {"seconds", p.seconds}, {"note", p.note}});
  for (const Outcome& o : outcomes)
    all["jobs"].push_back({{"part", o.part},
                           {"job", o.job},
                           {"state", o.state},
                           {"exit", o.exit},
                           {"seconds", o.seconds},
                           {"note", o.note}});
  for (const Figure& f : figures)
    all["figures"].push_back({{"network", f.network},
                              {"precision", f.precision},
                              {"batch", f.batch},
                              {"p50_ms", f.p50_ms},
                              {"p99_ms", f.p99_ms},
                              {"predicted_ms", f.predicted_ms},
                              {"first_result_ms", f.first_result_ms},
                              {"device_mib", f.device_mib},
                              {"beyond_mib", f.beyond_mib}});
  return all;
}

bool Results::write() {
  std::string state;
  for (const Outcome& o : outcomes) state += to_line(o);
  (void)write_whole(work + "/logs/state.tsv", state);
  problem.clear();
  const auto put = [&](const char* name, const std::string& text) {
    if (!write_whole(out + "/" + name, text))
      problem += std::string(problem.empty() ? "" : "; ") + name + ": " + std::strerror(errno);
  };
  put("report.md", report());
  put("results.json", json().dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  Files files = files_of(work);
  files.erase(std::remove_if(files.begin(), files.end(),
                             [](const auto& file) { return file.first == "state.tsv"; }),
              files.end());
  files.insert(files.begin(), {"state.tsv", state});
  put("state.tar", make_archive(files));
  return problem.empty();
}

void Results::load(const std::string& archive) {
  Files files;
  if (!archive.empty()) {
    const std::string text = read_text(archive);
    if (!read_archive(text, &files))
      notes.push_back(archive + (text.empty() ? ": cannot be read: everything is done anew"
                                              : ": is cut off: what was whole in it is taken"));
    for (const auto& [name, content] : files)
      if (name.find('/') == std::string::npos) (void)write_whole(work + "/logs/" + name, content);
  }
  std::istringstream lines(read_text(work + "/logs/state.tsv"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Outcome o;
    std::string exit, seconds;
    const auto word = [&](std::string* to) { return bool(std::getline(words, *to, '\t')); };
    if (!word(&o.part) || !word(&o.job) || !word(&o.state) || !word(&exit) || !word(&seconds))
      continue;
    (void)word(&o.note);
    o.exit = std::atoi(exit.c_str());
    o.seconds = std::atof(seconds.c_str());
    add(o);
  }
}

}  // namespace ingot::pack
