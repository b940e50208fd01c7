// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/data_dependent.cpp - NonZero, Unique, NonMaxSuppression.
#include "runtime/op/data_dependent.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

bool is_zero(const TensorView& x, int64_t at) {
  return is_integer(x.dtype) ? read_integer(x, at) == 0 : read(x, at) == 0;
}

/// -1, 0, 1; NaN above all numbers.
int compare(const TensorView& x, int64_t i, int64_t j) {
  if (x.dtype == DType::kU64) {
    const uint64_t a = x.as<const uint64_t>()[i], b = x.as<const uint64_t>()[j];
    return a < b ? -1 : a > b;
  }
  if (is_integer(x.dtype)) {
    const int64_t a = read_integer(x, i), b = read_integer(x, j);
    return a < b ? -1 : a > b;
  }
  const double a = read(x, i), b = read(x, j);
  if (a != a || b != b) return int(a != a) - int(b != b);
  return a < b ? -1 : a > b;
}

/// Slices along an axis, or elements.
struct Slices {
  const TensorView& x;
  int64_t outer, count, inner;
  int compare_slices(int64_t i, int64_t j) const {
    for (int64_t o = 0; o < outer; o++)
      for (int64_t k = 0; k < inner; k++)
        if (const int c = compare(x, (o * count + i) * inner + k, (o * count + j) * inner + k))
          return c;
    return 0;
  }
};

Slices slices_of(const OpArguments& a) {
  const UniqueAttributes& t = a.as<UniqueAttributes>();
  Slices s{a.inputs[0], 1, 1, 1};
  if (t.flat) s.count = s.x.elements();
  for (int i = 0; !t.flat && i < s.x.rank; i++)
    (i < int(t.axis) ? s.outer : i == int(t.axis) ? s.count : s.inner) *= s.x.dims[i];
  return s;
}

/// Smaller and larger edge of a box in each direction; of a negative extent the larger first.
void edges(const double* p, bool is_center, double* low, double* high) {
  for (int i = 0; i < 2; i++) {
    const double a = is_center ? p[1 - i] - p[3 - i] / 2 : p[i],
                 b = is_center ? p[1 - i] + p[3 - i] / 2 : p[i + 2];
    low[i] = is_center || a < b ? a : b;
    high[i] = is_center || a < b ? b : a;
  }
}

bool overlaps(const double* p, const double* q, bool is_center, double threshold) {
  double p_low[2], p_high[2], q_low[2], q_high[2], shared = 1, p_area = 1, q_area = 1;
  edges(p, is_center, p_low, p_high);
  edges(q, is_center, q_low, q_high);
  for (int i = 0; i < 2; i++) {
    const double low = p_low[i] > q_low[i] ? p_low[i] : q_low[i],
                 high = p_high[i] < q_high[i] ? p_high[i] : q_high[i];
    shared *= high > low ? high - low : 0;
    p_area *= p_high[i] - p_low[i];
    q_area *= q_high[i] - q_low[i];
  }
  return shared > 0 && p_area > 0 && q_area > 0 && shared / (p_area + q_area - shared) > threshold;
}

}  // namespace

Status nonzero(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView& x = a.inputs[0];
  int64_t count = 0, at = 0;
  for (int64_t i = 0; i < x.elements(); i++) count += !is_zero(x, i);
  for_each_index(x, [&](const int64_t* index) {
    if (is_zero(x, offset_of(x, index))) return;
    for (int i = 0; i < x.rank; i++) a.outputs[0].as<int64_t>()[i * count + at] = index[i];
    at++;
  });
  *a.outputs[1].as<int64_t>() = count;
  return {};
}

Status unique(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const Slices s = slices_of(a);
  const auto is_first = [&](int64_t i) {
    for (int64_t j = 0; j < i; j++)
      if (s.compare_slices(i, j) == 0) return false;
    return true;
  };
  int64_t kinds = 0;
  for (int64_t i = 0; i < s.count; i++) kinds += is_first(i);
  for (int64_t i = 0; i < s.count; i++) {
    if (!is_first(i)) continue;
    int64_t place = 0, same = 0;  // first ones that come before this one; how many are equal to it
    for (int64_t j = 0; j < s.count; j++) {
      same += s.compare_slices(i, j) == 0;
      const bool before = a.as<UniqueAttributes>().sorted ? s.compare_slices(j, i) < 0 : j < i;
      place += before && is_first(j);
    }
    for (int64_t o = 0; a.outputs[0].present() && o < s.outer; o++)
      for (int64_t k = 0; k < s.inner; k++)
        copy_element(a.outputs[0], (o * kinds + place) * s.inner + k, s.x,
                     (o * s.count + i) * s.inner + k);
    if (a.outputs[1].present()) a.outputs[1].as<int64_t>()[place] = i;
    if (a.outputs[3].present()) a.outputs[3].as<int64_t>()[place] = same;
    for (int64_t j = 0; a.outputs[2].present() && j < s.count; j++)
      if (s.compare_slices(i, j) == 0) a.outputs[2].as<int64_t>()[j] = place;
  }
  *a.outputs[4].as<int64_t>() = kinds;
  return {};
}

Status non_max_suppression(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &boxes = a.inputs[0], &scores = a.inputs[1], &y = a.outputs[0];
  const int64_t batches = boxes.dims[0], count = boxes.dims[1], classes = scores.dims[1];
  const int64_t lists = batches * classes, room = lists > 0 ? y.dims[0] / lists : 0;
  const int64_t asked = a.optional(2) ? *a.inputs[2].as<const int64_t>() : 0,
                most = asked < room ? asked : room;
  const double threshold = a.optional(3) ? read(a.inputs[3], 0) : 0;
  const auto corners = [&](int64_t b, int64_t i, double* p) {
    for (int k = 0; k < 4; k++) p[k] = read(boxes, (b * count + i) * 4 + k);
  };
  int64_t found = 0;
  for (int64_t b = 0; b < batches; b++)
    for (int64_t c = 0; c < classes; c++) {
      const auto score = [&](int64_t i) { return read(scores, (b * classes + c) * count + i); };
      // every third: the boxes of this class
      const int64_t* picked = y.as<int64_t>() + 3 * found + 2;
      int64_t kept = 0;
      const auto may_be_picked = [&](int64_t i) {
        if (score(i) != score(i) || (a.optional(4) && !(score(i) > read(a.inputs[4], 0))))
          return false;
        for (int64_t k = 0; k < kept; k++) {
          double p[4], q[4];
          corners(b, i, p);
          corners(b, picked[3 * k], q);
          if (picked[3 * k] == i ||
              overlaps(p, q, a.as<NonMaxSuppressionAttributes>().center_point_box, threshold))
            return false;
        }
        return true;
      };
      while (kept < most) {
        int64_t best = -1;
        for (int64_t i = 0; i < count; i++)
          if (may_be_picked(i) && (best < 0 || score(i) > score(best))) best = i;
        if (best < 0) break;
        const int64_t row[3] = {b, c, best};
        std::memcpy(y.as<int64_t>() + 3 * found++, row, sizeof row);
        kept++;
      }
    }
  *a.outputs[1].as<int64_t>() = found;
  return {};
}

}  // namespace ingot::cpu::oracle
