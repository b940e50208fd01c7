// SPDX-License-Identifier: Apache-2.0
// bench/pipeline/pipeline_bench.cpp - items through a model in three ways, each with the same
// copies from and to ordinary memory:
//   naive      memory allocated, filled, computed on, read and freed for every item
//   run()      one session: its ports filled, run, read, one behind the other
//   pipeline   ingot::Pipeline with 2 to 4 slots: items filled and read while others are computed
// and, apart from them, what copying and computing take alone. Answers are compared first; then
// rounds of all ways in turn, so that a machine that slows down slows all of them.
//
//   pipeline_bench [--device cpu|cuda] [--seconds S] [--rounds N] [--json FILE] MODEL.ingot...
// Exit 1 when an answer differs or something fails; 77 without the device.
#include <ingot/cpu.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ingot/pipeline.hpp>
#include <string>
#include <vector>

#include "bench/pipeline/device_memory.h"

namespace ingot::bench {
namespace {

struct Arguments {
  std::string device = "cpu", json;
  double seconds = 0.2;  // of one way in one round
  int rounds = 7;
  std::vector<const char*> models;
};

template <class T>
T take(Result<T> result, const char* what) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s: %s\n", what, result.error().text().c_str());
  std::exit(1);
}
void need(const Result<void>& result, const char* what) {
  if (result) return;
  std::fprintf(stderr, "%s: %s\n", what, result.error().text().c_str());
  std::exit(1);
}

struct Middle {
  double median, least, most;
};
Middle middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

using Bytes = std::vector<uint8_t>;
using Done = std::function<void(uint64_t item)>;  // its answer lies in World::answers

/// What is outside: frames in ordinary memory, and where answers go.
struct World {
  static constexpr size_t kFrames = 4;
  std::vector<std::vector<Bytes>> frames;  // by frame and input
  std::vector<Bytes> answers;              // by output
  uint64_t in_bytes = 0, out_bytes = 0;

  World(const Session& session, const ingot_model_summary& summary) : frames(kFrames) {
    uint32_t state = 1;
    for (auto& frame : frames)
      for (uint32_t i = 0; i < summary.input_count; i++) {
        const ingot_tensor like = session.input(i).value();
        frame.emplace_back(size_t(like.bytes));
        for (size_t at = 0; like.dtype == INGOT_F32 && at + 4 <= frame.back().size(); at += 4) {
          state = state * 1664525u + 1013904223u;
          const float element = float(state >> 8) * 0x1p-24f;
          std::memcpy(frame.back().data() + at, &element, 4);
        }
      }
    for (const Bytes& input : frames[0]) in_bytes += input.size();
    for (uint32_t i = 0; i < summary.output_count; i++) {
      answers.emplace_back(size_t(session.output(i)->bytes));
      out_bytes += answers.back().size();
    }
  }
  const std::vector<Bytes>& frame(uint64_t item) const { return frames[item % kFrames]; }
  uint64_t hash() const {
    uint64_t hash = 14695981039346656037ull;
    for (const Bytes& answer : answers)
      for (const uint8_t byte : answer) hash = (hash ^ byte) * 1099511628211ull;
    return hash;
  }
  /// Through ports that the CPU can reach.
  template <class Ports>
  void fill(const Ports& ports, uint64_t item) const {
    for (uint32_t i = 0; i < frame(item).size(); i++)
      std::memcpy(ports.input(i)->data, frame(item)[i].data(), frame(item)[i].size());
  }
  template <class Ports>
  void fetch(const Ports& ports) {
    for (uint32_t i = 0; i < answers.size(); i++)
      std::memcpy(answers[i].data(), ports.output(i)->data, answers[i].size());
  }
};

class Comparison {
 public:
  Comparison(const char* path, const Arguments& a, DeviceMemory& memory)
      : a_(a),
        memory_(memory),
        path_(path),
        model_(take(Model::open(path, ingot_cpu_kernels(nullptr)), path)),
        options_(make_options(a, 0)),
        session_(take(model_.session(options_), path)),
        bound_(take(model_.session(make_options(a, memory.is_gpu() ? 0 : INGOT_CALLER_BINDS_PORTS)),
                    path)),
        world_(session_, model_.summary()) {
    for (uint32_t slots = 2; slots <= 4; slots++) {
      ingot_pipeline_options with = pipeline_options();
      with.session = &options_;
      with.depth = slots;
      pipelines_.push_back(take(Pipeline::create(model_, with), "pipeline"));
    }
    in_ = memory.allocate_host(world_.in_bytes), out_ = memory.allocate_host(world_.out_bytes);
    device_ = memory.allocate(world_.in_bytes + world_.out_bytes);
    ways_ = {{"naive", [this](auto&&... x) { naive(x...); }, {}},
             {"run()", [this](auto&&... x) { run(x...); }, {}},
             {"pipeline 2", [this](auto&&... x) { pipeline(pipelines_[0], x...); }, {}},
             {"pipeline 3", [this](auto&&... x) { pipeline(pipelines_[1], x...); }, {}},
             {"pipeline 4", [this](auto&&... x) { pipeline(pipelines_[2], x...); }, {}},
             {"copy alone", [this](auto&&... x) { copy(x...); }, {}},
             {"compute alone", [this](auto&&... x) { compute(x...); }, {}}};
  }
  ~Comparison() { memory_.release_host(in_), memory_.release_host(out_), memory_.release(device_); }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  bool answers_agree() {
    std::vector<uint64_t> expected(World::kFrames);
    for (size_t w = 0; w < kWhole; w++) {
      bool agree = true;
      for (Bytes& answer : world_.answers) std::fill(answer.begin(), answer.end(), 0xee);
      ways_[w].go(0, 3 * World::kFrames, [&](uint64_t item) {
        if (!expected[item % World::kFrames]) expected[item % World::kFrames] = world_.hash();
        agree &= expected[item % World::kFrames] == world_.hash();
      });
      if (agree) continue;
      std::fprintf(stderr, "%s: %s: other answers than the naive loop's\n", path_, ways_[w].name);
      return false;
    }
    return true;
  }

  void measure() {
    std::vector<uint64_t> counts;
    for (Way& way : ways_) {  // as many items as fit the time
      const double each = timed(way, 4);
      counts.push_back(std::max<uint64_t>(8, uint64_t(a_.seconds * 1000 / std::max(each, 1e-4))));
    }
    for (int round = 0; round < a_.rounds; round++)
      for (size_t i = 0; i < ways_.size(); i++) {
        const size_t w = (i + size_t(round)) % ways_.size();
        ways_[w].ms.push_back(timed(ways_[w], counts[w]));
      }
  }

  void print(std::string* json) const {
    const std::string file = std::string(path_).substr(std::string(path_).find_last_of('/') + 1);
    std::printf("%s on %s: %.1f KB in, %.1f KB out; %d rounds of %g s, ms an item\n", file.c_str(),
                a_.device.c_str(), double(world_.in_bytes) / 1e3, double(world_.out_bytes) / 1e3,
                a_.rounds, a_.seconds);
    std::printf("  %-14s %9s %9s %9s\n", "", "median", "least", "most");
    *json += (json->empty() ? "[" : ",\n ") +
             ("{\"model\": \"" + file + "\", \"device\": \"" + a_.device + "\"");
    for (const Way& way : ways_) {
      const Middle m = middle_of(way.ms);
      std::printf("  %-14s %9.4f %9.4f %9.4f", way.name, m.median, m.least, m.most);
      *json += ", \"" + std::string(way.name) + "\": " + std::to_string(m.median);
      if (std::strncmp(way.name, "pipeline", 8) == 0) {
        const Middle whole = hidden(way, false), able = hidden(way, true);
        const Middle compute = middle_of(ways_[kCompute].ms), copy = middle_of(ways_[kCopy].ms);
        if (copy.median < (compute.most - compute.least + m.most - m.least) / 2) {
          std::printf("   copying is less than what the rounds differ by: no share can be told\n");
          continue;
        }
        std::printf(
            "   hides %.0f %% of the copying (%.0f to %.0f), %.0f %% of what can be (%.0f to %.0f)",
            whole.median * 100, whole.least * 100, whole.most * 100, able.median * 100,
            able.least * 100, able.most * 100);
        *json += ", \"" + std::string(way.name) + " hides\": " + std::to_string(whole.median);
      }
      std::printf("\n");
    }
    *json += "}";
  }

 private:
  struct Way {
    const char* name;
    std::function<void(uint64_t count_from, uint64_t count, const Done& done)> go;
    std::vector<double> ms;  // an item, by round
  };
  static constexpr size_t kWhole = 5, kCopy = 5, kCompute = 6;  // the first give answers

  static ingot_session_options make_options(const Arguments& a, uint32_t flags) {
    ingot_session_options options = session_options();
    options.device = a.device.c_str();
    options.threads = 1;
    options.flags = flags;
    return options;
  }
  static double timed(Way& way, uint64_t count) {
    const uint64_t begin = ingot_clock_ns();
    way.go(0, count, [](uint64_t) {});
    return double(ingot_clock_ns() - begin) * 1e-6 / double(count);
  }
  /// How much of the copying takes no time of its own; of what can be: computing that is shorter
  /// hides no more than itself.
  Middle hidden(const Way& way, bool of_what_can_be) const {
    std::vector<double> shares;
    for (size_t r = 0; r < way.ms.size(); r++) {
      const double copy = ways_[kCopy].ms[r], compute = ways_[kCompute].ms[r];
      shares.push_back(std::min(
          1.0, (copy + compute - way.ms[r]) / (of_what_can_be ? std::min(copy, compute) : copy)));
    }
    return middle_of(shares);
  }

  void bind(uint32_t index, bool is_input, void* at) {
    ingot_tensor tensor = is_input ? session_.input(index).value() : session_.output(index).value();
    tensor.data = at;
    tensor.row_stride = 0;
    if (memory_.is_gpu())
      need(is_input ? bound_.bind_device_input(index, tensor)
                    : bound_.bind_device_output(index, tensor),
           "bind");
    else
      need(is_input ? bound_.bind_input(index, tensor) : bound_.bind_output(index, tensor), "bind");
  }
  void naive(uint64_t, uint64_t count, const Done& done) {
    std::vector<void*> in(world_.frames[0].size()), out(world_.answers.size());
    for (uint64_t item = 0; item < count; item++) {
      for (uint32_t i = 0; i < in.size(); i++) {
        const Bytes& frame = world_.frame(item)[i];
        in[i] = memory_.allocate(frame.size());
        memory_.upload(in[i], frame.data(), frame.size());
        bind(i, true, in[i]);
      }
      for (uint32_t i = 0; i < out.size(); i++)
        bind(i, false, out[i] = memory_.allocate(world_.answers[i].size()));
      need(bound_.run(), "run");
      for (uint32_t i = 0; i < out.size(); i++)
        memory_.download(world_.answers[i].data(), out[i], world_.answers[i].size());
      for (void* at : in) memory_.release(at);
      for (void* at : out) memory_.release(at);
      done(item);
    }
  }
  void run(uint64_t, uint64_t count, const Done& done) {
    for (uint64_t item = 0; item < count; item++) {
      world_.fill(session_, item);
      need(session_.run(), "run");
      world_.fetch(session_);
      done(item);
    }
  }
  void pipeline(Pipeline& p, uint64_t, uint64_t count, const Done& done) {
    uint64_t pushed = 0;
    for (uint64_t item = 0; item < count; item++) {
      while (pushed < count && p.free()) {
        need(p.push([&](Pipeline& slot) { world_.fill(slot, pushed); }), "push");
        pushed++;
      }
      (void)take(p.pop(), "pop");
      world_.fetch(p);
      p.release().value();
      done(item);
    }
  }
  /// What a pipeline has to do beside computing: ordinary memory to that of a slot, to the device,
  /// back, and to ordinary memory.
  void copy(uint64_t, uint64_t count, const Done&) {
    for (uint64_t item = 0; item < count; item++) {
      char* to = static_cast<char*>(in_);
      for (const Bytes& input : world_.frame(item))
        std::memcpy(to, input.data(), input.size()), to += input.size();
      memory_.round_trip(device_, in_, world_.in_bytes, out_, world_.out_bytes);
      const char* from = static_cast<const char*>(out_);
      for (Bytes& answer : world_.answers)
        std::memcpy(answer.data(), from, answer.size()), from += answer.size();
    }
  }
  /// Ports where the device computes: bound memory of the GPU, or the session's own.
  void compute(uint64_t, uint64_t count, const Done&) {
    if (!memory_.is_gpu()) {
      for (uint64_t item = 0; item < count; item++) need(session_.run(), "run");
      return;
    }
    std::vector<void*> ports;
    for (uint32_t i = 0; i < world_.frames[0].size(); i++) {
      ports.push_back(memory_.allocate(world_.frames[0][i].size()));
      memory_.upload(ports.back(), world_.frames[0][i].data(), world_.frames[0][i].size());
      bind(i, true, ports.back());
    }
    for (uint32_t i = 0; i < world_.answers.size(); i++) {
      ports.push_back(memory_.allocate(world_.answers[i].size()));
      bind(i, false, ports.back());
    }
    for (uint64_t item = 0; item < count; item++) need(bound_.run(), "run");
    for (void* at : ports) memory_.release(at);
  }

  const Arguments& a_;
  DeviceMemory& memory_;
  const char* path_;
  Model model_;
  ingot_session_options options_;
  Session session_, bound_;
  World world_;
  std::vector<Pipeline> pipelines_;
  void *in_ = nullptr, *out_ = nullptr, *device_ = nullptr;
  std::vector<Way> ways_;
};

bool parse(int argc, char** argv, Arguments* a) {
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      a->models.push_back(argv[i]);
      continue;
    }
    if (++i >= argc) return false;
    if (word == "--device")
      a->device = argv[i];
    else if (word == "--json")
      a->json = argv[i];
    else if (word == "--seconds")
      a->seconds = std::atof(argv[i]);
    else if (word == "--rounds")
      a->rounds = std::atoi(argv[i]);
    else
      return false;
  }
  return !a->models.empty() && a->rounds > 0 && a->seconds >= 0;
}

int run(const Arguments& a) {
  const char* why = nullptr;
  const auto memory = DeviceMemory::make(a.device, &why);
  if (!memory) return std::printf("[skip] pipelines on %s: %s\n", a.device.c_str(), why), 77;
  std::string json;
  for (const char* path : a.models) {
    Comparison comparison(path, a, *memory);
    if (!comparison.answers_agree()) return 1;
    comparison.measure();
    comparison.print(&json);
    std::fflush(stdout);
  }
  if (a.json.empty()) return 0;
  std::FILE* file = std::fopen(a.json.c_str(), "w");
  const bool written = file && std::fprintf(file, "%s]\n", json.c_str()) > 0;
  return file && std::fclose(file) == 0 && written ? 0 : (std::perror(a.json.c_str()), 1);
}

}  // namespace
}  // namespace ingot::bench

int main(int argc, char** argv) {
  ingot::bench::Arguments a;
  if (ingot::bench::parse(argc, argv, &a)) return ingot::bench::run(a);
  std::fprintf(stderr,
               "usage: pipeline_bench [--device cpu|cuda] [--seconds S] [--rounds N] [--json FILE] "
               "MODEL.ingot...\n");
  return 1;
}
