// runtime/device/cuda/driver.cpp - finds the driver's entry points.
#include "runtime/device/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

namespace ingot::cuda {
namespace {

Driver table;
pthread_once_t once = PTHREAD_ONCE_INIT;

void give_up(const char* problem, const char* hint) {
  table.problem = problem;
  table.hint = hint;
}

void* open_library() {
  if (const char* named = secure_getenv("INGOT_CUDA_DRIVER"); named && *named)
    return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? library : dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL);
}

const char* sentence_of(Result result) {
  switch (result) {
    case kNoDevice: return "device: the CUDA driver finds no device";
    case kSystemNotReady: return "device: the CUDA driver says that the system is not ready";
    case kDriverMismatch: return "device: the CUDA library and the kernel's driver are of different versions";
    default: return "device: the CUDA driver does not start";
  }
}

void load() {
  void* library = open_library();
  if (!library) {
    const char* named = secure_getenv("INGOT_CUDA_DRIVER");
    return give_up(named && *named ? "device: the library that INGOT_CUDA_DRIVER names cannot be loaded"
                                   : "device: no CUDA driver (libcuda.so.1) on this machine",
                   "install the GPU's driver, or use cpu");
  }
// NOLINTBEGIN(bugprone-macro-parentheses): types and lists of parameters
#define X(name, parameters)                                                   \
  table.name = reinterpret_cast<Result(*) parameters>(dlsym(library, #name)); \
  if (!table.name)                                                            \
    return give_up("device: the CUDA driver is too old: it lacks " #name, "CUDA 11.4 (JetPack 5) or newer is needed");
  INGOT_CUDA_DRIVER(X)
#undef X
// NOLINTEND(bugprone-macro-parentheses)
  if (const Result result = table.cuInit(0)) return give_up(sentence_of(result), "`ingot doctor` says more");
  if (table.cuDriverGetVersion(&table.version)) table.version = 0;
  if (table.version < kOldestDriver)
    return give_up("device: the CUDA driver is older than 11.4", "CUDA 11.4 (JetPack 5) or newer is needed");
  if (table.cuDeviceGetCount(&table.device_count) || table.device_count < 1)
    return give_up("device: the CUDA driver finds no device", "`ingot doctor` says more");
}

}  // namespace

const Driver& driver() {
  pthread_once(&once, load);
  return table;
}

}  // namespace ingot::cuda
