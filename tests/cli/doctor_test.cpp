// SPDX-License-Identifier: Apache-2.0
// ingot doctor over made-up machines: Jetsons of three JetPacks, a desktop without fused
// multiply-add, nothing at all; and over this one.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/command_line.h"

using namespace cli_test;
using Json = nlohmann::json;

namespace {

void put(const Folder& root, const std::string& path, const std::string& text) {
  const std::filesystem::path file = root / path;
  std::filesystem::create_directories(file.parent_path());
  spill(file, text);
}

/// An Orin Nano in its 15 W mode, clocks governed, two of six processors off.
void make_orin(const Folder& root) {
  put(root, "etc/os-release", "NAME=\"Ubuntu\"\nPRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\n");
  put(root, "proc/sys/kernel/osrelease", "5.15.148-tegra\n");
  put(root, "proc/self/auxv", std::string("\6\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0", 16));
  put(root, "proc/cpuinfo",
      "processor\t: 0\nFeatures\t: fp asimd asimdhp asimddp\nCPU part\t: 0xd42\n");
  put(root, "proc/meminfo",
      "MemTotal:        7990000 kB\nMemFree: 100 kB\nMemAvailable:    600000 kB\nSwapTotal: "
      "3995000 kB\n");
  put(root, "sys/devices/system/cpu/online", "0-3\n");
  put(root, "sys/devices/system/cpu/present", "0-5\n");
  put(root, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  put(root, "proc/device-tree/model", std::string("NVIDIA Jetson Orin Nano Developer Kit\0", 38));
  put(root, "etc/nv_tegra_release",
      "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64\n");
  put(root, "var/lib/dpkg/status",
      "Package: bash\nVersion: 5.1\n\nPackage: nvidia-jetpack\nStatus: install ok "
      "installed\nVersion: "
      "6.2+b77\n\nPackage: x\nVersion: 1\n");
  put(root, "var/lib/nvpmodel/status", "pmode:0001\n");
  put(root, "etc/nvpmodel.conf",
      "< POWER_MODEL ID=0 NAME=15W >\n< POWER_MODEL ID=1 NAME=7W >\nCPU_ONLINE CORE_0 1\n< "
      "POWER_MODEL ID=2 "
      "NAME=MAXN_SUPER >\n");
  put(root, "sys/class/devfreq/17000000.gpu/governor", "nvhost_podgov\n");
  put(root, "sys/class/devfreq/17000000.gpu/cur_freq", "306000000\n");
  put(root, "sys/class/devfreq/17000000.gpu/max_freq", "408000000\n");
  put(root, "sys/class/devfreq/17000000.gpu/available_frequencies",
      "306000000 408000000 510000000 624750000\n");
  put(root, "sys/class/devfreq/other.bus/governor", "userspace\n");
}

Json examine(const Folder& root, std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"doctor", "--json", "--root", root.path()};
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = run(words);
  INFO(ran.err);
  CHECK(ran.exit == 0);
  return Json::parse(ran.out);
}

bool finds(const Json& report, const std::string& part, const char* fix) {
  for (const Json& finding : report["findings"])
    if (has(finding["what"], part) && has(finding["fix"], fix)) return true;
  return false;
}

}  // namespace

TEST_CASE(
    "doctor: a Jetson's board, JetPack, power mode, clocks, memory, and what to do about them") {
  const Folder root;
  make_orin(root);
  const Json report = examine(root);
  CHECK(report["system"]["name"] == "Ubuntu 22.04.5 LTS");
  CHECK(report["system"]["kernel"] == "5.15.148-tegra");
  CHECK(report["system"]["page_bytes"] == 65536);
  CHECK(report["cpu"]["name"] == "Cortex-A78AE");
  CHECK(report["cpu"]["online"] == 4);
  CHECK(report["cpu"]["present"] == 6);
  CHECK(report["memory"]["total_bytes"] == 7990000LL * 1024);
  CHECK(report["memory"]["transparent_huge_pages"] == "madvise");
  CHECK(report["board"]["name"] == "NVIDIA Jetson Orin Nano Developer Kit");
  CHECK(report["board"]["jetson_linux"] == "36.4.3");
  CHECK(report["board"]["jetpack"] == 6);
  CHECK(report["board"]["jetpack_package"] == "6.2+b77");
  CHECK(report["board"]["power_mode"] == 1);
  CHECK(report["board"]["power_mode_name"] == "7W");
  REQUIRE(report["clocks"].size() == 1);  // the other bus is no GPU
  CHECK(report["clocks"][0]["hz"] == 306000000);
  CHECK(report["clocks"][0]["limit_hz"] == 408000000);
  CHECK(report["clocks"][0]["most_hz"] == 624750000);
  CHECK(finds(report, "power mode 1 (7W)", "sudo nvpmodel -m 2"));
  CHECK(finds(report, "2 of 6 processors are off line", "power mode"));
  CHECK(finds(report, "less than a tenth of the memory", "multi-user.target"));
  const Ran shown = run({"doctor", "--root", root.path()});
  CHECK(shown.exit == 0);
  CHECK(has(shown.out, "jetson linux   36.4.3 (JetPack 6), package nvidia-jetpack 6.2+b77\n"));
  CHECK(has(shown.out, "do: sudo nvpmodel -m 2\n"));
}

TEST_CASE("doctor: every JetPack is told by its Jetson Linux") {
  struct Release {
    const char* line;
    int jetpack;
    bool is_problem;
  };
  for (const Release& release : {Release{"# R35 (release), REVISION: 4.1, GCID: 1", 5, false},
                                 Release{"# R38 (release), REVISION: 2.0, GCID: 1", 7, false},
                                 Release{"# R32 (release), REVISION: 7.1, GCID: 1", 4, true},
                                 Release{"# R21 (release), REVISION: 1", 0, true}}) {
    const Folder root;
    put(root, "etc/nv_tegra_release", release.line);
    const Json report = examine(root);
    CAPTURE(release.line);
    CHECK(report["board"]["jetpack"] == release.jetpack);
    bool problem = false;
    for (const Json& finding : report["findings"])
      problem |= finding["kind"] == "problem" && has(finding["what"], "Jetson Linux");
    CHECK(problem == release.is_problem);
  }
}

TEST_CASE("doctor: a processor without fused multiply-add, huge pages off, strict overcommit") {
  const Folder root;
  put(root, "proc/cpuinfo", "model name\t: Old Processor\nflags\t\t: fpu sse sse2 ssse3 avx\n");
  put(root, "sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  put(root, "proc/sys/vm/overcommit_memory", "2\n");
  const Json report = examine(root);
  CHECK(finds(report, "no fused multiply-add", "INGOT_CPU_ISA=scalar"));
  CHECK(finds(report, "transparent huge pages are off", "madvise"));
  CHECK(finds(report, "overcommit_memory is 2", "sysctl"));
}

TEST_CASE("doctor: a core is named, and vectors that no kernel uses") {
  const Folder root;
  put(root, "proc/cpuinfo",
      "Features\t: fp asimd asimdhp asimddp sve i8mm bf16 sve2\nCPU part\t: 0xd49\n");
  const Json report = examine(root);
  CHECK(report["cpu"]["name"] == "Neoverse N2");
  CHECK(report["cpu"]["vectors_unused"] == Json({"sve", "sve2"}));
  CHECK(has(run({"doctor", "--root", root.path()}).out, "not used       sve sve2: found"));
}

TEST_CASE("doctor: files that are missing, empty or nonsense are left out") {
  const Folder root;
  CHECK(examine(root)["board"]["jetpack"] == 0);
  for (const char* path :
       {"etc/os-release", "proc/cpuinfo", "proc/meminfo", "proc/self/auxv", "etc/nv_tegra_release",
        "var/lib/dpkg/status", "var/lib/nvpmodel/status", "etc/nvpmodel.conf",
        "sys/devices/system/cpu/online", "sys/class/devfreq/gpu/cur_freq"})
    put(root, path, "\xff\xfe: 99999999999999999999999999\n-1-,,5-3\x01\n");
  const Json report = examine(root);
  CHECK(report["system"]["page_bytes"] == 0);
  const Ran shown = run({"doctor", "--root", root.path()});
  CHECK(shown.exit == 0);
  CHECK_FALSE(has(shown.out, "\xff"));
}

TEST_CASE("doctor: this machine; --require ends in exit code 7 with the reason") {
  const Ran ran = run({"doctor", "--json"});
  CHECK(ran.exit == 0);
  const Json report = Json::parse(ran.out);
  CHECK(report["system"]["page_bytes"].get<int64_t>() >= 4096);
  CHECK(report["memory"]["total_bytes"].get<int64_t>() > 0);
  CHECK(run({"doctor", "--require", "scalar"}).exit == 0);
  const Ran unknown = run({"doctor", "--require", "warp"});
  CHECK(unknown.exit == 1);
  CHECK(has(unknown.err, "scalar"));
  const Folder root;
  CHECK(run({"doctor", "--require", "scalar", "--root", root.path()}).exit == 1);
}

TEST_CASE(
    "doctor: GPUs through the driver: usable, without device code, with a driver that is too old "
    "or not there") {
  using Environment = std::vector<std::pair<std::string, std::string>>;
  auto ask = [](Environment environment, std::vector<std::string> more = {}) {
    environment.push_back({"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA});
    std::vector<std::string> words = {"doctor", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    RunOptions options;
    options.environment = environment;
    return run(words, options);
  };
  const Ran two =
      ask({{"FAKE_CUDA_DEVICES", "2"}, {"FAKE_CUDA_MIB", "512"}}, {"--require", "cuda"});
  INFO(two.err);
  CHECK(two.exit == 0);
  const Json good = Json::parse(two.out)["cuda"];
  CHECK(good["driver_version"] == 13000);
  CHECK(good["problem"] == "");
  REQUIRE(good["devices"].size() == 2);
  CHECK(good["devices"][1]["name"] == "cuda:1");
  CHECK(good["devices"][1]["usable"] == true);
  CHECK(good["devices"][1]["total_bytes"] == 512 << 20);
  CHECK(good["devices"][1]["free_bytes"].get<int64_t>() > 0);
  const Json offers = Json::parse(two.out)["devices"];
  REQUIRE(offers.size() >= 2);
  CHECK(offers[1]["name"] == "cuda:1");
  CHECK(offers[1]["exists"] == true);
  CHECK(ask({{"FAKE_CUDA_DEVICES", "2"}}, {"--require", "cuda:1"}).exit == 0);
  CHECK(ask({{"FAKE_CUDA_DEVICES", "2"}}, {"--require", "cuda:2"}).exit == 7);

  const Ran pascal = ask({{"FAKE_CUDA_SM", "61"}}, {"--require", "cuda"});
  CHECK(pascal.exit == 7);
  CHECK(is_one_error_line(pascal.err));
  CHECK(finds(Json::parse(pascal.out), "no device code for cuda:0, compute capability 6.1",
              "use cpu: device code can"));
  const auto advised = [&](const std::string& sm, const char* fix) {
    CAPTURE(sm);
    const Json report = Json::parse(ask({{"FAKE_CUDA_SM", sm}}).out);
    const bool has_code = report["cuda"]["devices"][0]["device_code"] != 0;
    CHECK((has_code || finds(report, "no device code for cuda:0", fix)));
  };
  // V100: before Turing, and code of a Xavier does not run there
  advised("70", "use cpu: device code can");
  advised("130", "a newer one may");
  advised("103",
          "./dev cuda-toolkit 13.0, then build with -DINGOT_CUDA=ON "
          "-DINGOT_CUDA_ARCHITECTURES=100, which runs there too");
  advised("121", "-DINGOT_CUDA_ARCHITECTURES=120, which runs there too");
  // Whatever the build can be asked for is advised by its own number.
  const std::string build = slurp(INGOT_DOCS "/../cmake/IngotCuda.cmake");
  int architectures = 0;
  for (const auto& [list, toolkit] :
       {std::pair("set(INGOT_CUDA_OLDEST ", "11.8"), std::pair("set(INGOT_CUDA_TWELVE ", "12.4"),
        std::pair("set(INGOT_CUDA_NEWEST ", "13.0")}) {
    const size_t from = build.find(list);
    REQUIRE(from != std::string::npos);
    std::istringstream words(
        build.substr(from + strlen(list), build.find(')', from) - from - strlen(list)));
    for (std::string sm; words >> sm; architectures++) {
      advised(sm, (std::string("./dev cuda-toolkit ") + toolkit +
                   ", then build with -DINGOT_CUDA=ON -DINGOT_CUDA_ARCHITECTURES=" + sm)
                      .c_str());
    }
  }
  CHECK(architectures == 10);

  // What is asked of graphs, and why not more: never silent.
  CHECK(has(good["library"], "libfake_cuda.so"));
  CHECK(good["devices"][0]["graphs"] == "early starts, branches, Ifs and Loops by the GPU");
  const auto graphs = [&](const char* use) {
    return Json::parse(ask({{"INGOT_CUDA_GRAPHS", use}}).out);
  };
  const auto told = [](const Json& report) {
    return report["cuda"]["devices"][0]["graphs"].get<std::string>();
  };
  CHECK(has(told(graphs("ordered")), "no early starts (INGOT_CUDA_GRAPHS), branches"));
  CHECK(has(told(graphs("serial")), "one chain (INGOT_CUDA_GRAPHS), Ifs and Loops by the GPU"));
  CHECK(has(told(graphs("host")), "by the CPU (it was asked for: INGOT_CUDA_GRAPHS)"));
  CHECK(has(told(graphs("none")), "none: kernel by kernel"));
  CHECK(finds(graphs("none"), "graphs are 'none', which costs time", "unset it"));
  CHECK(has(graphs("some")["cuda"]["problem"], "INGOT_CUDA_GRAPHS is none of"));

  const Json orin = Json::parse(
      ask({{"FAKE_CUDA_SM", "87"}, {"FAKE_CUDA_INTEGRATED", "1"}, {"FAKE_CUDA_VERSION", "12060"}})
          .out);
  const Json& device = orin["cuda"]["devices"][0];
  CHECK(device["integrated"] == true);
  if (device["device_code"] == 87)
    CHECK(finds(orin, "whose ABI drivers before 13.0 do not know", "INGOT_NVCC") ==
          (device["device_code_compiler"] >= 13000));
  else
    CHECK(finds(orin, "no device code", "INGOT_CUDA_ARCHITECTURES=87"));

  CHECK(finds(Json::parse(ask({{"FAKE_CUDA_COMPUTE_MODE", "3"}}).out), "another has it",
              "end the other process"));
  CHECK(finds(Json::parse(ask({{"FAKE_CUDA_COMPUTE_MODE", "2"}}).out), "prohibits it",
              "nvidia-smi -c DEFAULT"));

  const Ran old = ask({{"FAKE_CUDA_VERSION", "11000"}}, {"--require", "cuda"});
  CHECK(old.exit == 7);
  CHECK(has(Json::parse(old.out)["cuda"]["problem"], "older than 11.4"));

  RunOptions without_code;
  without_code.environment = {{"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA}, {"FAKE_CUDA_SM", "61"}};
  const Ran shown = run({"doctor"}, without_code);
  // and not "0 of 4096 MiB free"
  CHECK(has(shown.out, ", 4096 MiB, device code none, not usable: "));
  CHECK(has(shown.out, "device code    "));

  RunOptions nothing;
  nothing.environment = {{"INGOT_CUDA_DRIVER", "/nonexistent.so"}};
  const Ran none = run({"doctor", "--require", "cuda"}, nothing);
  CHECK(none.exit == 7);
  CHECK(is_one_error_line(none.err));
}
