// SPDX-License-Identifier: Apache-2.0
// tools/cli/doctor/machine_facts.cpp - reads /proc, /sys and /etc. Whatever is missing or strange
// is left out.
#include "tools/cli/doctor/machine_facts.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "tools/files/input_file.h"

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;

class Tree {
 public:
  explicit Tree(const std::string& root) : root_(root) {}
  fs::path operator/(const std::string& path) const { return root_ / path; }
  /// The file's bytes; "" where there is none.
  std::string text(const fs::path& path) const {
    host::InputStream file(path.string());
    std::ostringstream out;
    if (file) out << file.rdbuf();
    return out.str();
  }
  std::string text(const char* path) const { return text(root_ / path); }
  /// Without what surrounds the first line: spaces, a final zero byte (device trees).
  std::string line(const fs::path& path) const {
    std::string out = text(path);
    out = out.substr(0, out.find_first_of(std::string("\n\0", 2)));
    while (!out.empty() && isspace(static_cast<unsigned char>(out.back()))) out.pop_back();
    return out;
  }
  std::string line(const char* path) const { return line(root_ / path); }
  int64_t number(const fs::path& path) const {
    const std::string text = line(path);
    char* end;
    const long long value = strtoll(text.c_str(), &end, 10);
    return end == text.c_str() ? 0 : value;
  }
  std::vector<fs::path> folders(const std::string& path) const {
    std::vector<fs::path> out;
    std::error_code failed;
    for (fs::directory_iterator it(root_ / path, failed), end; !failed && it != end;
         it.increment(failed))
      out.push_back(it->path());
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  fs::path root_;
};

/// The digits and points that follow `marker` and spaces; "" where there are none. (A library of
/// patterns would be 300 KB of program.)
std::string number_after(const std::string& text, const char* marker) {
  size_t at = text.find(marker);
  if (at == std::string::npos) return "";
  at = text.find_first_not_of(' ', at + strlen(marker));
  if (at == std::string::npos || !isdigit(static_cast<unsigned char>(text[at]))) return "";
  return text.substr(at, text.find_first_not_of("0123456789.", at) - at);
}
/// The first word that is a version, "580.65.06".
std::string version_in(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return "";
}

/// The value of "KEY   : value" or "KEY=value" lines.
std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t at = line.find_first_not_of(" \t", key.size());
    if (at == std::string::npos || (line[at] != ':' && line[at] != '=')) continue;
    const size_t from = line.find_first_not_of(" \t\"", at + 1);
    if (from == std::string::npos) return "";
    return line.substr(from, line.find_last_not_of(" \t\"") + 1 - from);
  }
  return "";
}

/// "0-5,8": seven.
int count_list(const std::string& list) {
  int count = 0;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    int low = 0, high = 0;
    const int read = sscanf(part.c_str(), "%d-%d", &low, &high);
    if (read == 1) count++;
    if (read == 2 && high >= low && high - low < 65536) count += high - low + 1;
  }
  return count;
}

void read_system(const Tree& tree, MachineFacts* out) {
  out->system = value_of(tree.text("etc/os-release"), "PRETTY_NAME");
  out->kernel = tree.line("proc/sys/kernel/osrelease");
  // pairs of words; 6 is the size of a page
  const std::string auxiliary = tree.text("proc/self/auxv");
  for (size_t at = 0; at + 16 <= auxiliary.size(); at += 16) {
    uint64_t pair[2];
    memcpy(pair, auxiliary.data() + at, sizeof pair);
    if (pair[0] == 6) out->page_bytes = int64_t(pair[1]);
  }
}

void read_processor(const Tree& tree, MachineFacts* out) {
  const std::string info = tree.text("proc/cpuinfo");
  out->processor = value_of(info, "model name");
  if (out->processor.empty()) {
    const std::string part = value_of(info, "CPU part");
    struct Core {
      const char *part, *name;
    };
    constexpr Core kArm[] = {
        {"0xc05", "Cortex-A5"},     {"0xc07", "Cortex-A7"},     {"0xc08", "Cortex-A8"},
        {"0xc09", "Cortex-A9"},     {"0xc0d", "Cortex-A12"},    {"0xc0e", "Cortex-A17"},
        {"0xc0f", "Cortex-A15"},    {"0x004", "NVIDIA Carmel"}, {"0xd01", "Cortex-A32"},
        {"0xd02", "Cortex-A34"},    {"0xd03", "Cortex-A53"},    {"0xd04", "Cortex-A35"},
        {"0xd05", "Cortex-A55"},    {"0xd06", "Cortex-A65"},    {"0xd07", "Cortex-A57"},
        {"0xd08", "Cortex-A72"},    {"0xd09", "Cortex-A73"},    {"0xd0a", "Cortex-A75"},
        {"0xd0b", "Cortex-A76"},    {"0xd0c", "Neoverse N1"},   {"0xd0d", "Cortex-A77"},
        {"0xd0e", "Cortex-A76AE"},  {"0xd40", "Neoverse V1"},   {"0xd41", "Cortex-A78"},
        {"0xd42", "Cortex-A78AE"},  {"0xd44", "Cortex-X1"},     {"0xd46", "Cortex-A510"},
        {"0xd47", "Cortex-A710"},   {"0xd48", "Cortex-X2"},     {"0xd49", "Neoverse N2"},
        {"0xd4b", "Cortex-A78C"},   {"0xd4d", "Cortex-A715"},   {"0xd4e", "Cortex-X3"},
        {"0xd4f", "Neoverse V2"},   {"0xd80", "Cortex-A520"},   {"0xd81", "Cortex-A720"},
        {"0xd83", "Neoverse V3AE"}, {"0xd84", "Neoverse V3"}};
    for (const Core& core : kArm)
      if (part == core.part) out->processor = core.name;
  }
  std::istringstream flags(value_of(info, "flags") + " " + value_of(info, "Features"));
  for (std::string flag; flags >> flag;) out->features.push_back(flag);
  out->online_processors = count_list(tree.line("sys/devices/system/cpu/online"));
  out->present_processors = count_list(tree.line("sys/devices/system/cpu/present"));
}

void read_memory(const Tree& tree, MachineFacts* out) {
  const std::string info = tree.text("proc/meminfo");
  auto bytes = [&](const char* key) {
    return int64_t(strtoll(value_of(info, key).c_str(), nullptr, 10)) * 1024;
  };
  out->memory_bytes = bytes("MemTotal");
  out->available_bytes = bytes("MemAvailable");
  out->swap_bytes = bytes("SwapTotal");
  // "always [madvise] never"
  const std::string choices = tree.line("sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = choices.find('['), close = choices.find(']');
  if (open < close && close != std::string::npos)
    out->huge_pages = choices.substr(open + 1, close - open - 1);
  out->overcommit = int(tree.number(tree / "proc/sys/vm/overcommit_memory"));
}

void read_board(const Tree& tree, MachineFacts* out) {
  out->board = tree.line("proc/device-tree/model");
  // "# R36 (release), REVISION: 4.3, GCID: ..."
  const std::string release = tree.line("etc/nv_tegra_release");
  const std::string major = number_after(release, "# R"),
                    minor = number_after(release, "REVISION:");
  if (!major.empty()) {
    out->l4t = major + "." + minor;
    const int number = atoi(major.c_str());
    out->jetpack = number >= 38 ? 7 : number == 36 ? 6 : number >= 34 ? 5 : number == 32 ? 4 : 0;
    const std::string packages = tree.text("var/lib/dpkg/status");
    const size_t at = packages.find("\nPackage: nvidia-jetpack\n");
    if (at != std::string::npos)
      out->jetpack_package =
          value_of(packages.substr(at, packages.find("\n\n", at + 1) - at), "Version");
  }
  out->kernel_driver = version_in(tree.line("proc/driver/nvidia/version"));
  for (const char* node :
       {"dev/nvidia0", "dev/nvidiactl", "dev/nvhost-gpu", "dev/nvhost-ctrl-gpu", "dev/nvmap"}) {
    const fs::path path = tree / node;
    if (access(path.c_str(), F_OK) != 0) continue;
    out->has_gpu_nodes = true;
    if (access(path.c_str(), R_OK | W_OK) != 0)
      out->closed_nodes.push_back("/" + std::string(node));
  }
}

void read_power(const Tree& tree, MachineFacts* out) {
  const std::string status = tree.line("var/lib/nvpmodel/status");  // "pmode:0002"
  const std::string number = number_after(status, "pmode:");
  if (!number.empty()) out->power_mode = atoi(number.c_str());
  std::istringstream table(tree.text("etc/nvpmodel.conf"));  // "< POWER_MODEL ID=2 NAME=MODE_15W >"
  for (std::string line; std::getline(table, line);) {
    int id;
    char name[64];
    if (sscanf(line.c_str(), " < POWER_MODEL ID=%d NAME=%63s", &id, name) != 2) continue;
    if (id == out->power_mode) out->power_mode_name = name;
    // A "super" mode replaces the older one without a budget.
    const std::string given = name;
    if (given == "MAXN_SUPER" || (given == "MAXN" && out->full_power_name != "MAXN_SUPER")) {
      out->full_power_name = given;
      out->full_power_mode = id;
    }
  }
}

bool is_gpu(const std::string& name) {
  for (const char* part : {"gpu", "gv11b", "ga10b", "gb10b", "gpc"})
    if (name.find(part) != std::string::npos) return true;
  return false;
}

void read_clocks(const Tree& tree, MachineFacts* out) {
  for (const fs::path& folder : tree.folders("sys/class/devfreq")) {
    std::string name = folder.filename();
    const std::string given = tree.line(folder / "device/of_node/name");
    if (!given.empty()) name = given;
    if (!is_gpu(name + " " + folder.filename().string())) continue;
    Clock clock{name, tree.line(folder / "governor"), tree.number(folder / "cur_freq"), 0,
                tree.number(folder / "max_freq")};
    std::istringstream steps(tree.line(folder / "available_frequencies"));
    for (int64_t step; steps >> step;) clock.most_hz = std::max(clock.most_hz, step);
    if (!clock.most_hz) clock.most_hz = clock.limit_hz;
    out->clocks.push_back(clock);
  }
  for (const fs::path& folder : tree.folders("sys/devices/system/cpu/cpufreq")) {
    if (folder.filename().string().rfind("policy", 0) != 0) continue;
    const std::string cpus = tree.line(folder / "affected_cpus");
    out->clocks.push_back({"cpu " + cpus, tree.line(folder / "scaling_governor"),
                           tree.number(folder / "scaling_cur_freq") * 1000,
                           tree.number(folder / "cpuinfo_max_freq") * 1000,
                           tree.number(folder / "scaling_max_freq") * 1000});
  }
}

}  // namespace

MachineFacts read_machine(const std::string& root) {
  const Tree tree(root);
  MachineFacts out;
  read_system(tree, &out);
  read_processor(tree, &out);
  read_memory(tree, &out);
  read_board(tree, &out);
  read_power(tree, &out);
  read_clocks(tree, &out);
  return out;
}

}  // namespace ingot::cli
