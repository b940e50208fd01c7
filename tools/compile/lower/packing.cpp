// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/packing.cpp - panels of 16 outputs, so that one packed copy serves every
// vector width.
#include "tools/compile/lower/packing.h"

#include <stdexcept>
#include <string>

#include "runtime/base/checked_math.h"
#include "tools/files/spill_file.h"

namespace ingot {
namespace {

size_t padded(int64_t n) { return size_t(round_up(n, kPanel)); }

// G of F(4x4, 3x3) with interpolation points 0, 1, -1, 2, -2 and infinity (Lavin and Gray,
// arXiv:1509.09308).
constexpr double kG[6][3] = {{1.0 / 4, 0, 0},
                             {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                             {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                             {1.0 / 24, 1.0 / 12, 1.0 / 6},
                             {1.0 / 24, -1.0 / 12, 1.0 / 6},
                             {0, 0, 1}};

/// g(y, x) = tap[(y * 3 + x) * stride] -> u[36].
void transform_taps(const float* tap, int64_t stride, double* u) {
  double half[6][3];
  for (int i = 0; i < 6; i++)
    for (int x = 0; x < 3; x++) {
      half[i][x] = 0;
      for (int y = 0; y < 3; y++) half[i][x] += kG[i][y] * double(tap[(y * 3 + x) * stride]);
    }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      double sum = 0;
      for (int x = 0; x < 3; x++) sum += half[i][x] * kG[j][x];
      u[i * 6 + j] = sum;
    }
}

}  // namespace

std::vector<float> pack_panels16(std::span<const float> dense, int64_t outputs, int64_t k) {
  std::vector<float> panels;
  panels.reserve(padded(outputs) * size_t(k));
  for (int64_t o = 0; o < outputs; o++) {
    if (o % kPanel == 0) panels.resize(panels.size() + size_t(k * kPanel));
    for (int64_t i = 0; i < k; i++)
      panels[size_t((o / kPanel * k + i) * kPanel + o % kPanel)] = dense[size_t(o * k + i)];
    host::note_touched(uint64_t(k) * 2 * sizeof(float));
  }
  return panels;
}

std::vector<float> pack_winograd_f43(std::span<const float> dense, int64_t outputs,
                                     int64_t channels) {
  std::vector<float> panels;
  panels.reserve(padded(outputs) * kWinogradPlanes * size_t(channels));
  for (int64_t o = 0; o < outputs; o++) {
    if (o % kPanel == 0) panels.resize(panels.size() + size_t(kWinogradPlanes * channels * kPanel));
    for (int64_t c = 0; c < channels; c++) {
      double u[kWinogradPlanes];
      transform_taps(dense.data() + o * 9 * channels + c, channels, u);
      for (int64_t plane = 0; plane < kWinogradPlanes; plane++)
        panels[size_t(((o / kPanel * kWinogradPlanes + plane) * channels + c) * kPanel +
                      o % kPanel)] = float(u[plane]);
    }
    host::note_touched(uint64_t(channels) * (kWinogradPlanes + 9) * sizeof(float));
  }
  return panels;
}

std::vector<float> pack_depthwise16(std::span<const float> dense, int64_t channels, int64_t taps) {
  std::vector<float> rows(size_t(taps) * padded(channels));
  for (int64_t c = 0; c < channels; c++)
    for (int64_t t = 0; t < taps; t++)
      rows[size_t(t) * padded(channels) + size_t(c)] = dense[size_t(c * taps + t)];
  return rows;
}

std::vector<float> pack_vector16(std::span<const float> dense) {
  std::vector<float> vector(padded(int64_t(dense.size())));
  for (size_t i = 0; i < dense.size(); i++) vector[i] = dense[i];
  return vector;
}

std::vector<float> pack_weights(Packing packing, std::span<const int64_t> dims,
                                std::span<const float> dense) {
  TensorType type;
  type.dtype = DType::kF32;
  type.packing = packing;
  type.rank = uint8_t(dims.size() <= kMaxRank ? dims.size() : 0);
  int64_t elements = 1;
  for (size_t i = 0; i < type.rank; i++) type.dims[i] = dims[i], elements *= dims[i];
  type.row_stride = type.row_length();
  uint64_t bytes = 0;
  if (dims.empty() || dims.size() > kMaxRank || !storage_bytes(type, &bytes))
    throw std::invalid_argument("pack_weights: these dims have no packing " +
                                std::to_string(int(packing)));
  if (elements != int64_t(dense.size()))
    throw std::invalid_argument("pack_weights: dims say " + std::to_string(elements) +
                                " elements, found " + std::to_string(dense.size()));
  const int64_t first = dims[0], rest = first ? elements / first : 0;
  switch (packing) {
    case Packing::kPanels16: return pack_panels16(dense, first, rest);
    case Packing::kWinogradF43: return pack_winograd_f43(dense, first, dims[3]);
    case Packing::kDepthwise16: return pack_depthwise16(dense, first, rest);
    case Packing::kVector16: return pack_vector16(dense);
    case Packing::kDense: break;
    case Packing::kPanels16x4:
    case Packing::kBlocks32: throw std::invalid_argument("pack_weights: panels of bytes");
  }
  return {dense.begin(), dense.end()};
}

}  // namespace ingot
