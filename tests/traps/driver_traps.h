// SPDX-License-Identifier: Apache-2.0
// tests/traps/driver_traps.h - what runs on a GPU ask of its driver, beside what the session
// states. Over the fake driver, which INGOT_CUDA_DRIVER names: what that allocates and asks the
// system for is its own, so its calls are marked for the tracer.
#pragma once
#include "ingot/ingot.hpp"
#include "tests/cuda/fake_driver/fake_driver.h"

namespace ingot::test {

/// What a test plants in a run, for the traps to see.
enum class Sabotage { kNone, kAllocates, kCallsSystem };
void commit(Sabotage sabotage);

class DriverTraps {
 public:
  /// Null, with a line on stderr, where INGOT_CUDA_DRIVER does not name the fake driver.
  static FakeCuda* find_fake();
  /// From now on each call of the driver is marked.
  explicit DriverTraps(FakeCuda* fake);
  /// Each launch is accompanied from now on.
  static void sabotage(Sabotage sabotage);
  /// True when `runs` runs since arm() made exactly the launches, waits, transfers that the
  /// session's shares state, kept nothing, and, where the whole program is on the GPU, called the
  /// driver for nothing else.
  void arm() { before_ = *fake_; }
  bool are_as_stated(const Session& session, uint64_t runs) const;

 private:
  FakeCuda* fake_;
  FakeCuda before_ = {};
};

}  // namespace ingot::test
