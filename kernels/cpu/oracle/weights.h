// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/weights.h - one weight by its canonical index, whatever the packing.
#pragma once
#include <cstdint>

#include "runtime/op/tensor.h"

namespace ingot::cpu::oracle {

/// w[o][tap][c] of dims [O, taps..., C] with `taps` taps of `channels` channels.
inline double weight(const TensorView& w, int64_t o, int64_t tap, int64_t c, int64_t taps,
                     int64_t channels) {
  const float* p = w.as<float>();
  const int64_t k = tap * channels + c;
  switch (w.packing) {
    case Packing::kPanels16:
      return double(p[(o / kPanel * taps * channels + k) * kPanel + o % kPanel]);
    case Packing::kDepthwise16:
      return double(p[tap * ((w.dims[0] + kPanel - 1) / kPanel * kPanel) + o]);
    case Packing::kDense:
    case Packing::kVector16:
    case Packing::kWinogradF43:
    case Packing::kPanels16x4:
    case Packing::kBlocks32: break;
  }
  return double(p[o * taps * channels + k]);
}

inline double bias_of(const TensorView* bias, int64_t o) {
  return bias ? double(bias->as<float>()[o]) : 0.0;
}

}  // namespace ingot::cpu::oracle
