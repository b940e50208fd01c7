// SPDX-License-Identifier: Apache-2.0
#include "tests/traps/driver_traps.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/device/cuda/driver.h"
#include "tests/traps/tracer.h"

namespace ingot::test {
namespace {

cuda::Result (*launch)(cuda::GraphExec exec, cuda::Stream stream);

Sabotage planted = Sabotage::kNone;

cuda::Result launch_carelessly(cuda::GraphExec exec, cuda::Stream stream) {
  commit(planted);
  return launch(exec, stream);
}

}  // namespace

void commit(Sabotage sabotage) {
  if (sabotage == Sabotage::kCallsSystem) (void)syscall(SYS_getuid);
  if (sabotage != Sabotage::kAllocates) return;
  void* volatile pointer = std::malloc(10);
  std::free(pointer);
}

FakeCuda* DriverTraps::find_fake() {
  const char* path = std::getenv("INGOT_CUDA_DRIVER");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  void* control = library ? dlsym(library, "fake_cuda_control") : nullptr;
  if (control) return reinterpret_cast<FakeCuda* (*)()>(control)();
  std::fprintf(stderr,
               "trap_runner: a GPU's runs are traced over the fake driver alone: let "
               "INGOT_CUDA_DRIVER name it\n");
  return nullptr;
}

DriverTraps::DriverTraps(FakeCuda* fake) : fake_(fake) { fake->mark_call = kDriverMark; }

void DriverTraps::sabotage(Sabotage sabotage) {
  planted = sabotage;
  auto& table = const_cast<cuda::Driver&>(cuda::driver());
  launch = table.cuGraphLaunch;
  table.cuGraphLaunch = launch_carelessly;
}

bool DriverTraps::are_as_stated(const Session& session, uint64_t runs) const {
  uint64_t launches = 0, waits = 0, uploads = 0, downloads = 0;
  bool is_split = false;
  ingot_share share = {};
  share.size = sizeof share;
  for (uint32_t i = 0; ingot_session_share(session.get(), i, &share) == INGOT_OK; i++) {
    const bool on_gpu = std::strncmp(share.device, "cuda", 4) == 0;
    is_split = is_split || (!on_gpu && share.instructions);
    if (!on_gpu) continue;
    launches += share.launches, waits += share.waits, uploads += share.uploads,
        downloads += share.downloads;
  }
  ingot_branch branch = {};  // of the last run: all have the same inputs
  branch.size = sizeof branch;
  for (uint32_t i = 0; ingot_session_branch(session.get(), i, &branch) == INGOT_OK; i++)
    launches += branch.launches * branch.taken, waits += branch.waits * branch.taken;
  if (!is_split) uploads = downloads = 0;  // copies of ports are kernels of the graph
  const FakeCuda &a = before_, &b = *fake_;
  bool all = true;
  const auto check = [&](const char* what, uint64_t stated, uint64_t seen) {
    if (stated == seen) return;
    std::fprintf(stderr,
                 "trap_runner: %s of the GPU in %" PRIu64 " runs: stated %" PRIu64 ", seen %" PRIu64
                 "\n",
                 what, runs, stated, seen);
    all = false;
  };
  check("launches", runs * launches, b.launches - a.launches);
  check("waits", runs * waits, b.waits - a.waits);
  check("uploads", runs * uploads, b.uploads - a.uploads);
  check("downloads", runs * downloads, b.downloads - a.downloads);
  check("bytes allocated", a.bytes, b.bytes);
  check("graphs made", a.execs, b.execs);
  check("misuses", 0, b.misuses);
  // Beside them a run and a transfer only make the context current and then what it was.
  check("calls of the driver", runs * (launches + waits + uploads + downloads),
        b.calls - b.switches - (a.calls - a.switches));
  return all;
}

}  // namespace ingot::test
