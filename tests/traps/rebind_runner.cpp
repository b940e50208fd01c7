// SPDX-License-Identifier: Apache-2.0
// rebind_runner - runs one file at many extents and prints a hash of every output, so that a
// session that is rebound can be compared with files converted for one extent each.
//
//   rebind_runner rebind MODEL.ingot < CASES    one session for all lines, in the arena of the
//   largest; allocations and locks
//                                               in ingot_session_rebind() and ingot_session_run()
//                                                 are trapped
//   rebind_runner bind MODEL.ingot < CASES      a session for each line
//   rebind_runner ... MODEL.ingot cuda < CASES  on a GPU, whose driver may allocate what it likes
//
// A line is NAME=VALUE pairs; an empty one binds nothing. Inputs are a fixed sequence of numbers:
// f32 between -1 and 1, integers 0 or 1. Prints one line for each: FNV-1a over the bytes of all
// outputs, the number of those bytes, and the extents. The last line says what it took. Exit 1 with
// a line on stderr when anything fails, an allocation or a lock among it.
#include <ingot/cpu.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ingot/ingot.hpp"
#include "tests/traps/traps.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct Case {
  std::string text;
  std::vector<std::string> names;
  std::vector<int64_t> values;
};

[[noreturn]] void stop(const std::string& what, const Error& error) {
  std::fprintf(stderr, "rebind_runner: %s: %s\n", what.c_str(), error.text().c_str());
  std::exit(1);
}

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  for (std::string line; std::getline(std::cin, line);) {
    Case one;
    one.text = line;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const size_t at = word.rfind('=');
      one.names.push_back(word.substr(0, at));
      one.values.push_back(std::atoll(word.c_str() + at + 1));
    }
    cases.push_back(one);
  }
  return cases;
}

std::vector<ingot_binding> bindings_of(const Case& one) {
  std::vector<ingot_binding> bindings;
  for (size_t i = 0; i < one.names.size(); i++)
    bindings.push_back({one.names[i].c_str(), one.values[i]});
  return bindings;
}

void fill(const Session& session, uint32_t inputs) {
  uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525u + 1013904223u; };
  for (uint32_t i = 0; i < inputs; i++) {
    const ingot_tensor tensor = session.input(i).value();
    const uint64_t count = tensor.bytes / ingot_dtype_bytes(tensor.dtype);
    for (uint64_t k = 0; k < count; k++) {
      const float real = float(int32_t(next())) * (1.0f / 2147483648.0f);
      const int64_t whole = int64_t(next() >> 31);
      if (tensor.dtype == INGOT_F32)
        static_cast<float*>(tensor.data)[k] = real;
      else if (tensor.dtype == INGOT_I64)
        static_cast<int64_t*>(tensor.data)[k] = whole;
      else if (tensor.dtype == INGOT_I32)
        static_cast<int32_t*>(tensor.data)[k] = int32_t(whole);
      else
        std::memset(static_cast<uint8_t*>(tensor.data) + k * ingot_dtype_bytes(tensor.dtype),
                    int(whole), ingot_dtype_bytes(tensor.dtype));
    }
  }
}

void print_outputs(const Session& session, uint32_t outputs, const Case& one) {
  uint64_t hash = 14695981039346656037u, bytes = 0;
  for (uint32_t i = 0; i < outputs; i++) {
    const ingot_tensor tensor = session.output(i).value();
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < tensor.rank; d++) rows *= tensor.dims[d];
    const uint64_t element = ingot_dtype_bytes(tensor.dtype);
    const uint64_t row = (tensor.rank ? uint64_t(tensor.dims[tensor.rank - 1]) : 1) * element;
    for (int64_t r = 0; r < rows; r++) {
      const uint8_t* from =
          static_cast<const uint8_t*>(tensor.data) + uint64_t(r * tensor.row_stride) * element;
      for (uint64_t k = 0; k < row; k++) hash = (hash ^ from[k]) * 1099511628211u;
    }
    bytes += uint64_t(rows) * row;
  }
  std::printf("%016" PRIx64 " %" PRIu64 " %s\n", hash, bytes, one.text.c_str());
}

const char* device = nullptr;

Session make_session(const Model& model, uint32_t flags, const std::vector<ingot_binding>& bindings,
                     const std::vector<ingot_binding>& bounds) {
  ingot_session_options options = session_options();
  options.threads = 1;
  options.device = device;
  options.flags = flags;
  options.bindings = bindings.data();
  options.binding_count = bindings.size();
  options.upper_bounds = bounds.empty() ? nullptr : bounds.data();
  options.upper_bound_count = bounds.size();
  auto session = model.session(options);
  if (!session) stop("session", session.error());
  return std::move(*session);
}

void run_each(const Model& model, const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    Session session = make_session(model, 0, bindings_of(one), {});
    fill(session, model.summary().input_count);
    if (const auto ran = session.run(); !ran) stop(one.text, ran.error());
    print_outputs(session, model.summary().output_count, one);
  }
}

void run_rebound(const Model& model, const std::vector<Case>& cases) {
  std::map<std::string, int64_t> largest;
  for (const Case& one : cases)
    for (size_t i = 0; i < one.names.size(); i++)
      largest[one.names[i]] = std::max(largest[one.names[i]], one.values[i]);
  std::vector<ingot_binding> bounds;
  for (const auto& [name, value] : largest) bounds.push_back({name.c_str(), value});
  Session session = make_session(model, INGOT_REBINDABLE, {}, bounds);
  uint64_t rebind_ns = 0, run_ns = 0;
  unsigned long counts[kTrapCount];
  for (const Case& one : cases) {
    const std::vector<ingot_binding> bindings = bindings_of(one);
    Error error;
    arm_traps();
    const uint64_t begin = ingot_clock_ns();
    const ingot_code bound =
        ingot_session_rebind(session.get(), bindings.data(), bindings.size(), &error);
    const uint64_t end = ingot_clock_ns();
    disarm_traps(counts);
    if (bound) stop("rebind " + one.text, error);
    fill(session, model.summary().input_count);
    unsigned long more[kTrapCount];
    arm_traps();
    const uint64_t start = ingot_clock_ns();
    const ingot_code ran = ingot_session_run(session.get(), &error);
    run_ns += ingot_clock_ns() - start;
    disarm_traps(more);
    if (ran) stop("run " + one.text, error);
    rebind_ns += end - begin;
    if (device) counts[kLocks] = 0;  // a new graph asks for kernels, which all sessions share
    for (int i = 0; i < kTrapCount; i++) {
      if (counts[i] + more[i] == 0) continue;
      std::fprintf(stderr, "rebind_runner: %s: %lu %s, expected none\n", one.text.c_str(),
                   counts[i] + more[i], kTrapNames[i]);
      std::exit(1);
    }
    print_outputs(session, model.summary().output_count, one);
  }
  const ingot_requirements need = session.requirements();
  std::printf("# arena %" PRIu64 " activations %" PRIu64 " tables %" PRIu64 " scratch %" PRIu64
              " rebind_ns %" PRIu64 " run_ns %" PRIu64 "\n",
              need.arena_bytes, need.activations, need.tables, need.scratch,
              rebind_ns / cases.size(), run_ns / cases.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4 ||
      (std::strcmp(argv[1], "rebind") != 0 && std::strcmp(argv[1], "bind") != 0)) {
    std::fprintf(stderr, "usage: rebind_runner rebind|bind MODEL.ingot [cuda] < CASES\n");
    return 1;
  }
  device = argc == 4 ? argv[3] : nullptr;
  if (!traps_work()) {
    std::fprintf(stderr, "rebind_runner: a trap does not see what it should\n");
    return 1;
  }
  auto model = Model::open(argv[2], ingot_cpu_kernels(nullptr));
  if (!model) stop(argv[2], model.error());
  const std::vector<Case> cases = read_cases();
  if (argv[1][0] == 'r')
    run_rebound(*model, cases);
  else
    run_each(*model, cases);
  return 0;
}
