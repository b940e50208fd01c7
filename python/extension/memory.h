// SPDX-License-Identifier: Apache-2.0
// memory.h - bytes that NumPy arrays lie over: own ones, or a part of a session's arena.
#ifndef INGOT_PYTHON_MEMORY_H_
#define INGOT_PYTHON_MEMORY_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>

namespace nb = nanobind;

namespace ingot::python {

constexpr size_t kPortAlignment = 64;  // of memory that a port is bound to

/// Offers its bytes through the buffer protocol. An array over it keeps it alive, and with it what
/// it is a part of.
class Memory {
 public:
  /// Own bytes, at a multiple of `alignment`, not initialized. Throws std::bad_alloc.
  explicit Memory(size_t bytes, size_t alignment = kPortAlignment);
  /// Bytes of `owner`.
  Memory(void* data, size_t bytes, std::shared_ptr<const void> owner);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_;
  size_t bytes_;
  bool is_own_;
  std::shared_ptr<const void> owner_;
};

void bind_memory(nb::module_& m);

}  // namespace ingot::python

#endif  // INGOT_PYTHON_MEMORY_H_
