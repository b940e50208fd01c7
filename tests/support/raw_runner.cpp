// SPDX-License-Identifier: Apache-2.0
// raw_runner.cpp - runs a file on raw inputs and prints a hash of every output: needs neither npz
// nor the command line, so that it also runs cross-compiled under an emulator.
//
//   raw_runner [--write FILE | --runs N] MODEL.ingot ISA|best|cuda THREADS DIR NAME=24x576 ...
//   inputs:
//   DIR/NAME.bin ('/' and ':' in NAME
//   written as '_')
//   prints   output NAME BYTES FNV1A64     (every NaN counts as one pattern: NaN equals NaN)
//   --write  these bytes, of all outputs one behind the other
//   --runs   inputs are written and run N times: what a run costs, where instructions are counted;
//            0: inputs are written once
//   raw_runner --exact MODEL.ingot ISA|best THREADS DIR NAME=24x576 ...
//   checks requirements(): one byte less than requirements() is refused with both numbers, and in a
//   poisoned arena of exactly that
//   size the highest byte touched, plus alignment, equals it.
// Prints   exact NEED TOUCHED
#include <algorithm>
#include <memory>

#include "tests/support/raw_inputs.h"
#include "tests/support/target.h"

using namespace ingot::raw;

namespace {

int run_and_hash(const Opened& o, const std::string& dir, const char* write, int runs) {
  ingot_error error{};
  ingot_session* session = nullptr;
  if (ingot_session_create(o.model, &o.options, &session, &error)) return fail("session", error);
  std::vector<uint8_t> written;
  int status = 0;
  for (int i = 0; i < std::max(runs, 1) && status == 0; i++) {
    status = fill_inputs(o, session, dir) ? 0 : 1;
    if (status == 0 && i < runs && ingot_session_run(session, &error)) status = fail("run", error);
  }
  for (uint32_t i = 0; status == 0 && i < o.summary.output_count; i++) {
    ingot_value_type type{};
    ingot_model_output(o.model, i, &type);
    ingot_tensor t{};
    ingot_session_output(session, i, &t);
    std::printf("output %s %" PRIu64 " %016" PRIx64 "\n", type.name, t.bytes, hash_of(t));
    if (write)
      each_element(t, [&](const uint8_t* p, size_t n) { written.insert(written.end(), p, p + n); });
  }
  ingot_session_destroy(session);
  if (status || !write) return status;
  std::FILE* file = std::fopen(write, "wb");
  const bool whole = file && std::fwrite(written.data(), 1, written.size(), file) == written.size();
  const bool closed = file && std::fclose(file) == 0;
  return whole && closed ? 0 : (std::fprintf(stderr, "raw_runner: cannot write %s\n", write), 1);
}

int check_exact(Opened* o, const std::string& dir) {
  ingot_error error{};
  ingot_requirements need{};
  need.size = sizeof need;
  o->options.flags = INGOT_POISON;
  o->options.arena_kind = INGOT_ARENA_CALLER;
  if (ingot_model_requirements(o->model, &o->options, &need, &error))
    return fail("requirements", error);
  const size_t alignment = static_cast<size_t>(need.arena_alignment);
  std::unique_ptr<void, void (*)(void*)> arena(
      std::aligned_alloc(alignment, (need.arena_bytes + alignment - 1) / alignment * alignment),
      std::free);
  ingot_session* session = nullptr;
  o->options.arena = arena.get();
  o->options.arena_bytes = need.arena_bytes - 1;
  if (ingot_session_create(o->model, &o->options, &session, &error) != INGOT_ARENA_TOO_SMALL ||
      error.need != need.arena_bytes || error.have != need.arena_bytes - 1)
    return std::fprintf(stderr, "raw_runner: one byte less was not refused with both numbers\n"), 1;
  o->options.arena_bytes = need.arena_bytes;
  if (ingot_session_create(o->model, &o->options, &session, &error)) return fail("session", error);
  int status = fill_inputs(*o, session, dir) ? 0 : 1;
  if (status == 0 && ingot_session_run(session, &error)) status = fail("run", error);
  ingot_touched touched{};
  touched.size = sizeof touched;
  ingot_session_touched(session, &touched);
  ingot_session_destroy(session);
  if (status) return status;
  std::printf("exact %" PRIu64 " %" PRIu64 "\n", need.arena_bytes, touched.arena);
  return touched.arena <= need.arena_bytes &&
                 touched.arena + need.arena_alignment > need.arena_bytes
             ? 0
             : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool exact = argc > 1 && std::strcmp(argv[1], "--exact") == 0;
  const char* write = argc > 2 && std::strcmp(argv[1], "--write") == 0 ? argv[2] : nullptr;
  const char* runs = argc > 2 && std::strcmp(argv[1], "--runs") == 0 ? argv[2] : nullptr;
  const int options = exact + 2 * (write || runs);
  argc -= options, argv += options;
  if (argc < 5)
    return std::fprintf(stderr,
                        "usage: raw_runner [--exact | --write FILE | --runs N] MODEL.ingot "
                        "ISA|best|cuda THREADS DIR [NAME=1x2x3 ...]\n"),
           1;
  const Target target = find_target(argv[2]);
  if (!target.kernels) return 77;
  if (exact && std::strcmp(target.device, "cpu") != 0)
    return std::fprintf(stderr, "raw_runner: --exact is for arenas of the CPU\n"), 1;
  Opened o;
  const ingot_map map = exact ? INGOT_MAP_COPY : INGOT_MAP_SHARE;
  if (const int status = open_raw(argv[1], target.kernels, map, argc - 5, argv + 5, &o))
    return status;
  o.options.threads = std::atoi(argv[3]);
  o.options.device = target.device;
  return exact ? check_exact(&o, argv[4])
               : run_and_hash(o, argv[4], write, runs ? std::atoi(runs) : 1);
}
