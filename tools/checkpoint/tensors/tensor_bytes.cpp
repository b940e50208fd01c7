// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/tensor_bytes.cpp - the validation of a view, and its elements in order.
#include <algorithm>
#include <cstring>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/files/failure.h"
#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr size_t kBlock = size_t{1} << 20;

[[noreturn]] void refuse(const std::string& owner, const std::string& why) {
  host::fail(host::Exit::kCorrupt,
             owner + ": " + why + "; the file is damaged or was made to mislead");
}

bool is_dense(const Tensor& t) {
  int64_t stride = 1;
  for (size_t d = t.dims.size(); d-- > 0;) {
    if (t.dims[d] != 1 && t.strides[d] != stride) return false;
    stride *= t.dims[d];
  }
  return true;
}

void swap_scalars(uint8_t* bytes, size_t count, uint32_t width) {
  for (size_t i = 0; i + width <= count; i += width) std::reverse(bytes + i, bytes + i + width);
}

template <class T>
void flip_sign(uint8_t* bytes, size_t count, size_t first, size_t step) {
  for (size_t i = first; (i + 1) * sizeof(T) <= count; i += step) {
    T x;
    std::memcpy(&x, bytes + i * sizeof(T), sizeof x);
    x = T(0) - x;
    std::memcpy(bytes + i * sizeof(T), &x, sizeof x);
  }
}

/// Little-endian scalars: floats by their sign bit, integers in two's complement.
void negate(uint8_t* bytes, size_t count, ElementType type, bool imaginary_only) {
  const uint32_t width = scalar_bytes(type);
  const bool pairs = element_bytes(type) != width;
  const size_t first = imaginary_only ? 1 : 0, step = imaginary_only ? 2 : 1;
  if (imaginary_only && !pairs) return;
  if (pairs || is_floating(type)) {
    for (size_t i = first; (i + 1) * width <= count; i += step) bytes[(i + 1) * width - 1] ^= 0x80;
    return;
  }
  if (width == 1) flip_sign<uint8_t>(bytes, count, first, step);
  if (width == 2) flip_sign<uint16_t>(bytes, count, first, step);
  if (width == 4) flip_sign<uint32_t>(bytes, count, first, step);
  if (width == 8) flip_sign<uint64_t>(bytes, count, first, step);
}

/// Gathers pieces, puts each right, and hands it on.
class Emitter {
 public:
  Emitter(const Tensor& tensor, const std::function<void(const void*, size_t)>& emit)
      : tensor_(tensor), emit_(emit) {}
  void add(const uint8_t* bytes, size_t count) {
    if (!changes() && count >= kBlock) {
      flush();
      emit_(bytes, count);
      return;
    }
    while (count > 0) {
      const size_t piece = std::min(count, kBlock - block_.size());
      block_.insert(block_.end(), bytes, bytes + piece);
      bytes += piece;
      count -= piece;
      if (block_.size() == kBlock) flush();
    }
  }
  void flush() {
    if (block_.empty()) return;
    if (tensor_.swapped) swap_scalars(block_.data(), block_.size(), scalar_bytes(tensor_.type));
    if (tensor_.negated) negate(block_.data(), block_.size(), tensor_.type, false);
    if (tensor_.conjugated) negate(block_.data(), block_.size(), tensor_.type, true);
    emit_(block_.data(), block_.size());
    block_.clear();
  }

 private:
  bool changes() const { return tensor_.swapped || tensor_.negated || tensor_.conjugated; }
  const Tensor& tensor_;
  const std::function<void(const void*, size_t)>& emit_;
  std::vector<uint8_t> block_;
};

}  // namespace

std::string path_text(const Path& path) {
  std::string text;
  for (size_t i = 0; i < path.size(); i++) text += (i ? "/" : "") + path[i];
  return text;
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = int64_t(uint64_t(strides[d]) * uint64_t(dims[d] > 1 ? dims[d] : 1));
  return strides;
}

namespace {
uint64_t path_memory(const Path& path) {
  uint64_t bytes = 16 + path.size() * sizeof(std::string);
  for (const std::string& name : path) bytes += host::text_memory(name.size());
  return bytes;
}
}  // namespace

void Checkpoint::say(Path path, FactValue value) {
  const std::string* text = std::get_if<std::string>(&value);
  host::charge_metadata(sizeof(Fact) + path_memory(path) +
                        (text ? host::text_memory(text->size()) : 0));
  Fact& fact = facts.emplace_back();
  fact.path = std::move(path);
  fact.value = std::move(value);
}
void Checkpoint::add(Tensor tensor) {
  constexpr uint64_t kStorage = 64;
  uint64_t bytes = sizeof(Tensor) + path_memory(tensor.path) + kStorage +
                   (tensor.dims.size() + tensor.strides.size()) * sizeof(int64_t);
  if (const std::optional<Quantization>& q = tensor.quantization)
    bytes += q->scales.size() * sizeof(double) + q->zero_points.size() * sizeof(int64_t) +
             q->float_zero_points.size() * sizeof(double);
  host::charge_metadata(bytes);
  tensors.push_back(std::move(tensor));
}
void Checkpoint::note(std::string text) {
  host::charge_metadata(sizeof text + host::text_memory(text.size()));
  notes.push_back(std::move(text));
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  return count;
}

void validate_view(const Tensor& t, const ReadLimits& limits, const std::string& owner) {
  if (t.dims.size() > 64)
    refuse(owner, "has " + std::to_string(t.dims.size()) + " dimensions, expected at most 64");
  if (t.dims.size() != t.strides.size())
    refuse(owner, "has " + std::to_string(t.dims.size()) + " dimensions and " +
                      std::to_string(t.strides.size()) + " strides, expected as many");
  const uint64_t held = t.storage->size() / element_bytes(t.type);
  uint64_t count = 1, last = t.offset;
  bool empty = false, overflow = false;
  for (size_t d = 0; d < t.dims.size(); d++) {
    if (t.dims[d] < 0)
      refuse(owner, "dimension " + std::to_string(d) + " is " + std::to_string(t.dims[d]) +
                        ", expected 0 or more");
    if (t.strides[d] < 0)
      refuse(owner, "stride " + std::to_string(d) + " is " + std::to_string(t.strides[d]) +
                        ", expected 0 or more");
    if (t.dims[d] == 0) {
      empty = true;
      continue;
    }
    uint64_t reach;
    overflow |= __builtin_mul_overflow(uint64_t(t.dims[d]), count, &count);
    overflow |= __builtin_mul_overflow(uint64_t(t.dims[d] - 1), uint64_t(t.strides[d]), &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  if (empty) {
    if (t.offset > held)
      refuse(owner,
             "starts at element " + std::to_string(t.offset) + " of " + std::to_string(held));
    return;
  }
  if (overflow || count > (uint64_t{1} << 60))
    refuse(owner, "its number of elements overflows 64 bits");
  if (last >= held)
    refuse(owner, "reaches element " + std::to_string(last) + " of a storage of " +
                      std::to_string(held) + " elements");
  if (count / limits.widening > held && count > held + (1u << 20))
    refuse(owner, "makes " + std::to_string(count) + " elements of a storage of " +
                      std::to_string(held) + ", more than is read");
}

void read_tensor(const Tensor& t, const std::function<void(const void*, size_t)>& emit) {
  if (t.elements() == 0) return;
  const Bytes bytes = t.storage->load();
  const size_t width = element_bytes(t.type);
  Emitter emitter(t, emit);
  if (is_dense(t)) {
    const uint8_t* from = bytes.data + t.offset * width;
    for (uint64_t left = t.bytes(); left > 0;) {
      const size_t piece = size_t(std::min<uint64_t>(left, kBlock));
      emitter.add(from, piece);
      host::note_touched(2 * piece);
      from += piece, left -= piece;
    }
    emitter.flush();
    return;
  }
  // An odometer over all dimensions but the last.
  const size_t rank = t.dims.size();
  const int64_t inner = t.dims[rank - 1], inner_stride = t.strides[rank - 1];
  std::vector<int64_t> index(rank, 0);
  for (;;) {
    uint64_t at = t.offset;
    for (size_t d = 0; d + 1 < rank; d++) at += uint64_t(index[d] * t.strides[d]);
    const uint8_t* from = bytes.data + at * width;
    if (inner_stride == 1) {
      emitter.add(from, size_t(inner) * width);
    } else {
      for (int64_t i = 0; i < inner; i++)
        emitter.add(from + uint64_t(i * inner_stride) * width, width);
    }
    size_t d = rank - 1;
    while (d-- > 0) {
      if (++index[d] < t.dims[d]) break;
      index[d] = 0;
    }
    if (d == size_t(-1)) break;
  }
  emitter.flush();
}

std::vector<uint8_t> tensor_bytes(const Tensor& tensor) {
  std::vector<uint8_t> out;
  out.reserve(size_t(tensor.bytes()));
  read_tensor(tensor, [&](const void* piece, size_t count) {
    const uint8_t* from = static_cast<const uint8_t*>(piece);
    out.insert(out.end(), from, from + count);
  });
  return out;
}

}  // namespace ingot::checkpoint
