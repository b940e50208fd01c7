// tools/import/tflite/lower_signal.h - the audio front end of TFLite Micro: whole numbers of i64,
// whatever type the file says. What lower_signal.cpp and its transform share.
#pragma once
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {

/// floor(x / 2^bits). @pre |x| < 2^61
inline ValueId floor_shifted(Wide& w, ValueId x, int bits) {
  constexpr int64_t kFar = int64_t{1} << 61;
  const ValueId moved = w.add(x, w.number(kFar));
  return w.add(w.b.emit("Div", {moved, w.number(int64_t{1} << bits)}), w.number(-(kFar >> bits)));
}

/// [rows, length] of 16 bits -> [rows, length + 2], real and imaginary parts in turns. `length` is
/// a power of two, at least 2.
ValueId fixed_real_transform(Call& call, ValueId x, const graph::Dim& rows, int64_t length);

}  // namespace ingot::tflite
