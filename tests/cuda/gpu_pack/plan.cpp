// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu_pack/plan.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace ingot::pack {
namespace {

using Words = std::vector<std::string>;

bool is_there(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

/// With the options of the row "options" of a seed.
Words convert_words(const Setting& s, const Network& n, const std::string& source) {
  Words words = {s.pack + "/bin/ingot", "convert",   source, "-o", n.file,
                 "--precision",         n.precision, "-q"};
  if (n.precision != "exact") {  // weights by seed are no network's
    words.push_back("--precision-check");
    words.push_back("off");
  }
  std::ifstream options(s.pack + "/seeds/" + n.name + ".options");
  for (std::string word; options >> word;) words.push_back(word);
  return words;
}

Words runner_words(const Setting& s, const Network& n, const std::string& runs,
                   const std::string& seconds) {
  Words words = {s.pack + "/bin/gpu_runner",
                 n.file,
                 n.inputs,
                 "--items",
                 std::to_string(n.batch),
                 "--runs",
                 runs,
                 "--seconds",
                 seconds};
  if (n.precision != "exact") words.push_back("--alike");
  words.insert(words.end(), n.shapes.begin(), n.shapes.end());
  return words;
}

/// "input=1x64" with `batch` items.
std::string with_items(const std::string& shape, int batch) {
  const size_t equals = shape.rfind('='), x = shape.find('x', equals);
  return shape.substr(0, equals + 1) + std::to_string(batch) +
         (x == std::string::npos ? "" : shape.substr(x));
}

/// Of a network whose graph leaves dimensions open: "batch=@ sequence=64".
void add_dims(const Setting& s, const Network& n, Words* words) {
  std::ifstream dims(s.pack + "/seeds/" + n.name + ".dims");
  for (std::string dim; dims >> dim;) {
    const size_t at = dim.find('@');
    if (at != std::string::npos) dim.replace(at, 1, std::to_string(n.batch));
    words->insert(words->end(), {"--dim", dim});
  }
}

std::vector<Network> seeded_of(const std::vector<Network>& networks, int batch,
                               const std::string& precision) {
  std::vector<Network> out;
  for (const Network& n : networks)
    if (n.is_seeded && n.batch == batch && n.precision == precision) out.push_back(n);
  return out;
}

Part shards(const Setting& s, const char* name, const char* what, const char* filter,
            const char* cases, double weight) {
  Part part{name, what, 10, weight, s.is_exclusive ? 1 : 16};
  const int count = std::atoi(option("SHARDS", "16").c_str());
  part.parallel = std::min(part.parallel, std::max(count, 1));
  for (int i = 0; i < count; i++) {
    Job job{std::to_string(i),
            {s.pack + "/bin/test_conformance_driver", "--shard",
             std::to_string(i) + "/" + std::to_string(count), filter}};
    job.progress = s.work + "/logs/" + name + "." + job.name + ".progress";
    job.words.push_back("--progress");
    job.words.push_back(job.progress);
    const std::string asked = option(cases, "");
    if (!asked.empty()) job.words.push_back("-tc=" + asked);
    part.jobs.push_back(std::move(job));
  }
  return part;
}

Part plan_ladder(const Setting& s, const std::vector<Network>& networks) {
  Part part{"ladder",
            "graphs as the driver takes them: the same bits with less and less asked of it", 5, 3};
  for (const char* rung : kRungs)
    for (const Network& n : networks) {
      if (n.is_seeded || n.precision != "exact" || n.batch != 1) continue;
      const char* const few[] = {"digits", "looping", "ppocr_cls", "branching_network",
                                 "small_network"};
      if (std::find(std::begin(few), std::end(few), n.name) == std::end(few)) continue;
      Job job{n.name + "." + rung,
              runner_words(s, n, option("REPLAYS", "50"), option("SECONDS", "0.2"))};
      job.environment.push_back({"INGOT_CUDA_GRAPHS", rung});
      job.limit = 30;
      part.jobs.push_back(std::move(job));
    }
  return part;
}

Part plan_replays(const Setting& s, const std::vector<Network>& networks) {
  Part part{"replays", "p50 and p99, load to first result, memory; every run the same bits", 6, 34};
  // the networks that others are compared by first
  std::vector<Network> order = networks;
  const auto rank = [](const Network& n) {
    return (n.is_seeded ? 0 : 100) +
           (n.precision == "fp16"   ? 0
            : n.precision == "fast" ? 10
                                    : 20) +
           (n.batch == 1   ? 0
            : n.batch == 8 ? 1
                           : 2);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Network& a, const Network& b) { return rank(a) < rank(b); });
  for (const Network& n : order) {
    const std::string runs = option("REPLAYS", n.batch == 1 ? "1000" : "100");
    Job job{n.key(), runner_words(s, n, runs, option("SECONDS", "0.7"))};
    job.needs = {n.file};
    job.retreats = true;
    job.limit = 60;
    part.jobs.push_back(std::move(job));
  }
  return part;
}

Part plan_counters(const Setting& s, const std::vector<Network>& networks) {
  Part part{"counters", "of five kernels, by ncu with the clocks as they are", 8, 6};
  const std::string ncu = find_program("ncu");
  const char* metrics =
      "gpu__time_duration.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,"
      "dram__throughput.avg.pct_of_peak_sustained_elapsed,"
      "lts__throughput.avg.pct_of_peak_sustained_elapsed,"
      "l1tex__data_bank_conflicts_pipe_lsu.sum,sm__warps_active.avg.pct_of_peak_sustained_active,"
      "sm__inst_executed_pipe_tensor.sum";
  const std::pair<const char*, const char*> kernels[] = {
      {"resnet50_224", "conv|tensorcore"},
      {"mobilenetv2_224", "bottleneck|depthwise"},
      {"minilm_l6", "attention"},
      {"minilm_l6", "norm|softmax"},
      {"yolov8n_320", "conv|tensorcore"}};
  int number = 0;
  for (const auto& [name, kernel] : kernels)
    for (const Network& n : networks) {
      if (n.name != name || n.precision != "fp16" || n.batch != 1) continue;
      Job job{std::to_string(number++) + "." + name,
              {ncu, "--clock-control", "none", "--metrics", metrics, "-k",
               std::string("regex:") + kernel, "-c", "1"}};
      const Words run = runner_words(s, n, "1", "0");
      job.words.insert(job.words.end(), run.begin(), run.end());
      job.needs = {n.file};
      job.limit = 40;
      if (ncu.empty()) job.skip = "ncu is not on this machine";
      part.jobs.push_back(std::move(job));
    }
  return part;
}

Part plan_torch(const Setting& s) {
  Part part{"torch", "torch in CUDA graphs, onnxruntime on a GPU, where they are here", 20, 14};
  const std::string python = find_program("python3");
  // a machine without it is none that fails
  const char* const asks =
      "import importlib.util, runpy, sys\n"
      "lacks = [m for m in ('numpy', 'onnx', 'torch') if not importlib.util.find_spec(m)]\n"
      "print('[skip] comparison with torch: not on this machine:', *lacks) if lacks else None\n"
      "sys.exit(77) if lacks else None\n"
      "sys.argv = sys.argv[1:]\n"
      "runpy.run_path(sys.argv[0], run_name='__main__')\n";
  Job torch{"torch", {python,         "-c",
                      asks,           s.pack + "/python/bench/cuda_torch.py",
                      "--ingot",      s.pack + "/bin/ingot",
                      "--models",     s.work + "/models",
                      "--work",       s.work + "/torch",
                      "--report",     s.work + "/logs/torch.json.log",
                      "--batches",    "1,8",
                      "--ways",       "eager,graph",
                      "--rounds",     "3",
                      "--seconds",    "0.3",
                      "resnet50_224", "minilm_l6"}};
  Job ort{"onnxruntime",
          {python, s.pack + "/python/ort_gpu.py", s.work + "/models/resnet50_224.onnx",
           s.work + "/models/mobilenetv2_224.onnx"}};
  for (Job* job : {&torch, &ort}) {
    if (python.empty()) job->skip = "python3 is not on this machine";
    job->limit = 120;
    part.jobs.push_back(*job);
  }
  return part;
}

Part plan_sanitizers(const Setting& s) {
  Part part{"sanitizers", "memcheck and racecheck over a few cases", 10, 5};
  const std::string program = find_program("compute-sanitizer");
  for (const char* filter :
       {"*softmax*", "*gather*", "*attention*counts*", "*convolutions of every shape*"})
    for (const char* check : {"memcheck", "racecheck"}) {
      Job job{std::string(check) + "." + std::to_string(part.jobs.size()),
              {program, "--tool", check, "--error-exitcode", "9",
               s.pack + "/bin/test_conformance_driver", std::string("-tc=") + filter}};
      if (program.empty()) job.skip = "compute-sanitizer is not on this machine";
      part.jobs.push_back(std::move(job));
    }
  return part;
}

/// One job for each of `networks`.
Part over(const char* name, const char* what, double floor, double weight,
          const std::vector<Network>& networks, Words (*words)(const Setting&, const Network&),
          const Setting& s) {
  Part part{name, what, floor, weight};
  for (const Network& n : networks) {
    const bool is_bench = std::string(name) == "pipeline";
    if (is_bench && !n.shapes.empty()) continue;  // takes no dimensions
    Job job{n.key(), words(s, n)};
    if (std::string(name) == "profile" || std::string(name) == "tune") add_dims(s, n, &job.words);
    job.needs = {n.file};
    job.nothing_exit = std::string(name) == "tune" ? 5 : -1;
    part.jobs.push_back(std::move(job));
  }
  return part;
}

}  // namespace

std::string option(const char* name, const std::string& otherwise) {
  const char* const text = std::getenv(("PACK_" + std::string(name)).c_str());
  return text && *text ? text : otherwise;
}

std::string find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string(path ? path : "/usr/bin:/bin") +
                             ":/usr/local/cuda/bin:/opt/nvidia/nsight-compute");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return "";
}

std::vector<Network> read_networks(const Setting& s) {
  std::vector<Network> out;
  std::ifstream lines(s.pack + "/models.txt");
  const std::string wanted = "," + option("NETWORKS", "") + ",";
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, precisions, batches, batch, shape, precision;
    words >> name >> precisions >> batches;
    if (wanted != ",," && wanted.find("," + name + ",") == std::string::npos) continue;
    Words shapes;
    while (words >> shape) shapes.push_back(shape);
    for (std::istringstream all(batches); std::getline(all, batch, ',');)
      for (std::istringstream each(precisions); std::getline(each, precision, ',');) {
        const std::string inputs = s.pack + "/inputs/" + name;
        Network n{name, precision, "", is_there(inputs) ? inputs : "-", std::atoi(batch.c_str())};
        n.is_seeded = is_there(s.pack + "/seeds/" + name + ".onnx");
        // Of one that has its batch in the graph there is a graph for each.
        const bool own_graph = is_there(s.pack + "/seeds/" + name + ".b" + batch + ".onnx");
        n.file = n.is_seeded ? s.work + "/models/" + name + (own_graph ? ".b" + batch : "") + "." +
                                   precision + ".ingot"
                             : s.pack + "/models/" + name + "." + precision + ".ingot";
        for (const std::string& one : shapes)
          n.shapes.push_back(own_graph || n.batch == 1 ? one : with_items(one, n.batch));
        out.push_back(std::move(n));
      }
  }
  return out;
}

Part plan_networks(const Setting& s, const std::vector<Network>& networks) {
  Part part{"networks",
            "networks made by seed, and their predictions: on the CPU, beside the rest",
            1,
            0,
            std::clamp(s.processors - 2, 1, 8),
            false};
  const std::string models = s.work + "/models/";
  std::vector<std::string> weights, files;
  std::vector<Job> converts, predicts;
  for (const Network& n : networks) {
    if (n.is_seeded) {
      const std::string seed = s.pack + "/seeds/" + n.name;
      const size_t slash = n.file.rfind('/');
      const std::string stem =
          n.file.substr(slash + 1, n.file.size() - slash - 1 - (n.precision.size() + 7));
      const auto add_once = [&](std::vector<std::string>* known, const std::string& key, Job job) {
        if (std::find(known->begin(), known->end(), key) != known->end()) return;
        known->push_back(key);
        (known == &weights ? part.jobs : converts).push_back(std::move(job));
      };
      Job make{n.name + ".weights",
               {s.pack + "/bin/pack_tool", "seed", seed + ".seed", models + n.name + ".weights"}};
      add_once(&weights, n.name, make);
      Job graph{stem + ".graph",
                {s.pack + "/bin/pack_tool", "copy", s.pack + "/seeds/" + stem + ".onnx",
                 models + stem + ".onnx"}};
      add_once(&weights, stem + ".graph", graph);
      Job convert{stem + "." + n.precision, convert_words(s, n, models + stem + ".onnx")};
      convert.needs = {models + n.name + ".weights", models + stem + ".onnx"};
      add_once(&files, n.file, convert);
    }
    Job predict{"why." + n.key(),
                {s.pack + "/bin/ingot", "why", n.file, "--device", "cuda:" + s.predicted_as,
                 "--json", "-q"}};
    add_dims(s, n, &predict.words);
    predict.needs = {n.file};
    predicts.push_back(std::move(predict));
  }
  for (auto* more : {&converts, &predicts})
    part.jobs.insert(part.jobs.end(), more->begin(), more->end());
  return part;
}

std::vector<Part> plan_parts(const Setting& s, const std::vector<Network>& networks) {
  std::vector<Part> parts;
  const std::string bin = s.pack + "/bin/";
  std::vector<Network> fp16 = seeded_of(networks, 1, "fp16"),
                       exact = seeded_of(networks, 1, "exact");
  std::vector<Network> small;
  for (const Network& n : networks)
    if (!n.is_seeded && n.batch == 1) small.push_back(n);
  if (fp16.empty()) fp16 = small;  // of a small pack
  std::vector<Network> whole = small;
  whole.insert(whole.end(), exact.begin(), exact.end());

  Part doctor{"doctor", "driver, GPU, device code, clocks",       2, 2, 1,
              false,    {Job{"ingot", {bin + "ingot", "doctor"}}}};
  const std::string smi = find_program("nvidia-smi");
  doctor.jobs.push_back(Job{"nvidia-smi",
                            {smi,
                             "--query-gpu=name,driver_version,pstate,clocks.sm,clocks.max.sm,"
                             "clocks.mem,power.limit,persistence_mode,compute_mode",
                             "--format=csv"}});
  if (smi.empty()) doctor.jobs.back().skip = "nvidia-smi is not on this machine";
  for (Job& job : doctor.jobs) job.limit = 30;
  parts.push_back(std::move(doctor));
  parts.push_back({"modules",
                   "each loaded, every kernel looked up",
                   3,
                   2,
                   1,
                   true,
                   {Job{"all", {bin + "gpu_runner", "--modules"}}}});
  parts.push_back({"fragments",
                   "instructions of tensor cores beside the emulator",
                   3,
                   3,
                   1,
                   true,
                   {Job{"all", {bin + "test_cuda_fragments_gpu"}}}});
  parts.push_back(plan_ladder(s, networks));
  parts.push_back(shards(s, "conformance", "every operator, the bits of one CPU lane",
                         "-tce=*tensor cores*,*control flow on a GPU*", "CASES", 18));
  parts.push_back(shards(s, "fast", "products of tensor cores within the tolerance table",
                         "-tc=*tensor cores*", "FAST_CASES", 10));
  if (!option("FAST_CASES", "").empty())
    for (Job& job : parts.back().jobs) job.words.erase(job.words.begin() + 3);
  parts.push_back(plan_replays(s, networks));
  parts.push_back(plan_counters(s, networks));
  parts.push_back(plan_torch(s));
  parts.push_back(over(
      "profile", "each instruction's time beside its prediction", 4, 4, fp16,
      [](const Setting& to, const Network& n) {
        return Words{to.pack + "/bin/ingot",   "why", n.file, "--device", "cuda", "--seconds",
                     option("SECONDS", "0.3"), "-q"};
      },
      s));
  parts.push_back(over(
      "pipeline", "items: naive, run(), 2 to 4 slots", 4, 4, fp16,
      [](const Setting& to, const Network& n) {
        return Words{to.pack + "/bin/pipeline_bench", "--device", "cuda", "--seconds",
                     option("SECONDS", "0.2"),        "--rounds", "3",    n.file};
      },
      s));
  parts.push_back(over(
      "tune", "every kernel variant timed", 4, 5, fp16,
      [](const Setting& to, const Network& n) {
        return Words{to.pack + "/bin/ingot",
                     "tune",
                     n.file,
                     "--device",
                     "cuda",
                     "--time",
                     option("TUNE", "1s"),
                     "-q",
                     "-o",
                     to.work + "/models/" + n.name + ".tuned.ingot"};
      },
      s));
  parts.push_back(over(
      "models", "whole networks, the bits of the CPU", 4, 5, whole,
      [](const Setting& to, const Network& n) { return runner_words(to, n, "3", "0"); }, s));
  parts.push_back(plan_sanitizers(s));
  Part branches{
      "branches",
      "Ifs and Loops inside graphs: what could hang comes last",
      4,
      3,
      1,
      true,
      {Job{"all", {bin + "test_conformance_driver", "-ns", "-tc=control flow on a GPU"}}}};
  branches.jobs[0].environment.push_back({"INGOT_REPLAYS", option("REPLAYS", "1000")});
  parts.push_back(std::move(branches));
  return parts;
}

}  // namespace ingot::pack
