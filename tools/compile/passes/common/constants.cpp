// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/common/constants.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/checked_math.h"
#include "tools/files/half.h"
#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes {
namespace {

template <class T>
std::vector<double> widened(const Constant& c) {
  constexpr int64_t kPiece = 1 << 16;
  const T* data = c.as<T>();
  std::vector<double> wide;
  wide.reserve(size_t(c.elements()));
  for (int64_t i = 0; i < c.elements(); i += kPiece) {
    wide.insert(wide.end(), data + i, data + std::min(i + kPiece, c.elements()));
    host::note_touched(uint64_t(kPiece) * (sizeof(double) + sizeof(T)));
  }
  return wide;
}

// For each element of `dims` in row-major order, calls visit(offset into a tensor with these
// strides).
template <class Visit>
void walk(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides, size_t width,
          Visit visit) {
  constexpr int64_t kOften = 1 << 16;
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  std::vector<int64_t> at(dims.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; i++) {
    visit(offset);
    if (i % kOften == kOften - 1) host::note_touched(uint64_t(2 * kOften) * width);
    for (size_t k = dims.size(); k-- > 0;) {
      offset += strides[k];
      if (++at[k] < dims[k]) break;
      offset -= strides[k] * dims[k];
      at[k] = 0;
    }
  }
}

/// What a pass writes out; as much as no budget allows where that is beyond 64 bits.
uint64_t bytes_of(DType dtype, const std::vector<int64_t>& dims) {
  uint64_t bytes = uint64_t(dtype_bytes(dtype));
  for (const int64_t d : dims)
    if (!checked_mul(bytes, uint64_t(d), &bytes)) return UINT64_MAX;
  return bytes;
}

Constant gathered(const Constant& c, std::vector<int64_t> dims,
                  const std::vector<int64_t>& strides) {
  size_t width = size_t(dtype_bytes(c.dtype));
  std::vector<uint8_t> bytes;
  const uint64_t wanted = bytes_of(c.dtype, dims);
  host::charge_memory(wanted);
  bytes.reserve(size_t(wanted));
  const uint8_t* from = c.as<uint8_t>();
  walk(dims, strides, width, [&](int64_t offset) {
    bytes.insert(bytes.end(), from + size_t(offset) * width, from + size_t(offset + 1) * width);
  });
  Constant result{c.dtype, std::move(dims), nullptr};
  if (!bytes.empty()) result.bytes = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return result;
}

}  // namespace

std::vector<double> numbers(const Constant& c) {
  if (!c.bytes) return {};
  std::vector<double> result;
  switch (c.dtype) {
    case DType::kF32: return widened<float>(c);
    case DType::kF64: return widened<double>(c);
    case DType::kI8: return widened<int8_t>(c);
    case DType::kU8:
    case DType::kBool: return widened<uint8_t>(c);
    case DType::kI16: return widened<int16_t>(c);
    case DType::kU16: return widened<uint16_t>(c);
    case DType::kI32: return widened<int32_t>(c);
    case DType::kU32: return widened<uint32_t>(c);
    case DType::kI64: return widened<int64_t>(c);
    case DType::kU64: return widened<uint64_t>(c);
    case DType::kF16:
      for (int64_t i = 0; i < c.elements(); i++)
        result.push_back(host::widen_f16(c.as<uint16_t>()[i]));
      return result;
    case DType::kBF16:
      for (int64_t i = 0; i < c.elements(); i++)
        result.push_back(host::widen_bf16(c.as<uint16_t>()[i]));
      return result;
    case DType::kInvalid: return {};
  }
  return {};
}

std::optional<double> scalar(const Model& model, ValueId id) {
  const Constant* c = model.constant(id);
  if (!c || c->elements() != 1 || !c->bytes) return std::nullopt;
  return numbers(*c)[0];
}

bool is_scalar(const Model& model, ValueId id, double expected) {
  std::optional<double> found = scalar(model, id);
  return found && std::fabs(*found - expected) <= 1.2e-7 * std::fabs(expected);
}

std::optional<double> uniform(const Constant& c) {
  std::vector<double> all = numbers(c);
  if (all.empty()) return std::nullopt;
  for (double x : all)
    if (!(x == all[0])) return std::nullopt;
  return all[0];
}

Constant make_f32(std::vector<int64_t> dims, const std::vector<double>& elements) {
  constexpr size_t kPiece = size_t{1} << 16;
  std::vector<uint8_t> bytes;
  host::charge_memory(elements.size() * sizeof(float));
  bytes.reserve(elements.size() * sizeof(float));
  std::vector<float> piece;
  for (size_t i = 0; i < elements.size(); i += kPiece) {
    piece.assign(elements.begin() + long(i),
                 elements.begin() + long(std::min(i + kPiece, elements.size())));
    host::append_weights(bytes, reinterpret_cast<const uint8_t*>(piece.data()),
                         piece.size() * sizeof(float));
    host::note_touched(piece.size() * sizeof(double));
  }
  Constant constant{DType::kF32, std::move(dims), nullptr};
  if (!bytes.empty())
    constant.bytes = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return constant;
}

Constant with_dims(const Constant& c, std::vector<int64_t> dims) {
  return {c.dtype, std::move(dims), c.bytes};
}

Constant permuted(const Constant& c, const Integers& perm) {
  std::vector<int64_t> from = graph::strides_of(c.dims), dims, strides;
  for (int64_t p : perm) {
    dims.push_back(c.dims[size_t(p)]);
    strides.push_back(from[size_t(p)]);
  }
  return gathered(c, std::move(dims), strides);
}

Constant signed_weights(const Constant& integers, const Integers& perm) {
  Constant turned = is_identity(perm) ? integers : permuted(integers, perm);
  if (integers.dtype != DType::kU8) return turned;
  host::charge_memory(uint64_t(integers.elements()));
  std::vector<uint8_t> bytes;
  if (turned.bytes) bytes = *turned.bytes;
  for (uint8_t& each : bytes) each ^= 0x80;
  return graph::make_constant(DType::kI8, turned.dims, bytes.data());
}

Constant broadcast(const Constant& c, const std::vector<int64_t>& dims) {
  std::vector<int64_t> from = graph::strides_of(c.dims), strides(dims.size(), 0);
  size_t lead = dims.size() - c.dims.size();
  for (size_t i = 0; i < c.dims.size(); i++) strides[lead + i] = c.dims[i] == 1 ? 0 : from[i];
  return gathered(c, dims, strides);
}

std::optional<std::vector<double>> per_channel(const Model& model, ValueId id, const Dims& dims) {
  const Constant* c = model.constant(id);
  if (!c || !c->bytes || dims.empty() || c->dims.size() > dims.size() || !dims.back().value())
    return std::nullopt;
  for (size_t i = 0; i + 1 < c->dims.size(); i++)
    if (c->dims[i] != 1) return std::nullopt;
  int64_t channels = *dims.back().value();
  int64_t given = c->dims.empty() ? 1 : c->dims.back();
  if (given != 1 && given != channels) return std::nullopt;
  std::vector<double> values = numbers(*c);
  if (given != channels) host::charge_memory(bytes_of(DType::kF64, {channels}));
  if (given != channels) values.assign(size_t(channels), values[0]);
  return values;
}

std::optional<std::vector<int64_t>> static_dims(const Dims& dims) {
  std::vector<int64_t> result;
  for (const Dim& d : dims) {
    if (!d.value()) return std::nullopt;
    result.push_back(*d.value());
  }
  return result;
}

}  // namespace ingot::passes
