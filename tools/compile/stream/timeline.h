// SPDX-License-Identifier: Apache-2.0
// tools/compile/stream/timeline.h - which frames of a whole network a value of the streaming one
// has. Frames are elements along one axis, time. A value of the whole network has the frames
// 0 .. extent - 1; the streaming one gives its frames one after another, 0, 1, 2, .. without end.
//
//   frame t of the whole is frame t + offset of the stream
//
// A causal operator keeps the offset. One that looks k frames ahead adds k: its frame t is there
// when frame t + k of its input is. Where the source itself drops frames at the front, as a
// convolution without padding does, the offset grows as well, and the extent shrinks with it: that
// is no look ahead.
// Threads  any.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ingot::convert {

struct Timeline {
  size_t axis = 0;
  int64_t extent = 0;
  int64_t rate = 1;  // frames of the network's input for one of these
  int64_t offset = 0;
  // frames of the whole, [from, to), which the stream gives with the same bits
  int64_t exact_from = 0, exact_to = 0;
  // offset < 0: each element of the frames that lie before the stream begins; nothing: unknown
  std::optional<double> past;

  /// Frames of the whole that are not there yet when the last frame of the input has come.
  int64_t look_ahead(int64_t input_frames) const;
};

/// What an operator reads besides the new frames of an operand: `frames` old ones, before them.
/// Then it leaves out `drop_begin` and `drop_end` of these together.
struct History {
  int64_t frames = 0, drop_begin = 0, drop_end = 0;
  double first = 0;  // each element of the frames before the stream begins

  bool is_none() const { return frames == 0 && drop_begin == 0 && drop_end == 0; }
};

/// A window that slides along the axis: frame t reads `kernel` frames of the input from
/// t * stride - begin on. A Slice is one of a single frame with a negative begin.
struct SlidingWindow {
  int64_t kernel = 1, stride = 1, begin = 0;
  int64_t extent = 0;             // of the output
  std::optional<double> outside;  // what frames before 0 count as; nothing: they are left out
};

struct Windowed {
  Timeline y;
  History x;
};
Windowed slide(const Timeline& x, const SlidingWindow& span);

/// Operands that are read frame by frame together: all wait for the latest.
/// @pre same rate and extent, at least one.
struct Aligned {
  Timeline y;  // its axis is that of the first
  std::vector<History> operands;
};
Aligned align(const std::vector<Timeline>& operands);

/// Rounded down and up, b > 0.
int64_t floor_div(int64_t a, int64_t b);
int64_t ceil_div(int64_t a, int64_t b);

}  // namespace ingot::convert
