// SPDX-License-Identifier: Apache-2.0
// runtime/device/gpu/launch_order.h - which launches of a program a new one has to wait for: those
// that write what it touches, and those that touch what it writes. The others are branches that a
// GPU may run side by side. What it answers is the same for the same addresses, and no order that
// keeps it changes a bit.
// Owns     nothing.
// Calls    nothing. No allocation.
#pragma once
#include "runtime/device/gpu/kernel_set.h"
#include "runtime/format/program.h"

namespace ingot {

/// What a launch touches: everything, unless ranges are told.
class LaunchAccess {
 public:
  LaunchAccess() = default;  // everything
  static LaunchAccess nothing() {
    LaunchAccess t;
    t.is_all_ = false;
    return t;
  }
  void add(const void* at, uint64_t bytes, bool writes);

  struct Range {
    uintptr_t begin, end;
    bool writes;
  };
  static constexpr uint32_t kMaxRanges = 24;  // more are everything
  bool is_all() const { return is_all_; }
  uint32_t count() const { return is_all_ ? 0 : count_; }
  const Range& operator[](uint32_t i) const { return ranges_[i]; }

 private:
  Range ranges_[kMaxRanges];
  uint32_t count_ = 0;
  bool is_all_ = true;
};

/// The bytes of an instruction's operands, as kernels see them: those of constants are read alone.
/// `fault`: of several bad indices the last instruction's is told, so instructions that may find
/// one keep their order. @pre arguments as the device has them
LaunchAccess access_of(const InstructionDef& instruction, Span<const ValueDef> values,
                       const OpArguments& arguments, const uint32_t* fault);
/// Where its constant operands begin.
GpuConstants constants_of(const InstructionDef& instruction, Span<const ValueDef> values,
                          const OpArguments& arguments);
/// And the scratch that the instruction was given, where the launch has an address inside it: no
/// other launch can reach it.
LaunchAccess access_of(const LaunchAccess& operands, const GpuLaunch& launch,
                       const uint8_t* scratch, uint64_t scratch_bytes);

/// The launches of one graph, in the order of the program. It remembers a few; one that it has no
/// room for waits for all, and all later ones for it.
class LaunchOrder {
 public:
  static constexpr uint32_t kMaxLaunches = 24, kMaxRanges = 160;
  struct Launch {
    void* node;      // the caller's
    bool is_kernel;  // or something else that runs in the order
  };
  struct Waits {
    Launch launches[kMaxLaunches];
    uint32_t count = 0;
  };
  /// Adds the launch to come: what it waits for is in `out`, each of them needed; what those wait
  /// for is left out.
  void wait(const LaunchAccess& touched, Waits* out);
  /// Its node. @pre wait() was called for it
  void add(Launch launch);

 private:
  struct Item {
    Launch launch;
    uint32_t waits;  // items that it waits for, a bit each, through others too
    uint32_t first_range;
  };
  bool meets(const LaunchAccess& touched, uint32_t item) const;
  Launch root_ = {};  // all items wait for it
  bool has_root_ = false, joins_ = false;
  uint32_t count_ = 0, range_count_ = 0;
  Item items_[kMaxLaunches];
  LaunchAccess::Range ranges_[kMaxRanges];
};

}  // namespace ingot
