// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/stream/timeline.h"

#include <algorithm>

namespace ingot::convert {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

int64_t Timeline::look_ahead(int64_t input_frames) const {
  return std::max<int64_t>(0, extent + offset - ceil_div(input_frames, rate));
}

Windowed slide(const Timeline& x, const SlidingWindow& span) {
  Windowed made;
  Timeline& y = made.y;
  y.axis = x.axis;
  y.extent = span.extent;
  y.rate = x.rate * span.stride;
  // The earliest frame at which the last one of the window has come.
  y.offset = ceil_div(span.kernel - span.stride - span.begin + x.offset, span.stride);
  const int64_t before_new = y.offset * span.stride + span.begin - x.offset;
  made.x.frames = std::max<int64_t>(0, before_new);
  made.x.drop_begin = std::max<int64_t>(0, -before_new);

  // Before the stream begins lie the padding, which needs the stream to begin with frame 0 or
  // earlier, and frames that a Pad made.
  const bool needs_padding = span.begin > 0, needs_past = x.offset < 0;
  const bool padding_is_right =
      !needs_padding || (span.outside && x.offset <= 0 && x.exact_from == 0);
  const bool past_is_right =
      !needs_past || (x.past && (!needs_padding || (span.outside && *x.past == *span.outside)));
  if (needs_padding && span.outside) made.x.first = *span.outside;
  if (!needs_padding && needs_past && x.past) made.x.first = *x.past;
  int64_t right_from = x.exact_from;
  if (!past_is_right) right_from = std::max(right_from, -x.offset);
  y.exact_from = padding_is_right && right_from == 0
                     ? 0
                     : std::max<int64_t>(0, ceil_div(right_from + span.begin, span.stride));
  y.exact_to = std::clamp<int64_t>(
      floor_div(x.exact_to - span.kernel + span.begin, span.stride) + 1, 0, y.extent);
  return made;
}

Aligned align(const std::vector<Timeline>& operands) {
  Aligned made;
  made.y = operands[0];
  made.y.past.reset();
  for (const Timeline& x : operands) {
    made.y.offset = std::max(made.y.offset, x.offset);
    made.y.exact_to = std::min(made.y.exact_to, x.exact_to);
  }
  for (const Timeline& x : operands) {
    History history;
    history.frames = history.drop_end = made.y.offset - x.offset;
    if (x.past) history.first = *x.past;
    // of what lies before the stream begins only a history can say more
    const bool past_is_right = x.offset >= 0 || (history.frames >= -x.offset && x.past);
    made.y.exact_from = std::max({made.y.exact_from, x.exact_from, past_is_right ? 0 : -x.offset});
    made.operands.push_back(history);
  }
  return made;
}

}  // namespace ingot::convert
