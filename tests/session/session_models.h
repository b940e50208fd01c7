// SPDX-License-Identifier: Apache-2.0
// tests/session/session_models.h - models made in memory, and owners for objects of the C
// interface.
#pragma once
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "ingot/ingot.hpp"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/format/small_files.h"

namespace ingot::test {

/// x [n, 8] -> relu -> neg -> add with x -> y: static, an intermediate overwritten in place.
convert::FileSpec chain_network(int64_t rows = 4);
/// y = x + s, then s = y; s starts at a constant, or at zero.
convert::FileSpec counting_network(bool with_init);
/// y = data[indices], data 4 x 8.
convert::FileSpec lookup_network();
/// x -> relu -> neg in place over it -> y; and a second output that views y as another shape.
convert::FileSpec in_place_ports_network();

/// y = x * w + v + b: w [3, 40] and v [40] are stored as `dtype`, b [40] as f32; `apart`: in a
/// weight part of its own.
convert::FileSpec stored_network(DType dtype, bool apart);
constexpr uint64_t kWidenedBytes = 512 + 160, kPlainBytes = 160;
/// What the kernels see of w and v, by plain arithmetic.
std::vector<float> stored_weights();

inline const ingot_kernel_table* oracle_table() {
  return reinterpret_cast<const ingot_kernel_table*>(oracle_kernels());
}

inline ingot_session_options with_threads(int32_t threads, uint32_t flags = 0) {
  ingot_session_options options = session_options();
  options.threads = threads;
  options.flags = flags;
  return options;
}

/// Bytes of a file at a 64-byte aligned address.
class FileBytes {
 public:
  explicit FileBytes(const convert::FileSpec& spec) {
    const std::vector<uint8_t> bytes = convert::write_memory(spec);
    size_ = bytes.size();
    storage_.resize(size_ + 64);
    data_ = storage_.data() + (64 - reinterpret_cast<uintptr_t>(storage_.data()) % 64) % 64;
    std::memcpy(data_, bytes.data(), size_);
  }
  FileBytes(const FileBytes&) = delete;
  uint8_t* data() { return data_; }
  uint64_t size() const { return size_; }
  ingot_reader reader() {
    return {this, size_, [](void* user, uint64_t offset, void* out, size_t bytes) -> int32_t {
              std::memcpy(out, static_cast<FileBytes*>(user)->data_ + offset, bytes);
              return 0;
            }};
  }

 private:
  std::vector<uint8_t> storage_;
  uint8_t* data_;
  uint64_t size_;
};

/// A file written to disk for the test's life.
class TemporaryFile {
 public:
  explicit TemporaryFile(const convert::FileSpec& spec);
  ~TemporaryFile();
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

/// Memory at a multiple of `alignment`.
class AlignedBlock {
 public:
  AlignedBlock(uint64_t bytes, uint64_t alignment)
      : data_(
            static_cast<uint8_t*>(::operator new(bytes ? bytes : 1, std::align_val_t(alignment)))),
        alignment_(alignment) {}
  ~AlignedBlock() { ::operator delete(data_, std::align_val_t(alignment_)); }
  AlignedBlock(const AlignedBlock&) = delete;
  uint8_t* data() { return data_; }

 private:
  uint8_t* data_;
  uint64_t alignment_;
};

inline Model open_bytes_or_fail(FileBytes& bytes,
                                const ingot_kernel_table* kernels = oracle_table()) {
  ingot_reader reader = bytes.reader();
  (void)reader;
  auto model = Model::open(bytes.data(), bytes.size(), open_options(kernels));
  if (!model) throw std::runtime_error(model.error().text());
  return std::move(*model);
}

template <class T>
void write(const ingot_tensor& tensor, const std::vector<T>& values) {
  if (tensor.bytes != values.size() * sizeof(T)) throw std::runtime_error("write: wrong size");
  std::memcpy(tensor.data, values.data(), tensor.bytes);
}
template <class T>
std::vector<T> read(const ingot_tensor& tensor) {
  const T* data = static_cast<const T*>(tensor.data);
  return std::vector<T>(data, data + tensor.bytes / sizeof(T));
}
/// A port that does not exist ends the test with its error's text.
template <class T>
void write(const Result<ingot_tensor>& tensor, const std::vector<T>& values) {
  write(tensor.value(), values);
}
template <class T>
std::vector<T> read(const Result<ingot_tensor>& tensor) {
  return read<T>(tensor.value());
}
std::vector<float> ramp(size_t count, float from = -3.5f);

}  // namespace ingot::test
