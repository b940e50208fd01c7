// SPDX-License-Identifier: Apache-2.0
// state_runner.cpp - steps of a stateful model on made-up inputs, a hash of the outputs after each:
// needs neither npz nor the command line, so that it also runs cross-compiled under an emulator.
//
//   state_runner MODEL.ingot ISA|best|cuda THREADS STEPS [--save K FILE] [--load K FILE] [--feed
//   OUT=IN] [NAME=1x512 ...]
//   --save    keeps the state after step K (1 is the first)
//   --load    begins behind step K with what was kept there
//   --feed    a model that was converted without --state: the output goes to the input of the next
//             step
//             (zeros at first)
//   prints    step K HASH, over all outputs that are not fed back
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/target.h"

namespace {

struct Arguments {
  const char* model = nullptr;
  const char* isa = nullptr;
  int threads = 1, steps = 1, save_at = 0, load_at = 0;
  const char *save = nullptr, *load = nullptr;
  std::vector<std::pair<std::string, std::string>> feeds;   // output, input
  std::vector<std::pair<std::string, std::string>> shapes;  // input, "1x512"
};

int fail(const char* what, const ingot_error& error) {
  char text[512];
  ingot_error_text(&error, text, sizeof text);
  std::fprintf(stderr, "state_runner: %s: %s\n", what, text);
  return 1;
}

bool parse(int argc, char** argv, Arguments* a) {
  if (argc < 5) return false;
  a->model = argv[1], a->isa = argv[2], a->threads = std::atoi(argv[3]),
  a->steps = std::atoi(argv[4]);
  for (int i = 5; i < argc; i++) {
    const std::string word = argv[i];
    if ((word == "--save" || word == "--load") && i + 2 < argc) {
      (word == "--save" ? a->save_at : a->load_at) = std::atoi(argv[i + 1]);
      (word == "--save" ? a->save : a->load) = argv[i + 2];
      i += 2;
      continue;
    }
    const bool feed = word == "--feed" && i + 1 < argc;
    const std::string pair = feed ? argv[++i] : word;
    const size_t equals = pair.rfind('=');
    if (equals == std::string::npos) return false;
    (feed ? a->feeds : a->shapes).emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return a->steps > 0;
}

/// Symbols that stand alone in an input's dimensions.
bool bind_symbols(const Arguments& a, const ingot_model* model,
                  std::vector<ingot_binding>* bindings) {
  for (const auto& [name, shape] : a.shapes) {
    const int32_t index = ingot_model_find_input(model, name.c_str());
    ingot_value_type type{};
    if (index < 0)
      return std::fprintf(stderr, "state_runner: no input '%s'\n", name.c_str()), false;
    ingot_model_input(model, uint32_t(index), &type);
    const char* at = shape.c_str();
    for (int d = 0; d < type.rank; d++) {
      char* end = nullptr;
      const long long extent = std::strtoll(at, &end, 10);
      at = *end == 'x' ? end + 1 : end;
      ingot_symbol symbol{};
      bool known = type.dim_symbol[d] < 0 ||
                   ingot_model_symbol(model, uint32_t(type.dim_symbol[d]), &symbol);
      for (const ingot_binding& b : *bindings)
        known = known || std::strcmp(b.name, symbol.name) == 0;
      if (!known) bindings->push_back({symbol.name, extent});
    }
  }
  return true;
}

/// Seeded by name and step, the same wherever it runs: floats in [-1, 1), 16000 for a sample rate,
/// else small counts.
void fill(const char* name, int step, const ingot_tensor& tensor) {
  uint64_t seed = 1469598103934665603u + uint64_t(step);
  for (const char* c = name; *c; c++) seed = (seed ^ uint8_t(*c)) * 1099511628211u;
  const size_t width = ingot_dtype_bytes(tensor.dtype);
  for (uint64_t i = 0; i < tensor.bytes / width; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const uint64_t bits = seed >> 40;
    uint8_t* to = static_cast<uint8_t*>(tensor.data) + i * width;
    if (tensor.dtype == INGOT_F32) {
      const float value = float(bits) / 8388608.0f - 1.0f;
      std::memcpy(to, &value, 4);
    } else {
      const int64_t value = std::strcmp(name, "sr") == 0 ? 16000 : int64_t(bits % 4);
      std::memcpy(to, &value, width);
    }
  }
}

bool read_file(const char* path, std::vector<uint8_t>* bytes) {
  std::FILE* file = std::fopen(path, "rb");
  if (!file) return false;
  uint8_t block[4096];
  for (size_t got; (got = std::fread(block, 1, sizeof block, file)) > 0;)
    bytes->insert(bytes->end(), block, block + got);
  std::fclose(file);
  return true;
}

class Steps {
 public:
  Steps(const Arguments& a, const ingot_model* model, ingot_session* session)
      : a_(a), model_(model), session_(session) {
    summary_.size = sizeof summary_;
    ingot_model_summarize(model, &summary_);
    fed_.resize(a.feeds.size());
  }

  int run() {
    ingot_error error{};
    if (a_.load) {
      std::vector<uint8_t> saved;
      if (!read_file(a_.load, &saved))
        return std::fprintf(stderr, "state_runner: cannot read %s\n", a_.load), 1;
      if (ingot_session_restore_state(session_, saved.data(), saved.size(), &error))
        return fail(a_.load, error);
    }
    for (int step = a_.load_at + 1; step <= a_.steps; step++) {
      set_inputs(step);
      if (ingot_session_run(session_, &error)) return fail("run", error);
      std::printf("step %d %016" PRIx64 "\n", step, hash_outputs());
      if (step == a_.save_at)
        if (const int status = save()) return status;
    }
    return 0;
  }

 private:
  void set_inputs(int step) {
    for (uint32_t i = 0; i < summary_.input_count; i++) {
      ingot_value_type type{};
      ingot_tensor tensor{};
      ingot_model_input(model_, i, &type);
      ingot_session_input(session_, i, &tensor);
      size_t feed = 0;
      while (feed < a_.feeds.size() && a_.feeds[feed].second != type.name) feed++;
      if (feed == a_.feeds.size()) {
        fill(type.name, step, tensor);
        continue;
      }
      fed_[feed].resize(tensor.bytes);
      std::memcpy(tensor.data, fed_[feed].data(), tensor.bytes);
    }
  }

  uint64_t hash_outputs() {
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < summary_.output_count; i++) {
      ingot_value_type type{};
      ingot_tensor tensor{};
      ingot_model_output(model_, i, &type);
      ingot_session_output(session_, i, &tensor);
      const uint8_t* bytes = static_cast<const uint8_t*>(tensor.data);
      bool fed = false;
      for (size_t feed = 0; feed < a_.feeds.size(); feed++) {
        if (a_.feeds[feed].first != type.name) continue;
        fed = true;
        fed_[feed].assign(bytes, bytes + tensor.bytes);
      }
      for (uint64_t k = 0; !fed && k < tensor.bytes; k++) hash = (hash ^ bytes[k]) * 1099511628211u;
    }
    return hash;
  }

  int save() {
    ingot_error error{};
    uint64_t bytes = 0;
    if (ingot_session_save_state(session_, nullptr, 0, &bytes, &error)) return fail("save", error);
    std::vector<uint8_t> saved(bytes);
    if (ingot_session_save_state(session_, saved.data(), bytes, &bytes, &error))
      return fail("save", error);
    std::FILE* file = std::fopen(a_.save, "wb");
    const bool written = file && std::fwrite(saved.data(), 1, saved.size(), file) == saved.size();
    const bool closed = file && std::fclose(file) == 0;
    return written && closed
               ? 0
               : (std::fprintf(stderr, "state_runner: cannot write %s\n", a_.save), 1);
  }

  const Arguments& a_;
  const ingot_model* model_;
  ingot_session* session_;
  ingot_model_summary summary_{};
  std::vector<std::vector<uint8_t>> fed_;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  if (!parse(argc, argv, &a))
    return std::fprintf(stderr,
                        "usage: state_runner MODEL.ingot ISA|best|cuda THREADS STEPS [--save K "
                        "FILE] [--load K FILE] "
                        "[--feed OUT=IN] [NAME=1x2x3 ...]\n"),
           1;
  const ingot::raw::Target target = ingot::raw::find_target(a.isa);
  if (!target.kernels) return 77;
  ingot_error error{};
  ingot_open_options open{};
  open.size = sizeof open, open.kernels = target.kernels;
  ingot_model* model = nullptr;
  if (ingot_model_open(a.model, &open, &model, &error)) return fail(a.model, error);
  std::vector<ingot_binding> bindings;
  ingot_session* session = nullptr;
  ingot_session_options options{};
  int status = bind_symbols(a, model, &bindings) ? 0 : 1;
  options.size = sizeof options, options.threads = a.threads, options.device = target.device;
  options.bindings = bindings.data(), options.binding_count = bindings.size();
  if (!status && ingot_session_create(model, &options, &session, &error))
    status = fail("session", error);
  if (!status) status = Steps(a, model, session).run();
  ingot_session_destroy(session);
  ingot_model_destroy(model);
  return status;
}
