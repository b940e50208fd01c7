// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/driver.cpp - finds the driver's entry points, or says why there are none.
#include "runtime/device/cuda/driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "runtime/base/os/file.h"
#include "runtime/base/os/thread.h"

namespace ingot::cuda {

const char* const kGraphUseNames[kGraphUses] = {"full", "ordered", "serial", "host", "none"};

namespace {

Driver table;
pthread_once_t once = PTHREAD_ONCE_INIT;
std::atomic<bool> is_loaded{false};
uint32_t forks;      // before this process loaded the driver
char sentence[320];  // where a problem has words of others in it

constexpr const char* kNoDriver = "device: no CUDA driver (libcuda.so.1) on this machine";
constexpr const char* kInstall = "install the GPU's driver, or use cpu";
constexpr const char* kSaysMore = "`ingot doctor` says more";

void give_up(const char* problem, const char* hint) {
  table.problem = problem;
  table.hint = hint;
}
void give_up(const char* problem, const char* words, const char* hint) {
  snprintf(sentence, sizeof sentence, "%s: %s", problem,
           words ? words : "the loader does not say why");
  give_up(sentence, hint);
}

const char* named_library() {
  const char* named = secure_getenv("INGOT_CUDA_DRIVER");
  return named && *named ? named : nullptr;
}

/// True of an ELF file that ends before one of its segments: mapped, it would end the process with
/// a bus error at the first touch.
bool is_cut_short(const char* path) {
  os::File file;
  uint64_t bytes = 0;
  if (!os::open_file(path, &file, &bytes, nullptr).ok()) return false;
  Elf64_Ehdr head;
  bool is_short = false;
  if (os::read_file(file, 0, &head, sizeof head, nullptr).ok() &&
      memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
      head.e_phentsize == sizeof(Elf64_Phdr))
    for (int i = 0; i < head.e_phnum && !is_short; i++) {
      Elf64_Phdr segment;
      is_short = !os::read_file(file, head.e_phoff + uint64_t(i) * sizeof segment, &segment,
                                sizeof segment, nullptr)
                      .ok() ||
                 (segment.p_type == PT_LOAD &&
                  (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset));
    }
  os::close_file(&file);
  return is_short;
}

void* open_named(const char* path) {
  constexpr const char* kProblem =
      "device: the library that INGOT_CUDA_DRIVER names cannot be loaded";
  if (is_cut_short(path)) return give_up(kProblem, "the file is cut short", kInstall), nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) give_up(kProblem, dlerror(), kInstall);
  return library;
}

/// Where drivers lie that the loader was not told of.
constexpr const char* kUsualPlaces[] = {
    "/usr/local/nvidia/lib64/libcuda.so.1",           // containers
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",         // Debian
    "/usr/lib64/libcuda.so.1",                        // Red Hat
    "/usr/lib/wsl/lib/libcuda.so.1",                  // Windows
    "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",  // Jetsons until JetPack 5
    "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
};

void* open_installed() {
  if (void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) return library;
  const char* const why = dlerror();
  // It is there, and what it needs is not: a container without the GPU's files, a driver that was
  // removed by halves.
  const bool is_there = why && !(strstr(why, "libcuda.so.1") && strstr(why, "No such file"));
  if (is_there)
    give_up("device: the CUDA driver is there and cannot be loaded", why,
            "in a container, start it with its GPU (--gpus all, --runtime nvidia); else install "
            "the driver again");
  if (void* library = dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL)) return library;
  for (const char* const place : kUsualPlaces)
    if (void* library = is_there ? nullptr : dlopen(place, RTLD_NOW | RTLD_LOCAL)) return library;
  if (!is_there)
    give_up(
        kNoDriver,
        "install the GPU's driver, or use cpu; in a container: --gpus all, or --runtime nvidia");
  return nullptr;
}

void say_why_not_started(Result result) {
  switch (result) {
    case kNotInitialized:
      return give_up(kForked, "in the parent something else has used it: call exec() in the child");
    case kNoDevice:
      return give_up("device: the CUDA driver finds no device",
                     getenv("CUDA_VISIBLE_DEVICES")
                         ? "CUDA_VISIBLE_DEVICES is set and may hide it: unset it"
                         : kSaysMore);
    case kStubLibrary:
      return give_up(
          "device: the libcuda.so that was found is a toolkit's stub, not a driver",
          "take the toolkit's stubs out of LD_LIBRARY_PATH, and install the GPU's driver");
    case kSystemNotReady:
      return give_up(
          "device: the CUDA driver says that the system is not ready",
          "on a machine with NVSwitch start nvidia-fabricmanager; `ingot doctor` says more");
    case kCompatNotSupported:
      return give_up("device: the compatibility libcuda that was found does not serve this GPU",
                     "take the toolkit's compat folder out of LD_LIBRARY_PATH, or update the "
                     "driver of the machine");
    case kDriverMismatch:
      return give_up(
          "device: the CUDA library and the kernel's driver are of different versions",
          "restart the machine after an update of the driver; in a container, start it again");
    default: break;
  }
  const char* name = nullptr;
  if (table.cuGetErrorName(result, &name)) name = nullptr;
  // An unknown error is what a driver gives whose module for memory is not loaded, or whose device
  // files are not to be opened.
  give_up("device: the CUDA driver does not start", name ? name : "an error without a name",
          result == kUnknownResult
              ? "is nvidia_uvm loaded (modprobe nvidia_uvm), and may this user open /dev/nvidia*?"
              : kSaysMore);
}

/// False where a variable has a word that means nothing.
bool read_graph_use() {
  const char* const serial = secure_getenv("INGOT_CUDA_SERIAL");
  table.graphs = serial && *serial ? GraphUse::kSerial : GraphUse::kFull;
  const char* const named = secure_getenv("INGOT_CUDA_GRAPHS");
  if (!named || !*named) return true;
  for (int i = 0; i < kGraphUses; i++) {
    if (strcmp(named, kGraphUseNames[i]) != 0) continue;
    table.graphs = GraphUse(i);
    return true;
  }
  give_up("device: INGOT_CUDA_GRAPHS is none of full, ordered, serial, host, none", named,
          "unset it, or name one of them");
  return false;
}

void load() {
  forks = os::fork_count();
  const char* const named = named_library();
  void* library = named ? open_named(named) : open_installed();
  if (!library) return;
  table.problem = table.hint = nullptr;
  if (!read_graph_use()) return;
// NOLINTBEGIN(bugprone-macro-parentheses): types and lists of parameters
#define X(name, parameters)                                                   \
  table.name = reinterpret_cast<Result(*) parameters>(dlsym(library, #name)); \
  if (!table.name)                                                            \
    return give_up("device: the CUDA driver is too old: it lacks " #name,     \
                   "CUDA 11.4 (JetPack 5) or newer is needed");
  INGOT_CUDA_DRIVER(X)
#undef X
#define X(name, parameters) \
  table.name = reinterpret_cast<Result(*) parameters>(dlsym(library, #name));
  INGOT_CUDA_DRIVER_OPTIONAL(X)
#undef X
  // NOLINTEND(bugprone-macro-parentheses)
  Dl_info found;
  table.library = dladdr(reinterpret_cast<void*>(table.cuInit), &found) ? found.dli_fname : nullptr;
  // From cuInit on a child has a driver that refuses every call, also where there was no session.
  if (!os::watch_forks(nullptr).ok())
    return give_up("device: forks cannot be watched",
                   "less memory is free than the C library needs for a few words");
  if (const Result result = table.cuInit(0)) return say_why_not_started(result);
  if (const Result result = table.cuDriverGetVersion(&table.version))
    return say_why_not_started(result);
  if (table.version < kOldestDriver)
    return give_up("device: the CUDA driver is older than 11.4",
                   "CUDA 11.4 (JetPack 5) or newer is needed");
  const Result counted = table.cuDeviceGetCount(&table.device_count);
  if (counted || table.device_count < 1) say_why_not_started(counted ? counted : kNoDevice);
}

}  // namespace

const char* retreat_hint() {
  constexpr const char* kNext[kGraphUses] = {
      "with INGOT_CUDA_GRAPHS=ordered in the environment no kernel starts early; serial, host and "
      "none ask less of the driver still",
      "with INGOT_CUDA_GRAPHS=serial in the environment graphs are one plain chain; host and none "
      "ask less of the driver still",
      "with INGOT_CUDA_GRAPHS=host in the environment the CPU decides Ifs and Loops; with none "
      "there are no graphs",
      "with INGOT_CUDA_GRAPHS=none in the environment there are no graphs", nullptr};
  return kNext[int(table.graphs)];
}

bool is_forked() { return os::fork_count() != forks; }

const Driver& driver() {
  if (is_loaded.load(std::memory_order_acquire)) return table;  // a run calls nothing that may lock
  pthread_once(&once, load);
  is_loaded.store(true, std::memory_order_release);
  return table;
}

}  // namespace ingot::cuda
