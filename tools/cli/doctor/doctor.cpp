// SPDX-License-Identifier: Apache-2.0
// ingot doctor - what this machine has for a model to run on, what stands in the way, and what to
// do about it.
#include "tools/cli/doctor/doctor.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/device/device.h"
#include "tools/cli/options/command.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/session/engine.h"

namespace ingot::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DoctorArguments {
  std::string root = "/";
  std::vector<std::string> require;
  bool json = false;
};

struct Diagnosis {
  MachineFacts machine;
  std::vector<std::string> built, usable;  // instruction sets
  GpusReport gpus;
  std::vector<DeviceOffer> devices;  // of back ends
  std::vector<Finding> findings;
};

/// Of every back end that this program knows, linked or not.
std::vector<DeviceOffer> offers_of_backends() {
  std::vector<DeviceOffer> out;
  DeviceOffer offer;
  for (uint32_t i = 0; device_offer(i, &offer); i++)
    if (find_backend(offer.name)) {
      constexpr char kSubject[] = "device: ";  // of an error
      if (std::string(offer.why).rfind(kSubject, 0) == 0) offer.why += sizeof kSubject - 1;
      out.push_back(offer);
    }
  return out;
}

/// Of a device that is there; "" where it can be used, or nothing more is known of it.
std::string problem_of(const GpusReport& report, const std::string& name) {
  for (const GpuReport& gpu : report.gpus)
    if (gpu.name == name) return gpu.problem;
  return "";
}

/// Why the back end `name`, or its device `name`, cannot be used; "" when it can.
std::string why_no_device(const Diagnosis& found, const std::string& name) {
  const bool is_any = name.find(':') == std::string::npos;
  std::string first;
  for (const DeviceOffer& offer : found.devices) {
    if (find_backend(offer.name) != find_backend(name.c_str())) continue;
    if (offer.exists && !is_any && name != offer.name) continue;
    const std::string why = offer.exists ? problem_of(found.gpus, offer.name) : offer.why;
    if (why.empty()) return "";
    if (first.empty()) first = why;
  }
  return first.empty() ? "no such device" : first;
}

/// "glibc 2.36"; of musl, which has no version to ask for, the name.
std::string c_library() {
#if defined(__GLIBC__)
  return std::string("glibc ") + gnu_get_libc_version();
#else
  return "musl";
#endif
}

std::string two_part(int number, int unit) {
  return std::to_string(number / unit) + "." + std::to_string(number % unit);
}

Diagnosis diagnose(const std::string& root) {
  Diagnosis out;
  out.machine = read_machine(root);
  for (const char* isa : built_isas()) out.built.push_back(isa);
  if (root == "/") {  // what can be used is asked of this machine, not of a copy's files
    out.usable = runnable_isas();
    out.gpus = examine_gpus();
    out.devices = offers_of_backends();
  }
  out.findings = machine_findings(out.machine);
  for (const Finding& finding : processor_findings(out.machine, out.usable))
    out.findings.push_back(finding);
  for (const Finding& finding : gpu_findings(out.machine, out.gpus))
    out.findings.push_back(finding);
  return out;
}

Json as_json(const Diagnosis& found) {
  const MachineFacts& m = found.machine;
  Json clocks = Json::array(), devices = Json::array(), findings = Json::array();
  Json offers = Json::array();
  for (const Clock& clock : m.clocks)
    clocks.push_back({{"name", clock.name},
                      {"governor", clock.governor},
                      {"hz", clock.now_hz},
                      {"limit_hz", clock.limit_hz},
                      {"most_hz", clock.most_hz}});
  for (const GpuReport& gpu : found.gpus.gpus)
    devices.push_back({{"name", gpu.name},
                       {"product", gpu.product},
                       {"compute_capability", two_part(gpu.sm, 10)},
                       {"multiprocessors", gpu.multiprocessors},
                       {"integrated", gpu.is_integrated},
                       {"total_bytes", gpu.total_bytes},
                       {"free_bytes", gpu.free_bytes},
                       {"device_code", gpu.code_sm},
                       {"device_code_compiler", gpu.code_compiler},
                       {"graphs", gpu.graphs},
                       {"usable", gpu.problem.empty()},
                       {"why", gpu.problem}});
  for (const DeviceOffer& offer : found.devices)
    offers.push_back({{"name", offer.name}, {"exists", offer.exists}, {"why", offer.why}});
  for (const Finding& finding : found.findings)
    findings.push_back({{"kind", finding.is_problem ? "problem" : "note"},
                        {"what", finding.what},
                        {"fix", finding.fix}});
  return {{"version", INGOT_VERSION_TEXT},
          {"system",
           {{"name", m.system},
            {"kernel", m.kernel},
            {"libc", c_library()},
            {"page_bytes", m.page_bytes}}},
          {"cpu",
           {{"name", m.processor},
            {"online", m.online_processors},
            {"present", m.present_processors},
            {"instruction_sets_built", found.built},
            {"instruction_sets_usable", found.usable},
            {"vectors_unused", unused_vectors(m)}}},
          {"memory",
           {{"total_bytes", m.memory_bytes},
            {"available_bytes", m.available_bytes},
            {"swap_bytes", m.swap_bytes},
            {"transparent_huge_pages", m.huge_pages}}},
          {"board",
           {{"name", m.board},
            {"jetson_linux", m.l4t},
            {"jetpack", m.jetpack},
            {"jetpack_package", m.jetpack_package},
            {"power_mode", m.power_mode},
            {"power_mode_name", m.power_mode_name},
            {"kernel_driver", m.kernel_driver}}},
          {"clocks", clocks},
          {"devices", offers},
          {"cuda",
           {{"driver_version", found.gpus.driver_version},
            {"library", found.gpus.library},
            {"graphs", found.gpus.graphs},
            {"problem", found.gpus.problem},
            {"device_code", found.gpus.device_code},
            {"devices", devices}}},
          {"findings", findings}};
}

std::string words(const std::vector<std::string>& all, const char* between = " ") {
  std::string out;
  for (const std::string& one : all) out += (out.empty() ? "" : between) + one;
  return out;
}

void line(const char* name, const std::string& value) {
  if (!value.empty()) printf("%-14s %s\n", name, one_line(value).c_str());
}

void print(const Diagnosis& found) {
  const MachineFacts& m = found.machine;
  line("ingot", INGOT_VERSION_TEXT);
  line("system", m.system + (m.kernel.empty() ? "" : ", Linux " + m.kernel) + ", " + c_library());
  line("board", m.board);
  if (!m.l4t.empty())
    line("jetson linux",
         m.l4t + (m.jetpack ? " (JetPack " + std::to_string(m.jetpack) + ")" : "") +
             (m.jetpack_package.empty() ? "" : ", package nvidia-jetpack " + m.jetpack_package));
  line("gpu driver", m.kernel_driver);
  line("processor",
       m.processor + (m.online_processors ? ", " + std::to_string(m.online_processors) + " of " +
                                                std::to_string(m.present_processors) + " on line"
                                          : ""));
  if (!found.usable.empty())
    line("instructions", words(found.usable) + " (built: " + words(found.built) + ")");
  const std::vector<std::string> unused = unused_vectors(m);
  if (!unused.empty()) line("not used", words(unused) + ": found, and no kernel is made of them");
  if (m.memory_bytes)
    line("memory", std::to_string(m.memory_bytes >> 20) + " MiB, " +
                       std::to_string(m.available_bytes >> 20) + " available, " +
                       std::to_string(m.swap_bytes >> 20) + " of swap; pages of " +
                       std::to_string(m.page_bytes) +
                       " bytes, huge ones: " + (m.huge_pages.empty() ? "unknown" : m.huge_pages));
  if (m.power_mode >= 0)
    line("power mode", std::to_string(m.power_mode) +
                           (m.power_mode_name.empty() ? "" : " (" + m.power_mode_name + ")"));
  for (const Clock& clock : m.clocks)
    line("clock", clock.name + ": " + std::to_string(clock.now_hz / 1000000) + " MHz of " +
                      std::to_string(clock.most_hz / 1000000) + ", " + clock.governor);
  if (!found.usable.empty())  // what this program has is no fact of another machine
    line("device code", found.gpus.device_code.empty() ? "none: this program was built without nvcc"
                                                       : words(found.gpus.device_code, ", "));
  line("cuda", found.gpus.driver_version
                   ? "driver of CUDA " + two_part(found.gpus.driver_version / 10, 100) +
                         (found.gpus.library.empty() ? "" : ", " + found.gpus.library)
                   : "");
  line("cuda", found.gpus.problem);
  for (const GpuReport& gpu : found.gpus.gpus)
    line(gpu.name.c_str(),
         gpu.product + ", compute capability " + two_part(gpu.sm, 10) +
             (gpu.is_integrated ? ", integrated, " : ", ") +
             // Of one that cannot be used nobody asked how much is free.
             (gpu.problem.empty() ? std::to_string(gpu.free_bytes >> 20) + " of " : "") +
             std::to_string(gpu.total_bytes >> 20) + " MiB" + (gpu.problem.empty() ? " free" : "") +
             ", device code " +
             (gpu.sm == 0   ? "emulated"
              : gpu.code_sm ? std::to_string(gpu.code_sm)
                            : "none") +
             (gpu.problem.empty() ? "" : ", not usable: " + gpu.problem));
  for (const GpuReport& gpu : found.gpus.gpus)
    if (gpu.problem.empty()) line("graphs", gpu.name + ": " + gpu.graphs);
  for (const DeviceOffer& offer : found.devices)  // those of CUDA are told above
    if (std::string(find_backend(offer.name)->name) != "cuda")
      line(offer.name, (offer.exists ? "" : "not usable: ") + std::string(offer.why));
  for (const Finding& finding : found.findings)
    printf("%s %s\n        do: %s\n", finding.is_problem ? "problem" : "note   ",
           one_line(finding.what).c_str(), one_line(finding.fix).c_str());
  if (found.findings.empty()) printf("nothing to do\n");
}

std::string backend_names() {
  std::vector<std::string> names;
  for (const BackendRow* row = kBackends; row->name; row++) names.push_back(row->name);
  return words(names, ", ");
}

/// What was asked for and is not there.
std::string missing(const DoctorArguments& a, const Diagnosis& found) {
  for (const std::string& name : a.require) {
    const bool is_isa =
        std::find(found.built.begin(), found.built.end(), name) != found.built.end();
    const bool is_device = find_backend(name.c_str()) != nullptr;
    if (!is_isa && !is_device)
      host::fail(host::Exit::kUsage, "doctor: --require takes " + backend_names() +
                                         " or an instruction set (" + words(found.built) +
                                         "), not '" + name + "'");
    const std::string why = is_device ? why_no_device(found, name) : "";
    if (!why.empty()) return name + ": " + why;
    if (is_isa && std::find(found.usable.begin(), found.usable.end(), name) == found.usable.end())
      return name + ": this processor cannot run it";
  }
  return "";
}

int doctor(const DoctorArguments& a) {
  if (a.root != "/" && !a.require.empty())
    host::fail(
        host::Exit::kUsage,
        "doctor: --require asks this machine, --root reads another's files; give one of them");
  struct stat folder;
  const int error = stat(a.root.c_str(), &folder) != 0 ? errno
                    : S_ISDIR(folder.st_mode)          ? 0
                                                       : ENOTDIR;
  if (error)
    host::fail(host::Exit::kUnavailable,
               "doctor: --root " + a.root + ": " + strerror(error) +
                   "; name the folder that etc, proc, sys and var were copied to");
  const Diagnosis found = diagnose(a.root);
  const std::string lacking = missing(a, found);
  if (a.json)
    printf("%s\n", json_text(as_json(found), 1).c_str());
  else
    print(found);
  if (!lacking.empty()) host::fail(host::Exit::kUnavailable, "doctor: " + lacking);
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<DoctorArguments>();
  CLI::App* command = add_command(
      app, chosen, "doctor",
      "What this machine has for models to run on, what is wrong, and what to do",
      "  ingot doctor\n"
      "  ingot doctor --require cuda && ingot run model.ingot --device cuda --inputs in.npz\n"
      "  ingot doctor --json > board.json",
      [a] { return doctor(*a); });
  command->add_flag("--json", a->json, "everything as JSON");
  command
      ->add_option(
          "--require", a->require,
          "exit code 7 when it cannot be used: " + backend_names() + ", or an instruction set")
      ->type_name("NAME");
  command
      ->add_option(
          "--root", a->root,
          "read etc, proc, sys and var below this folder: files copied from another machine")
      ->type_name("DIR");
}

}  // namespace ingot::cli
