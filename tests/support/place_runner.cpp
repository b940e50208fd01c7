// SPDX-License-Identifier: Apache-2.0
// place_runner - a file over many placements of its weights on the CPU and two fake GPUs: always
// the answer of the CPU alone, exactly the launches and transfers that were stated, exactly the
// memory.
//
//   place_runner MODEL.ingot ISA|best DIR SEEDS [NAME=1x2x3 ...]     inputs as raw_runner's
//   prints   placed COUNT split COUNT transfers MOST     Exit 0, 1 when one does not hold, 77
//            without these kernels.
#include <ingot/cpu.h>

#include <ingot/ingot.hpp>
#include <random>

#include "runtime/device/fake/fake_device.h"
#include "tests/support/raw_inputs.h"

using namespace ingot::raw;

namespace {

constexpr int kRuns = 2;  // the second begins with what the first left in every memory
const char* const kDevices[] = {"cpu", "fake:0", "fake:1"};

using Place = const char* (*)(uint32_t seed, uint32_t index, uint32_t count);
const char* round_robin(uint32_t seed, uint32_t index, uint32_t) {
  return kDevices[(index + seed) % 3];
}
const char* halves(uint32_t seed, uint32_t index, uint32_t count) {
  return kDevices[1 + (index < count / 2) % 2 * (seed % 2)];
}
const char* by_chance(uint32_t seed, uint32_t index, uint32_t) {
  std::minstd_rand random(seed * 2654435761u + index * 40503u);
  random.discard(3);
  const uint32_t die = uint32_t(random() >> 8) % 4;
  return die == 3 ? nullptr : kDevices[die];
}

struct Asking {
  Place place;
  uint32_t seed, count, asked = 0;
};
const char* answer(void* user, const ingot_weight*) {
  Asking& asking = *static_cast<Asking*>(user);
  return asking.place(asking.seed, asking.asked++, asking.count);
}

int wrong(const char* what, uint64_t expected, uint64_t found) {
  std::fprintf(stderr, "%s: expected %" PRIu64 ", found %" PRIu64 "\n", what, expected, found);
  return 1;
}

/// Hashes of all outputs of each run. Empty when one fails.
std::vector<uint64_t> answers(const Opened& o, ingot_session* session, const std::string& dir) {
  std::vector<uint64_t> hashes;
  ingot_error error{};
  for (int run = 0; run < kRuns; run++) {
    if (!fill_inputs(o, session, dir)) return {};
    if (ingot_session_run(session, &error)) return fail("run", error), std::vector<uint64_t>();
    for (uint32_t i = 0; i < o.summary.output_count; i++) {
      ingot_tensor t{};
      ingot_session_output(session, i, &t);
      hashes.push_back(hash_of(t));
    }
  }
  return hashes;
}

struct Tally {
  int placed = 0, split = 0;
  uint32_t most_transfers = 0;
};

int check_counts(const ingot::Session& session, Tally* tally) {
  uint32_t devices = 0, transfers = 0;
  for (uint32_t i = 0;; i++) {
    ingot_share share{};
    share.size = sizeof share;
    if (ingot_session_share(session.get(), i, &share)) break;
    devices += share.instructions != 0;
    if (share.device[0] != 'f') continue;
    const ingot::FakeGpu& gpu = ingot::fake_gpu(share.device[5] - '0');
    if (gpu.uploads != kRuns * share.uploads)
      return wrong("uploads", kRuns * share.uploads, gpu.uploads);
    if (gpu.downloads != kRuns * share.downloads)
      return wrong("downloads", kRuns * share.downloads, gpu.downloads);
    if (gpu.runs != kRuns * share.launches)
      return wrong("launches", kRuns * share.launches, gpu.runs);
    if (gpu.reserved_kib != (share.arena_bytes + 1023) / 1024 && share.instructions)
      return wrong("reserved KiB", (share.arena_bytes + 1023) / 1024, gpu.reserved_kib);
    transfers += share.uploads + share.downloads;
  }
  tally->split += devices > 1;
  tally->most_transfers = std::max(tally->most_transfers, transfers);
  return 0;
}

int check(const Opened& o, const std::string& dir, const char* device, Place place, uint32_t seed,
          const std::vector<uint64_t>& expected, Tally* tally) {
  ingot_error error{};
  ingot_assignment* made = nullptr;
  Asking asking{place, seed, 0};
  for (int pass = 0; pass < 2; pass++) {  // the first only counts
    ingot_assignment_options with{};
    with.size = sizeof with, with.device = device, with.user = &asking, with.place = answer;
    asking.asked = 0;
    ingot_assignment_destroy(made);
    if (ingot_assignment_create(o.model, &with, &made, &error)) return fail("assign", error);
    asking.count = asking.asked;
  }
  const ingot::Assignment assignment(made);
  uint32_t weights = 0;
  while (ingot_assignment_weight(made, weights, nullptr, nullptr) == INGOT_OK) weights++;
  if (weights != asking.asked) return wrong("calls for weights", weights, asking.asked);
  ingot_session_options options = o.options;
  options.assignment = made;
  options.threads = 2;
  ingot_share before[3] = {};
  for (uint32_t i = 0; i < 3; i++) {
    before[i].size = sizeof before[i];
    (void)ingot_model_share(o.model, &options, i, &before[i], nullptr);
  }
  ingot_session* raw = nullptr;
  if (ingot_session_create(o.model, &options, &raw, &error)) return fail("session", error);
  const ingot::Session session(raw);
  for (uint32_t i = 0; i < 3; i++) {
    const ingot_share share = session.share(i);
    if (std::memcmp(&share, &before[i], sizeof share) != 0)
      return wrong("a share before and after", 0, i);
  }
  for (int d = 0; d < ingot::kFakeDevices; d++)
    ingot::fake_gpu(d).uploads = ingot::fake_gpu(d).downloads = ingot::fake_gpu(d).runs = 0;
  if (answers(o, raw, dir) != expected)
    return std::fprintf(stderr, "%s, seed %u: other bits than the CPU's\n", device, seed), 1;
  tally->placed++;
  return check_counts(session, tally);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5)
    return std::fprintf(stderr,
                        "usage: place_runner MODEL.ingot ISA|best DIR SEEDS [NAME=1x2x3 ...]\n"),
           1;
  const ingot_kernel_table* kernels =
      ingot_cpu_kernels(std::strcmp(argv[2], "best") == 0 ? nullptr : argv[2]);
  if (!kernels) return std::printf("[skip] no %s kernels on this machine\n", argv[2]), 77;
  Opened o;
  if (const int status = open_raw(argv[1], kernels, INGOT_MAP_SHARE, argc - 5, argv + 5, &o))
    return status;
  ingot_error error{};
  ingot_session* alone = nullptr;
  o.options.device = "cpu";
  if (ingot_session_create(o.model, &o.options, &alone, &error)) return fail("session", error);
  const std::vector<uint64_t> expected = answers(o, alone, argv[3]);
  ingot_session_destroy(alone);
  o.options.device = nullptr;
  if (expected.empty()) return 1;
  Tally tally;
  const auto nobody = [](uint32_t, uint32_t, uint32_t) -> const char* { return nullptr; };
  for (const char* device : kDevices)
    if (check(o, argv[3], device, nobody, 0, expected, &tally)) return 1;
  for (uint32_t seed = 0; seed < 3; seed++)
    if (check(o, argv[3], "auto", round_robin, seed, expected, &tally)) return 1;
  for (uint32_t seed = 0; seed < 2; seed++)
    if (check(o, argv[3], kDevices[2 * seed], halves, seed, expected, &tally)) return 1;
  for (uint32_t seed = 1; seed <= uint32_t(std::atoi(argv[4])); seed++)
    if (check(o, argv[3], kDevices[seed % 3], by_chance, seed, expected, &tally)) return 1;
  for (int d = 0; d < ingot::kFakeDevices; d++)
    if (ingot::fake_gpu(d).reservations)
      return wrong("reservations left", 0, ingot::fake_gpu(d).reservations);
  std::printf("placed %d split %d transfers %u\n", tally.placed, tally.split, tally.most_transfers);
  return 0;
}
