// SPDX-License-Identifier: Apache-2.0
// Mistakes of kernels that a CPU forgives and a GPU does not: shared memory that nobody wrote, too
// much of it, writes behind it, barriers in two branches of one warp, blocks that count on their
// order. The emulator must find each, and nothing where there is none.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/cuda/device/gpu.h"
#include "tests/cuda/emulated.h"

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::test;

namespace {

struct Pair {
  int first, second;
};

/// What thread 0 of each block sees in shared memory that is declared; only thread 1 writes, its
/// own number.
std::vector<int> seen_in_blocks(uint32_t order) {
  std::vector<int> seen(4);
  emulate::set_order(order);
  launch(4, 32, 0, [&] {
    GPU_SHARED(Pair, pair);
    GPU_SHARED_ARRAY(int, numbers, [2][3]);
    if (threadIdx.x == 1) pair.second = int(blockIdx.x), numbers[1][2] = int(blockIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
      const bool is_written = pair.second == int(blockIdx.x) && numbers[1][2] == int(blockIdx.x);
      seen[blockIdx.x] = is_written && pair.first == numbers[0][0] ? pair.first : -1;
    }
    __syncthreads();
    pair.first = numbers[0][0] = 7;  // for the next block, if it could see it
  });
  emulate::set_order(0);
  return seen;
}

/// Barriers of the two halves of a warp, or of two warps, in two branches.
void branching_barriers(unsigned split) {
  launch(1, 64, 0, [split] {
    if (threadIdx.x < split)
      __syncthreads();
    else
      __syncthreads();
  });
}

}  // namespace

TEST_CASE(
    "emulator: shared memory that a kernel declares holds a pattern in every block, until it is "
    "written") {
  for (uint32_t order : {0u, 1u, 5u}) {
    CAPTURE(order);
    CHECK(seen_in_blocks(order) == std::vector<int>(4, -1));
  }
}

TEST_CASE(
    "emulator: shared memory is no more than every GPU gives, and nothing is written behind it") {
  const auto declares = [](uint32_t dynamic_bytes) {
    return [dynamic_bytes] {
      launch(2, 32, dynamic_bytes, [] {
        GPU_SHARED_ARRAY(char, room, [1024]);
        room[threadIdx.x] = 1;
      });
    };
  };
  CHECK(!aborts(declares((48 << 10) - 1024)));
  CHECK(aborts(declares((48 << 10) - 1023)));
  CHECK(!aborts([] { launch(1, 32, 99 << 10, [] {}); }));
  CHECK(aborts([] { launch(1, 32, (99 << 10) + 1, [] {}); }));
  const auto writes = [](int past) {
    return [past] { launch(1, 32, 100, [past] { gpu_shared<char>()[99 + past] = 1; }); };
  };
  CHECK(!aborts(writes(0)));
  CHECK(aborts(writes(1)));
  CHECK(aborts(writes(64)));
}

TEST_CASE(
    "emulator: what earlier launches write is poison before a kernel has waited for them, also to "
    "copies, and stays as it is") {
  std::vector<float> constant(32, 2.0f), written(32, 3.0f), y(32);
  const emulate::Range ranges[] = {{written.data(), 32 * sizeof(float)},
                                   {y.data(), 32 * sizeof(float)}};
  emulate::start_early(ranges, 2);
  /// The sum of both, of which what `early` says is read before.
  const auto sums = [&](const float* early, const float* late, bool copied) {
    launch(2, 32, 32 * sizeof(float), [&, early, late, copied] {
      float* const own = gpu_shared<float>() + threadIdx.x;
      if (copied) emulate::async_copy(own, early + threadIdx.x, 4, true);
      if (copied) emulate::async_commit();
      const float loaded = early[threadIdx.x];
      emulate::wait_for_launches();
      emulate::async_wait(0);
      y[threadIdx.x] = (copied ? *own : loaded) + late[threadIdx.x];
    });
    return y == std::vector<float>(32, 5.0f);
  };
  for (const bool copied : {false, true}) {
    CAPTURE(copied);
    CHECK(sums(constant.data(), written.data(), copied));
    CHECK(!sums(written.data(), constant.data(), copied));
  }
  CHECK(written == std::vector<float>(32, 3.0f));
  CHECK(!aborts([&] { launch(1, 32, 0, [&] { emulate::wait_for_launches(), y[0] = 1; }); }));
  CHECK(aborts([&] { launch(1, 32, 0, [&] { y[0] = 1, emulate::wait_for_launches(); }); }));
  CHECK(aborts([&] {
    launch(1, 32, 0, [&] {
      if (threadIdx.x != 3) emulate::wait_for_launches();
    });
  }));
  emulate::start_early(nullptr, 0);
  CHECK(sums(written.data(), constant.data(), true));
}

TEST_CASE("emulator: lanes of one warp wait at one barrier; warps may wait at different ones") {
  CHECK(!aborts([] { branching_barriers(32); }));
  CHECK(!aborts([] { branching_barriers(64); }));
  CHECK(aborts([] { branching_barriers(16); }));
  CHECK(aborts([] { branching_barriers(33); }));
}

TEST_CASE("emulator: blocks run in every order, each once") {
  for (uint32_t order : {0u, 1u, 5u, 77u}) {
    CAPTURE(order);
    std::vector<int> runs(3 * 5 * 2);
    std::vector<unsigned> visited;
    struct Seen {
      std::vector<int>* runs;
      std::vector<unsigned>* visited;
    } seen{&runs, &visited};
    emulate::set_order(order);
    emulate::launch(
        {3, 5, 2}, 32, 0,
        [](const void* s) {
          if (threadIdx.x) return;
          const unsigned at = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
          (*static_cast<const Seen*>(s)->runs)[at]++;
          static_cast<const Seen*>(s)->visited->push_back(at);
        },
        &seen);
    emulate::set_order(0);
    CHECK(runs == std::vector<int>(3 * 5 * 2, 1));
    CHECK((visited.front() == 0 && visited[1] == 1) == (order == 0));
  }
}
