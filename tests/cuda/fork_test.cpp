// SPDX-License-Identifier: Apache-2.0
// A process that only looked for GPUs before it forked: no session, no context. The driver refuses
// the child all the same.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu/cpu_kernels.h"
#include "tests/cuda/cuda_test.h"

using namespace ingot;
using namespace ingot::test;

namespace {

const ingot_kernel_table* scalar() {
  return reinterpret_cast<const ingot_kernel_table*>(cpu_kernels("scalar"));
}

template <class Work>
bool holds_in_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

ingot_device first_gpu() {
  ingot_device device = {};
  device.size = sizeof device;
  CHECK(ingot_device_at(1, &device) == INGOT_OK);
  return device;
}

}  // namespace

TEST_CASE(
    "cuda fork: before the driver is asked for anything a child may use it; afterwards it is told, "
    "and auto is the "
    "CPU") {
  FakeCuda& fake = fake_cuda();
  FileBytes bytes(chain_network(4));
  Model model = open_bytes_or_fail(bytes, scalar());
  CHECK(holds_in_child([&] { return model.session(on("cuda")).ok(); }));
  CHECK(first_gpu().exists);
  CHECK(fake.contexts == 0);
  CHECK(holds_in_child([&] {
    const uint64_t calls = fake.calls;
    const auto made = model.session(on("cuda"));
    const bool told =
        !made.ok() && made.error().code == INGOT_WRONG_STATE && made.error().hint[0] != 0 &&
        std::string(made.error().field) == "device: CUDA cannot be used in the child of a fork";
    auto fallen = model.session(on("auto"));
    return told && fallen.ok() && std::string(fallen->share(0).device) == "cpu" &&
           fallen->run().ok() && !first_gpu().exists &&
           std::string(first_gpu().why) == made.error().field && fake.calls == calls;
  }));
  CHECK(model.session(on("cuda")).ok());
  CHECK(alive() == "");
}
