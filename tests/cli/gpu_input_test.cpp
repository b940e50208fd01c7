// SPDX-License-Identifier: Apache-2.0
// Bad input on the way to a GPU, through the real binary: drivers that are none, devices that are
// not there, memory that does not suffice, every call of the driver failing. Always one line that
// names what is wrong, never the CPU instead.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>

#include "tests/cli/command_line.h"

using namespace cli_test;

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// `ingot run` of the small network, with the fake driver where the environment names no other.
struct Machine {
  const Folder folder;
  const std::string model = converted(folder, "linear");

  Ran ask(const std::string& device, Environment environment,
          std::vector<std::string> more = {}) const {
    bool is_named = false;
    for (const auto& [name, value] : environment)
      is_named = is_named || name == "INGOT_CUDA_DRIVER";
    if (!is_named) environment.push_back({"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA});
    std::vector<std::string> words = {
        "run",      model, "--inputs", data("linear.npz"), "--outputs", folder / "out.npz",
        "--device", device};
    words.insert(words.end(), more.begin(), more.end());
    RunOptions options;
    options.environment = environment;
    std::filesystem::remove(folder / "out.npz");
    return run(words, options);
  }
  bool has_output() const { return std::filesystem::exists(folder / "out.npz"); }

  void check_refused(const std::string& device, const Environment& environment, int exit,
                     const std::vector<std::string>& parts) const {
    CAPTURE(device);
    const Ran ran = ask(device, environment);
    CAPTURE(ran.err);
    CHECK(ran.signal == 0);
    CHECK(ran.exit == exit);
    CHECK(is_one_error_line(ran.err));
    CHECK_FALSE(has_output());
    for (const std::string& part : parts) {
      CAPTURE(part);
      CHECK(has(ran.err, part));
    }
  }
};

}  // namespace

TEST_CASE("gpu input: the small network on the fake GPU has the answer of the CPU") {
  const Machine machine;
  CHECK(machine.ask("cpu", {}).exit == 0);
  const std::string expected = slurp(machine.folder / "out.npz");
  for (const char* device : {"cuda", "cuda:0", "auto"}) {
    const Ran ran = machine.ask(device, {}, {"--strict"});
    INFO(ran.err);
    CHECK(ran.exit == 0);
    CHECK(slurp(machine.folder / "out.npz") == expected);
  }
}

TEST_CASE("gpu input: words that are no device, and devices that are not there") {
  const Machine machine;
  for (const char* word : {"CUDA", "Cuda", "", "cuda ", " cuda", "cudas", "cpu\n"})
    machine.check_refused(word, {}, 1, {"--device: expected auto, cpu or cuda, found '"});
  machine.check_refused("gpu", {}, 1, {"--device: a GPU is cuda, the second cuda:1; found 'gpu'"});
  for (const char* word : {"cuda:", "cuda:-1", "cuda:0x1", "cuda:1.5", "cuda: 1", "cuda:one",
                           "cuda:99999999999", "cuda:18446744073709551616", "cuda:0:0"})
    machine.check_refused(
        word, {}, 7, {std::string("'") + word + "'", "cuda is the first GPU, cuda:1 the second"});
  machine.check_refused("cuda:1", {}, 7,
                        {"'cuda:1'", "more than there are: needs 2, found 1", "`ingot doctor`"});
  machine.check_refused("cuda:2", {{"FAKE_CUDA_DEVICES", "2"}}, 7, {"needs 3, found 2"});
  machine.check_refused("cuda:16", {{"FAKE_CUDA_DEVICES", "99"}}, 7, {"needs 17, found 16"});
  machine.check_refused("cuda", {{"FAKE_CUDA_DEVICES", "0"}}, 7,
                        {"the CUDA driver finds no device", "`ingot doctor`"});
  machine.check_refused("cuda", {{"CUDA_VISIBLE_DEVICES", ""}}, 7, {"finds no device", "unset it"});
  machine.check_refused("cuda", {{"CUDA_VISIBLE_DEVICES", "-1"}}, 7,
                        {"finds no device", "unset it"});
  machine.check_refused("cuda:1", {{"FAKE_CUDA_DEVICES", "2"}, {"CUDA_VISIBLE_DEVICES", "1"}}, 7,
                        {"needs 2, found 1"});
}

TEST_CASE(
    "gpu input: a GPU that no device code fits is an error when it was asked for, and auto goes on "
    "to the next") {
  const Machine machine;
  const Environment mixed = {{"FAKE_CUDA_DEVICES", "2"}, {"FAKE_CUDA_SM", "61,0"}};
  machine.check_refused("cuda", mixed, 7, {"'cuda'", "device code", "-DINGOT_CUDA_ARCHITECTURES"});
  CHECK(machine.ask("cuda:1", mixed).exit == 0);
  RunOptions options;
  options.environment = mixed;
  options.environment.push_back({"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA});
  const Ran place = run({"place", machine.model}, options);
  CHECK(has(place.out, "auto: cuda:1 ("));
  CHECK(has(place.out, "cuda:0: device: "));
  const Ran all = run({"place", machine.model, "--json"}, options);
  CHECK(has(all.out, "\"default\": \"cuda:1\""));
  const Environment prohibited = {{"FAKE_CUDA_DEVICES", "2"}, {"FAKE_CUDA_COMPUTE_MODE", "2,0"}};
  machine.check_refused("cuda", prohibited, 7,
                        {"compute mode prohibits it", "nvidia-smi -c DEFAULT"});
  CHECK(machine.ask("auto", prohibited).exit == 0);
  CHECK(machine.ask("auto", {{"FAKE_CUDA_COMPUTE_MODE", "2"}}).exit == 0);
  const Environment taken = {{"FAKE_CUDA_COMPUTE_MODE", "3"}};
  machine.check_refused("cuda", taken, 7,
                        {"for one process at a time", "another has it", "nvidia-smi"});
  CHECK(machine.ask("auto", taken).exit == 0);
  const std::string report = machine.folder / "report";
  CHECK(
      machine.ask("cuda", {{"FAKE_CUDA_COMPUTE_MODE", "-3"}, {"FAKE_CUDA_REPORT", report}}).exit ==
      0);
  CHECK(has(slurp(report), "\ncontexts 0\n"));
}

TEST_CASE("gpu input: libraries that are no driver") {
  const Machine machine;
  const Folder& folder = machine.folder;
  const auto refused = [&](const std::string& library, const std::vector<std::string>& parts) {
    machine.check_refused("cuda", {{"INGOT_CUDA_DRIVER", library}}, 7, parts);
    const Ran ran = machine.ask("auto", {{"INGOT_CUDA_DRIVER", library}});  // nobody insists on it
    CHECK(ran.exit == 0);
  };
  const std::string named = "the library that INGOT_CUDA_DRIVER names cannot be loaded: ";
  refused(folder / "none.so", {named, "none.so: cannot open shared object file"});
  spill(folder / "text.so",
        "this is no library, but long enough to have a header: " + std::string(200, '.'));
  refused(folder / "text.so", {named, "text.so: invalid ELF header"});
  spill(folder / "empty.so", "");
  refused(folder / "empty.so", {named, "empty.so: file too short"});
  std::filesystem::create_directory(folder / "folder.so");
  refused(folder / "folder.so", {named, "folder.so: "});
  std::string whole = slurp(INGOT_FAKE_CUDA);
  for (const size_t bytes :
       {size_t{100}, size_t{5000}, whole.size() / 2}) {  // the loader would touch what is not there
    spill(folder / "cut.so", whole.substr(0, bytes));
    refused(folder / "cut.so", {named});
  }
  uint16_t machine_type;
  std::memcpy(&machine_type, whole.data() + 18, 2);
  machine_type = machine_type == 62 ? 183 : 62;  // x86-64, aarch64
  std::memcpy(whole.data() + 18, &machine_type, 2);
  spill(folder / "other.so", whole);
  refused(folder / "other.so", {named, "other.so: "});
  refused("libm.so.6",
          {"the CUDA driver is too old: it lacks cuInit", "CUDA 11.4 (JetPack 5) or newer"});
}

TEST_CASE("gpu input: a driver that starts not, is too old, or does not describe its devices") {
  const Machine machine;
  machine.check_refused("cuda", {{"FAKE_CUDA_VERSION", "11030"}}, 7,
                        {"older than 11.4", "JetPack 5"});
  machine.check_refused("cuda", {{"FAKE_CUDA_FAIL", "1:34"}}, 7,
                        {"a toolkit's stub", "LD_LIBRARY_PATH"});
  machine.check_refused("cuda", {{"FAKE_CUDA_FAIL", "1:803"}}, 7,
                        {"of different versions", "restart"});
  machine.check_refused("cuda", {{"FAKE_CUDA_FAIL", "1:804"}}, 7,
                        {"does not serve this GPU", "LD_LIBRARY_PATH"});
  machine.check_refused("cuda", {{"FAKE_CUDA_FAIL", "1:999"}}, 7,
                        {"does not start: CUDA_ERROR_UNKNOWN", "nvidia_uvm"});
  machine.check_refused("cuda", {{"FAKE_CUDA_FAIL", "1:3"}}, 7, {"in the child of a fork"});
  machine.check_refused("cuda", {{"FAKE_CUDA_FAIL", "2:1"}}, 7,
                        {"does not start: CUDA_ERROR_INVALID_VALUE"});
  machine.check_refused("cuda", {{"FAKE_CUDA_FAIL", "8:1"}}, 7,
                        {"the CUDA driver does not describe it"});
}

TEST_CASE(
    "gpu input: whatever call of the driver fails, one line says so and no output is written; else "
    "the run is whole") {
  const Machine machine;
  const std::string report = machine.folder / "report";
  for (const char* code : {"2", "1", "700"}) {
    int refused = 0;
    // 2, no memory, is what users meet; the others are tried at every third call, not the same
    const int every = *code == '2' ? 1 : 3;
    for (int call = 1 + (*code == '7'); call < 100; call += every + call / 40) {
      const Environment environment = {{"FAKE_CUDA_FAIL", std::to_string(call) + ":" + code},
                                       {"FAKE_CUDA_REPORT", report}};
      const Ran ran = machine.ask("cuda", environment);
      CAPTURE(call);
      CAPTURE(ran.err);
      CHECK(ran.signal == 0);
      CHECK(machine.has_output() == (ran.exit == 0));
      if (ran.exit == 0) continue;
      refused++;
      CHECK(ran.exit == 7);
      CHECK(is_one_error_line(ran.err));
      for (const char* count :
           {"\nallocations 0\n", "\nbytes 0\n", "\npinned 0\n", "\ncontexts 0\n", "\nmodules 0\n",
            "\nstreams 0\n", "\ngraphs 0\n", "\nexecs 0\n", "\nmisuses 0\n"})
        CHECK(has(slurp(report), count));
    }
    CHECK(refused > 20 / every);
  }
}

TEST_CASE("gpu input: --device cpu asks no driver") {
  const Machine machine;
  const std::string report = machine.folder / "report";
  CHECK(machine.ask("cpu", {{"FAKE_CUDA_REPORT", report}}).exit == 0);
  CHECK_FALSE(std::filesystem::exists(report));  // it was never loaded
}

TEST_CASE(
    "gpu input: a network larger than the free memory: both numbers, and the batch that would "
    "fit") {
  const Machine machine;
  const std::string batch = converted(machine.folder, "batch");
  RunOptions options;
  options.environment = {{"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA}, {"FAKE_CUDA_MIB", "1"}};
  const auto bench = [&](int64_t extent) {
    return run({"bench", batch, "--device", "cuda", "--seconds", "0", "--dim",
                "N=" + std::to_string(extent)},
               options);
  };
  const Ran ran = bench(200'000);
  CAPTURE(ran.err);
  CHECK(ran.exit == 7);
  CHECK(is_one_error_line(ran.err));
  CHECK(has(ran.err, "device memory: needs "));
  CHECK(has(ran.err, "has 1,048,576 B"));
  const std::string advice = "it would fit with --dim N=";
  const size_t at = ran.err.find(advice);
  REQUIRE(at != std::string::npos);
  CHECK(has(ran.err,
            "; its weights are 320 B of that, f32 there whatever --dtype the file stores them in"));
  const int64_t fits = std::atoll(ran.err.c_str() + at + advice.size());
  CHECK(fits > 1);
  CHECK(bench(fits).exit == 0);
  const Ran whole = run({"bench", batch, "--device", "cuda", "--seconds", "0", "--dim", "N=200000"},
                        {{{"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA}, {"FAKE_CUDA_MIB", "64"}}, {}});
  CHECK(whole.exit == 0);
  // Stored in half the bytes, no less is needed.
  const auto needs = [](const Ran& of) {
    int64_t bytes = 0;
    for (size_t i = of.err.find("needs ") + 6; of.err[i] != ' '; i++)
      if (of.err[i] != ',') bytes = bytes * 10 + (of.err[i] - '0');
    return bytes;
  };
  REQUIRE(run({"convert", data("batch.onnx"), "-o", batch, "--dtype", "fp16"}).exit == 0);
  CHECK(needs(bench(200'000)) >= needs(ran));
  // A network without a dynamic dimension.
  const Ran fixed = run({"bench", machine.model, "--device", "cuda", "--seconds", "0"},
                        {{{"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA}, {"FAKE_CUDA_MIB", "0"}}, {}});
  CAPTURE(fixed.err);
  CHECK(fixed.exit == 7);
  CHECK(is_one_error_line(fixed.err));
}
