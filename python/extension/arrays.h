// SPDX-License-Identifier: Apache-2.0
// arrays.h - arrays of Python as ingot_tensors, and NumPy arrays over memory; nothing is copied.
#ifndef INGOT_PYTHON_ARRAYS_H_
#define INGOT_PYTHON_ARRAYS_H_

#include <ingot/ingot.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string_view>

#include "python/extension/memory.h"

namespace nb = nanobind;

namespace ingot::python {

enum class Access { kRead, kWrite };

/// The memory of an array that Python handed in, held from outside: through the buffer protocol
/// (NumPy, memoryview, bytes) or DLPack (torch, cupy, ...). While this lives the memory stays where
/// it is. Destroyed with the GIL held.
class HeldArray {
 public:
  HeldArray() = default;
  /// `port` is named by errors. Refuses what is no array (TypeError), element types that no model
  /// has, big-endian ones, memory that may not be written where it must be, and rows that do not
  /// lie behind each other: only the last dimension may be cut out of a longer row.
  /// `expected` is named where the element type is refused, and not compared otherwise.
  HeldArray(nb::handle object, std::string_view port, Access access,
            ingot_dtype expected = INGOT_INVALID_DTYPE);
  HeldArray(HeldArray&& other) noexcept;
  HeldArray& operator=(HeldArray&& other) noexcept;
  ~HeldArray() { release(); }

  const ingot_tensor& tensor() const { return tensor_; }
  bool on_device() const { return on_device_; }
  bool is_aligned() const { return (uintptr_t(tensor_.data) & (kPortAlignment - 1)) == 0; }
  nb::handle object() const { return object_; }
  void release();

 private:
  void read_buffer(std::string_view port, Access access, ingot_dtype expected);
  void read_dlpack(nb::handle object, std::string_view port, ingot_dtype expected);
  void set_strides(const int64_t* strides_bytes, int64_t item_bytes, std::string_view port);

  nb::object object_;
  Py_buffer view_ = {};
  bool has_view_ = false;
  nb::ndarray<nb::ro> dlpack_;
  ingot_tensor tensor_ = {};
  bool on_device_ = false;
};

/// numpy.dtype of a model's element type; bf16 needs ml_dtypes, a Failure says so.
nb::object numpy_dtype(ingot_dtype dtype);
/// "float32", ...: the name that NumPy and ml_dtypes have.
const char* numpy_name(ingot_dtype dtype);
/// The reverse; INGOT_INVALID_DTYPE for anything else.
ingot_dtype dtype_of_name(std::string_view name);

nb::tuple shape_of(const ingot_tensor& tensor);
/// A NumPy array over memory that has the bytes of `tensor` at its start.
nb::object array_over(nb::handle memory, nb::handle dtype, nb::handle shape,
                      const ingot_tensor& tensor);
/// The same over a part of what `owner` keeps.
nb::object array_of(const ingot_tensor& tensor, std::shared_ptr<const void> owner);

}  // namespace ingot::python

#endif  // INGOT_PYTHON_ARRAYS_H_
