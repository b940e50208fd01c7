// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/resize/roi_taps.inl - which elements of x the places of a box read, and with which
// weights. Contract: runtime/op/roi_align.h. Device code as well.
#pragma once
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/roi_align.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// One dimension of one bin.
struct RoiBin {
  float start, size;  // of the bin
  int32_t places;
};
INGOT_FN inline RoiBin roi_bin(const RoiAlignAttributes& t, float low, float high, int64_t bins,
                               int64_t bin) {
  const float half = t.aligned ? 0.5f : 0.0f, start = low * t.scale - half;
  float size = (high * t.scale - half) - start;
  if (!t.aligned && size < 1) size = 1;
  size = size / float(bins);
  RoiBin made = {start + float(bin) * size, size, int32_t(t.samples)};
  if (t.samples == 0) {  // NaN has none
    made.places = !(size > 0) ? 0 : size < float(kMaxRoiPlaces) ? int32_t(size) : kMaxRoiPlaces;
    if (made.places < kMaxRoiPlaces && size > float(made.places)) made.places++;
  }
  return made;
}
INGOT_FN inline float roi_place(const RoiBin& bin, int32_t k) {
  return bin.start + (float(k) + 0.5f) * bin.size / float(bin.places);
}

/// The first place that is not before `at`, or not up to it; the number of places if there is none.
INGOT_FN inline int32_t roi_search(const RoiBin& bin, float at, bool behind) {
  int32_t low = 0, high = bin.places;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    const float place = roi_place(bin, middle);
    if (place < at || (behind && place == at))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
/// Places that may lie inside x: all, or of very many those that do. A box from anywhere costs no
/// more than x has elements.
struct RoiRange {
  int32_t begin, end;
};
INGOT_FN inline RoiRange roi_range(const RoiBin& bin, int64_t extent) {
  if (bin.places <= kMaxRoiSamples) return {0, bin.places};  // may go backwards
  return {roi_search(bin, -1, false), roi_search(bin, float(extent), true)};
}

/// A place between two elements.
struct RoiTap {
  int32_t low, high;
  float weight;  // of `high`
  bool inside;
};
INGOT_FN inline RoiTap roi_tap(const RoiBin& bin, int32_t k, int64_t extent) {
  const float at = roi_place(bin, k);
  if (!(at >= -1 && at <= float(extent))) return {0, 0, 0, false};
  const int32_t last = int32_t(extent - 1), low = at > 0 ? int32_t(at) : 0;
  if (low >= last) return {last, last, 0, true};
  return {low, low + 1, at > 0 ? at - float(low) : 0, true};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
