// SPDX-License-Identifier: Apache-2.0
// runtime/device/segments.h - a program with control flow for a device that launches: segments of
// instructions, each one launch, and between them the host goes where an If or a Loop says. What
// decides is brought to the host at the end of the segment before it, and the host waits for that;
// a constant needs neither. What the device decides by itself is inside a segment, as if it were
// one instruction.
//   step  0 run a      1 if c, else go to 4      2 run then      3 jump to 5      4 run else      5
//         run b
//         [a, tells c]                           [then]                           [else]
//         [b]        3 launches, 2 waits
// Owns     nothing.
// Threads  any.
#pragma once
#include "runtime/device/device.h"

namespace ingot {

/// What a control step needs of the device, once the segment before it has run.
struct ControlNeeds {
  bool condition = false;  // read by the host
  bool count = false;      // read by the host
  bool iteration = false;  // set to zero by a Loop, one more at its end
  bool reads() const { return condition || count; }
  bool any() const { return reads() || iteration; }
};

struct GraphSegment {
  uint32_t first_step = 0, end_step = 0;  // instructions, and Ifs and Loops that the device decides
  uint32_t subprogram = 0;                // that they are in
  bool ends_at_control = false;           // which is step end_step
  bool brings_inputs = false, takes_outputs = false;
  ControlNeeds needs;
};

/// The segments of a program, or of a part of it that is cut where no If and no Loop is open, in
/// the order of the steps: each begins behind the one before. Nothing depends on what steps
/// compute.
class SegmentScan {
 public:
  /// `moves_ports`: the first segment brings inputs, the last one takes outputs, if they do nothing
  /// else.
  SegmentScan(const StepProgram& program, bool moves_ports);
  /// False: that was the last.
  bool next(GraphSegment* out);

 private:
  struct Open {
    uint32_t subprogram, end_step;  // of its steps
  };

  void enter(const StepDef& step);
  uint32_t behind_of(uint32_t step) const;

  const StepProgram& program_;
  bool moves_ports_, is_first_ = true, has_ended_ = false;
  uint32_t at_, depth_ = 0;
  Open open_[kMaxSubprogramDepth] = {};
};

/// No graph is cancelled once it is launched, so the device takes no loop that may go round more
/// often than this (those inside each other multiplied). Bounds that are expressions are extents of
/// the program's tensors, and are taken.
constexpr int64_t kMaxDecided = int64_t{1} << 20;

/// Why the host decides the If or the Loop that begins at `step`, with all in it: a static
/// sentence; null: the device does.
const char* why_host_decides(const StepProgram& program, uint32_t step);
/// The step behind an If or a Loop, which begins at `step`.
uint32_t end_of_control(const StepProgram& program, uint32_t step);

/// What operand 0 of an If or a Loop decides is a constant: StepProgram::known has it.
bool is_known(const StepProgram& program, uint32_t instruction);

/// Launches and waits of a subprogram each time that it runs, without those inside it. The main
/// program (0) waits for its end as well.
struct LaunchCounts {
  uint32_t launches = 0, waits = 0;
};
LaunchCounts launch_counts_of(const StepProgram& program, bool moves_ports, uint32_t subprogram);
/// Of a program that moves its ports: nothing is left to the host.
bool is_one_segment(const StepProgram& program);

}  // namespace ingot
