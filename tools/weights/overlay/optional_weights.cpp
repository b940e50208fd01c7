// SPDX-License-Identifier: Apache-2.0
// tools/weights/overlay/optional_weights.cpp - constants that stay the architecture's own: which
// may stay, and which an exporter computed from weights. A folded constant looks like any other, so
// what may stay is recognized: numbers that a program states or makes by a formula, never numbers
// that only training makes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "tools/files/half.h"
#include "tools/weights/overlay/slot.h"

namespace ingot::overlay {
namespace {

using graph::Constant;

/// The elements of a constant as numbers, without a copy.
class Numbers {
 public:
  explicit Numbers(const Constant& c)
      : dtype_(c.dtype), bytes_(c.bytes ? c.bytes->data() : nullptr) {}
  double operator[](int64_t i) const {
    switch (dtype_) {
      case DType::kF64: return get<double>(i);
      case DType::kF16: return double(host::widen_f16(get<uint16_t>(i)));
      case DType::kBF16: return double(host::widen_bf16(get<uint16_t>(i)));
      default: return double(get<float>(i));
    }
  }
  bool is_half() const { return dtype_ == DType::kF16 || dtype_ == DType::kBF16; }

 private:
  template <class T>
  T get(int64_t i) const {
    T x;
    std::memcpy(&x, bytes_ + size_t(i) * sizeof x, sizeof x);
    return x;
  }
  DType dtype_;
  const uint8_t* bytes_;
};

bool is_uniform(const Constant& c) {
  const size_t size = size_t(dtype_bytes(c.dtype));
  const uint8_t* bytes = c.bytes->data();
  for (int64_t i = 1; i < c.elements(); i++)
    if (std::memcmp(bytes + size_t(i) * size, bytes, size) != 0) return false;
  return true;
}

/// Multiples of one half, and infinities: masks, positions, strides, anchors, grids.
bool is_whole(const Numbers& x, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (std::isnan(x[i]) || (std::isfinite(x[i]) && x[i] * 2 != std::floor(x[i] * 2))) return false;
  return true;
}

/// Of at most four digits each, as people write them: 0.485, 0.229, 1e-5. One float of 3000 is so
/// by chance.
bool is_written(const Numbers& x, int64_t count) {
  if (x.is_half() || count > 64) return false;
  for (int64_t i = 0; i < count; i++) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3e", x[i]);
    if (float(std::strtod(text, nullptr)) != float(x[i])) return false;
  }
  return true;
}

/// What is left of a shape without dimensions along which nothing changes, with strides of the
/// whole.
struct Varying {
  std::vector<int64_t> dims, strides;
};
Varying varying_of(const Numbers& x, const std::vector<int64_t>& dims) {
  Varying out;
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  int64_t stride = count;
  for (const int64_t d : dims) {
    stride /= d;
    bool changes = false;
    for (int64_t i = 0; i < count && !changes; i++)
      changes = x[i] != x[i - i / stride % d * stride];
    if (!changes) continue;
    out.dims.push_back(d);
    out.strides.push_back(stride);
  }
  return out;
}

/// a + b p, or a + b cos(w p + c): the differences of each follow d[p-1] + d[p+1] = k d[p].
bool is_regular(const Numbers& x, int64_t first, int64_t stride, int64_t count) {
  const auto at = [&](int64_t p) { return x[first + p * stride]; };
  const auto step = [&](int64_t p) { return at(p + 1) - at(p); };
  double largest = 0, most = 0, num = 0, den = 0;
  for (int64_t p = 0; p < count; p++) {
    if (!std::isfinite(at(p))) return false;
    largest = std::max(largest, std::fabs(at(p)));
  }
  for (int64_t p = 0; p + 1 < count; p++) most = std::max(most, std::fabs(step(p)));
  for (int64_t p = 1; p + 2 < count; p++) {
    num += step(p) * (step(p - 1) + step(p + 1));
    den += step(p) * step(p);
  }
  const double k = den > 0 ? num / den : 0;
  const double allowed = (x.is_half() ? 0.05 : 5e-3) * most + (x.is_half() ? 4e-2 : 2e-6) * largest;
  if (x.is_half() && most < 8e-2 * largest) return den == 0;  // too coarse to tell
  for (int64_t p = 1; p + 2 < count; p++)
    if (std::fabs(step(p - 1) + step(p + 1) - k * step(p)) > allowed) return false;
  return true;
}

bool is_geometric(const Numbers& x, int64_t count) {
  if (count < 5 || x[0] == 0 || !std::isfinite(x[0])) return false;
  const double ratio = x[1] / x[0];
  for (int64_t i = 1; i < count; i++)
    if (!(std::fabs(x[i] - x[i - 1] * ratio) <= 1e-4 * std::fabs(x[i]))) return false;
  return true;
}

/// Tables of positions: regular along one dimension, whatever stands in the others.
bool is_formula(const Numbers& x, const std::vector<int64_t>& dims) {
  constexpr int64_t kSmall = 8;  // fewer numbers may follow any rule
  const Varying v = varying_of(x, dims);
  if (v.dims.size() == 1 && v.strides[0] == 1 && is_geometric(x, v.dims[0])) return true;
  for (size_t axis = 0; axis < v.dims.size(); axis++) {
    if (v.dims[axis] < kSmall) continue;
    std::vector<int64_t> index(v.dims.size(), 0);
    bool regular = true;
    for (bool more = true; more && regular;) {
      int64_t first = 0;
      for (size_t i = 0; i < index.size(); i++) first += index[i] * v.strides[i];
      regular = is_regular(x, first, v.strides[axis], v.dims[axis]);
      more = false;
      for (size_t i = index.size(); i-- > 0 && !more;) {
        if (i == axis) continue;
        if (++index[i] < v.dims[i])
          more = true;
        else
          index[i] = 0;
      }
    }
    if (regular) return true;
  }
  return false;
}

/// A bias in every row, or rows of a table: what is left of a product with zeros, and of a look-up
/// by constants.
std::string weight_inside(const Pairing& p, const Constant& c) {
  if (c.dims.empty() || c.dims.back() < 2) return "";
  const size_t row = size_t(c.dims.back()) * size_t(dtype_bytes(c.dtype));
  const auto rows_of = [&](const Constant& of) {
    std::unordered_set<std::string_view> rows;
    const char* bytes = reinterpret_cast<const char*>(of.bytes->data());
    for (size_t at = 0; at + row <= of.bytes->size(); at += row) rows.insert({bytes + at, row});
    return rows;
  };
  const auto mine = rows_of(c);
  for (const Slot& slot : p.slots) {
    const Constant* theirs = slot.id < 0 ? nullptr : p.model.constant(slot.id);
    if (!slot.filled() || !theirs || !theirs->bytes || theirs->dtype != c.dtype ||
        theirs->dims.empty() || theirs->dims.back() != c.dims.back())
      continue;
    const auto rows = rows_of(*theirs);
    if (std::all_of(mine.begin(), mine.end(), [&](std::string_view r) { return rows.count(r); }))
      return slot.name;
  }
  return "";
}

/// Whether an exporter calls it as the result of something that reads weights: "linear_1",
/// "/cell/Gemm_output_0".
bool is_called_result(std::string name) {
  static const std::set<std::string> kResults = {
      "linear",     "addmm",      "mm",          "bmm",  "matmul", "baddbmm",   "conv1d",
      "conv2d",     "conv3d",     "convolution", "lstm", "gru",    "embedding", "layer_norm",
      "group_norm", "batch_norm", "rms_norm",    "Gemm", "MatMul", "Conv"};
  if (const size_t tail = name.find("_output_"); tail != std::string::npos) name.resize(tail);
  name = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  const size_t last = name.find_last_not_of("0123456789");
  if (last != std::string::npos && last > 0 && last + 1 < name.size() && name[last] == '_')
    name.resize(last);
  return kResults.count(name) != 0;
}

}  // namespace

std::string why_not_kept(const Pairing& p, const Slot& slot) {
  const Constant* c = slot.id < 0 ? nullptr : p.model.constant(slot.id);
  if (!c || !c->bytes || c->elements() <= 1) return "";
  const Numbers x(*c);
  if (is_uniform(*c))
    return is_called_result(slot.name)
               ? "is the result of a layer on constants, folded by the exporter"
               : "";
  if (const std::string weight = weight_inside(p, *c); !weight.empty())
    return "holds the architecture's '" + weight + "', folded by the exporter";
  if (is_whole(x, c->elements()) || is_written(x, c->elements()) || is_formula(x, c->dims))
    return "";
  return "is in no tensor of the checkpoint, and may be folded from some";
}

}  // namespace ingot::overlay
