// SPDX-License-Identifier: Apache-2.0
// Operands of conformance cases: memory with guards on both sides, values, comparison by bits.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "kernels/cpu/oracle/access.h"
#include "tests/conformance/conformance_gpu.h"
#include "tests/conformance/runner.h"

namespace ingot::conformance {
namespace {

constexpr size_t kMaxShift = 16;

}  // namespace

Tensor::Tensor(DType dtype, std::vector<int64_t> dims, int64_t row_padding, Packing packing) {
  view_.dtype = dtype;
  view_.packing = packing;
  view_.rank = uint8_t(dims.size());
  for (size_t i = 0; i < dims.size(); i++) view_.dims[i] = dims[i];
  view_.row_stride = (dims.empty() ? 1 : dims.back()) + row_padding;
  REQUIRE(storage_bytes(view_, &bytes_));
  start_ = kOperandGuard;
  memory_.assign(start_ + bytes_ + kMaxShift + kOperandGuard, kOperandPattern);
  aim();
}
Tensor::Tensor(const Tensor& other)
    : view_(other.view_), memory_(other.memory_), bytes_(other.bytes_), start_(other.start_) {
  aim();
}
Tensor& Tensor::operator=(const Tensor& other) {
  view_ = other.view_;
  memory_ = other.memory_;
  bytes_ = other.bytes_;
  start_ = other.start_;
  aim();
  return *this;
}
Tensor Tensor::shifted(int64_t elements) const {
  Tensor to = *this;
  if (!present()) return to;
  to.start_ = kOperandGuard + size_t(elements) * size_t(dtype_bytes(view_.dtype)) % kMaxShift;
  to.poison();
  std::memcpy(to.memory_.data() + to.start_, memory_.data() + start_, bytes_);
  to.aim();
  return to;
}
void Tensor::aim() { view_.data = present() ? memory_.data() + start_ : nullptr; }
void Tensor::poison() { std::memset(memory_.data(), kOperandPattern, memory_.size()); }

int64_t Tensor::offset(int64_t n) const {
  if (view_.packing != Packing::kDense || view_.row_length() == 0) return n;
  return n / view_.row_length() * view_.row_stride + n % view_.row_length();
}
double Tensor::at(int64_t n) const { return cpu::oracle::read(view_, offset(n)); }
void Tensor::set(int64_t n, double x) { cpu::oracle::write(view_, offset(n), x); }

Tensor& Tensor::random(uint32_t seed, double low, double high) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> real(low, high);
  const int64_t n = view_.packing == Packing::kDense ? view_.elements()
                                                     : int64_t(bytes_) / dtype_bytes(view_.dtype);
  for (int64_t i = 0; i < n; i++) {
    const double x = real(engine);
    set(i, cpu::oracle::is_integer(view_.dtype) ? std::floor(x + 0.5) : x);
  }
  return *this;
}
Tensor& Tensor::values(const std::vector<double>& numbers) {
  for (int64_t i = 0; i < view_.elements(); i++) set(i, numbers[size_t(i) % numbers.size()]);
  return *this;
}

std::string Tensor::guard_fault() const {
  if (!present()) return "";
  for (size_t i = 0; i < start_; i++)
    if (memory_[i] != kOperandPattern) return "bytes before the tensor changed";
  for (size_t i = start_ + bytes_; i < memory_.size(); i++)
    if (memory_[i] != kOperandPattern) return "bytes behind the tensor changed";
  if (view_.packing != Packing::kDense || view_.rank == 0 || view_.elements() == 0) return "";
  const int64_t width = dtype_bytes(view_.dtype);
  for (int64_t r = 0; r + 1 < view_.rows(); r++)
    for (int64_t b = (r * view_.row_stride + view_.row_length()) * width;
         b < (r + 1) * view_.row_stride * width; b++)
      if (memory_[start_ + size_t(b)] != kOperandPattern) return "bytes between rows changed";
  return "";
}

bool Tensor::same_bits(const Tensor& other, int64_t* first_difference) const {
  if (!present()) return !other.present();
  const size_t width = size_t(dtype_bytes(view_.dtype));
  const bool is_one_block = bytes_ == other.bytes_ && view_.row_length() == view_.row_stride &&
                            other.view_.row_length() == other.view_.row_stride;
  if (is_one_block && std::memcmp(view_.data, other.view_.data, bytes_) == 0) return true;
  for (int64_t n = 0; n < view_.elements(); n++) {
    const uint8_t *a = view_.as<const uint8_t>() + size_t(offset(n)) * width,
                  *b = other.view_.as<const uint8_t>() + size_t(other.offset(n)) * width;
    if (std::memcmp(a, b, width) == 0) continue;
    if (!cpu::oracle::is_integer(view_.dtype) && std::isnan(at(n)) && std::isnan(other.at(n)))
      continue;
    *first_difference = n;
    return false;
  }
  return true;
}

}  // namespace ingot::conformance
