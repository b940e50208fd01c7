// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/roi_align.cpp - RoiAlign: for every output element its places, one after the
// other. Places in float, as the contract has them, weights and sums in double.
#include "runtime/op/roi_align.h"

#include <cmath>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

struct Axis {
  float start, bin;
  int64_t places;
  int64_t extent;
};
Axis axis_of(const RoiAlignAttributes& t, float low, float high, int64_t bins, int64_t extent) {
  const float half = t.aligned ? 0.5f : 0.0f;
  const float start = low * t.scale - half, end = high * t.scale - half;
  float size = end - start;
  if (!t.aligned && size < 1) size = 1;
  Axis axis = {start, size / float(bins), t.samples, extent};
  if (t.samples == 0)
    axis.places =
        !(axis.bin > 0) ? 0 : int64_t(std::fmin(std::ceil(axis.bin), float(kMaxRoiPlaces)));
  return axis;
}
/// Whether the place is inside; then where, limited to x.
bool place_at(const Axis& axis, int64_t bin, int64_t k, float* at) {
  *at = (axis.start + float(bin) * axis.bin) + (float(k) + 0.5f) * axis.bin / float(axis.places);
  if (!(*at >= -1 && *at <= float(axis.extent))) return false;
  *at = std::fmax(0.0f, std::fmin(*at, float(axis.extent - 1)));
  return true;
}

}  // namespace

Status roi_align(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const TensorView &x = a.inputs[0], &boxes = a.inputs[1], &images = a.inputs[2], &y = a.outputs[0];
  const RoiAlignAttributes& t = a.as<RoiAlignAttributes>();
  bool good = true;
  for_each_index(y, [&](const int64_t* index) {
    const int64_t image = images.as<const int64_t>()[index[0]];
    if (image < 0 || image >= x.dims[0]) {
      good = false;
      return;
    }
    const float* box = boxes.as<const float>() + index[0] * boxes.row_stride;
    const Axis down = axis_of(t, box[1], box[3], y.dims[1], x.dims[1]),
               across = axis_of(t, box[0], box[2], y.dims[2], x.dims[2]);
    int64_t inside = 0;
    double sum = 0, largest = -INFINITY;
    const auto take = [&](int64_t i, int64_t j, double weight) {
      const int64_t source[] = {image, i, j, index[3]};
      const double product = weight * read(x, offset_of(x, source));
      sum += product;
      if (product > largest || std::isnan(product)) largest = product;
    };
    for (int64_t k = 0; k < down.places; k++) {
      float at_y, at_x;
      if (!place_at(down, index[1], k, &at_y)) continue;
      const int64_t i = int64_t(at_y), i_next = std::fmin(float(i + 1), float(down.extent - 1));
      const double f = double(at_y) - double(i);
      for (int64_t l = 0; l < across.places; l++) {
        if (!place_at(across, index[2], l, &at_x)) continue;
        const int64_t j = int64_t(at_x), j_next = std::fmin(float(j + 1), float(across.extent - 1));
        const double g = double(at_x) - double(j);
        take(i, j, (1 - f) * (1 - g)), take(i, j_next, (1 - f) * g);
        take(i_next, j, f * (1 - g)), take(i_next, j_next, f * g);
        inside++;
      }
    }
    const int64_t places = down.places * across.places;
    if (inside < places || places == 0)
      largest = std::isnan(largest) ? largest : std::fmax(largest, 0.0);
    const double average = sum / double(places < 1 ? 1 : places);
    write(y, offset_of(y, index), t.mode == RoiMode::kMax ? largest : average);
  });
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace ingot::cpu::oracle
