// SPDX-License-Identifier: Apache-2.0
// tests/cuda/cuda_test.h - the fake driver for tests: named before the back end looks for one, and
// asked afterwards.
#pragma once
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "tests/cuda/fake_driver/fake_driver.h"
#include "tests/session/session_models.h"

namespace ingot::test {

/// @pre called before any other use of CUDA in this process
inline FakeCuda& fake_cuda() {
  static FakeCuda* control = [] {
    setenv("INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA, 1);
    void* library = dlopen(INGOT_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda_control"))();
  }();
  return *control;
}

/// False with INGOT_CUDA_GRAPHS=none, where a run is a launch for each kernel.
inline bool has_graphs() {
  const char* const use = std::getenv("INGOT_CUDA_GRAPHS");
  return !use || std::string(use) != "none";
}

/// An entry point of the fake driver by its name, as another library of the process would call it.
template <class F>
F* entry(const char* name) {
  fake_cuda();
  static void* const library = dlopen(INGOT_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  static const int begun = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"))(0);
  void* const found = begun == 0 ? dlsym(library, name) : nullptr;
  if (!found) throw std::runtime_error(name);
  return reinterpret_cast<F*>(found);
}

/// What is alive, as one line; "" when nothing is.
inline std::string alive() {
  const FakeCuda& c = fake_cuda();
  std::string text;
  const auto add = [&](const char* what, uint64_t count) {
    if (count) text += std::to_string(count) + " " + what + " ";
  };
  add("allocations", c.allocations), add("bytes", c.bytes), add("pinned", c.pinned),
      add("contexts", c.contexts);
  add("modules", c.modules), add("streams", c.streams), add("events", c.events),
      add("graphs", c.graphs), add("execs", c.execs);
  add("misuses", c.misuses);
  return text;
}
/// For TEST_CASE_FIXTURE: when the test ends, nothing of the fake driver is alive.
struct FakeDriverCase {
  FakeDriverCase() { fake_cuda(); }
  ~FakeDriverCase() noexcept(false) {
    if (std::uncaught_exceptions() == 0) CHECK(alive() == "");
  }
};
/// The fake GPU shares the CPU's memory: tests are registered a second time with it
/// (tests/cuda/CMakeLists.txt).
inline bool is_integrated() {
  const char* text = std::getenv("FAKE_CUDA_INTEGRATED");
  return text && *text == '1';
}
/// Calls that do something: all but those that make a context current and the caller's own again.
inline uint64_t deeds(const FakeCuda& c) { return c.calls - c.switches; }
inline void heal() { fake_cuda().sticky = fake_cuda().fail_code = 0, fake_cuda().fail_at_call = 0; }

inline ingot_session_options on(const char* device, uint32_t flags = 0) {
  ingot_session_options options = session_options();
  options.device = device;
  options.flags = flags;
  options.threads = 1;
  return options;
}

}  // namespace ingot::test
