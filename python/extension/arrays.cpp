// SPDX-License-Identifier: Apache-2.0
// arrays.cpp - the buffer protocol and DLPack in, NumPy out.
#include "python/extension/arrays.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "python/extension/failure.h"

namespace ingot::python {
namespace {

enum class Kind { kFloat, kSigned, kUnsigned, kBool, kBrainFloat };

struct ElementType {
  ingot_dtype dtype;
  const char* numpy;
  Kind kind;
  int bytes;
};
constexpr ElementType kElementTypes[] = {
    {INGOT_F32, "float32", Kind::kFloat, 4}, {INGOT_F16, "float16", Kind::kFloat, 2},
    {INGOT_F64, "float64", Kind::kFloat, 8}, {INGOT_BF16, "bfloat16", Kind::kBrainFloat, 2},
    {INGOT_I8, "int8", Kind::kSigned, 1},    {INGOT_U8, "uint8", Kind::kUnsigned, 1},
    {INGOT_I16, "int16", Kind::kSigned, 2},  {INGOT_U16, "uint16", Kind::kUnsigned, 2},
    {INGOT_I32, "int32", Kind::kSigned, 4},  {INGOT_U32, "uint32", Kind::kUnsigned, 4},
    {INGOT_I64, "int64", Kind::kSigned, 8},  {INGOT_U64, "uint64", Kind::kUnsigned, 8},
    {INGOT_BOOL, "bool", Kind::kBool, 1}};

ingot_dtype find_dtype(Kind kind, int64_t bytes) {
  for (const ElementType& type : kElementTypes)
    if (type.kind == kind && type.bytes == bytes) return type.dtype;
  return INGOT_INVALID_DTYPE;
}

/// What an array is of, in the words of its own library: "complex128", ">f4".
std::string elements_of(nb::handle array) {
  if (!nb::hasattr(array, "dtype")) return "others";
  const nb::object dtype = array.attr("dtype");
  const bool is_native = !nb::hasattr(dtype, "isnative") || nb::cast<bool>(dtype.attr("isnative"));
  return nb::str(is_native && nb::hasattr(dtype, "name") ? nb::object(dtype.attr("name")) : dtype)
      .c_str();
}

[[noreturn]] void refuse_elements(nb::handle array, std::string_view port, const char* field,
                                  ingot_dtype expected) {
  Failure failure(INGOT_DTYPE_MISMATCH, field, "see numpy.ndarray.astype()", port);
  const std::string found = elements_of(array);
  if (expected != INGOT_INVALID_DTYPE)
    failure.add(std::string("expected ").append(numpy_name(expected)).append(", found ") + found);
  else
    failure.add("found " + found);
  throw failure;
}

constexpr const char* kUnknownElements = "elements of a type that no model has";

/// Formats of the other byte order, which bytes alone do not have.
bool is_swapped(const char* format, Py_ssize_t item_bytes) {
  constexpr bool is_little = std::endian::native == std::endian::little;
  return format && item_bytes > 1 &&
         (is_little ? *format == '>' || *format == '!' : *format == '<');
}

/// Of a format of the struct module: one letter, with its byte order before it.
ingot_dtype dtype_of_format(const char* format, Py_ssize_t item_bytes) {
  if (!format) return INGOT_U8;
  if (std::strchr("@=<>!", *format)) format++;
  if (!format[0] || format[1]) return INGOT_INVALID_DTYPE;
  if (std::strchr("efd", *format)) return find_dtype(Kind::kFloat, item_bytes);
  if (std::strchr("bhilqn", *format)) return find_dtype(Kind::kSigned, item_bytes);
  if (std::strchr("BHILQN", *format)) return find_dtype(Kind::kUnsigned, item_bytes);
  return *format == '?' ? ingot_dtype{INGOT_BOOL} : ingot_dtype{INGOT_INVALID_DTYPE};
}

ingot_dtype dtype_of_dlpack(nb::dlpack::dtype type) {
  using nb::dlpack::dtype_code;
  if (type.lanes != 1) return INGOT_INVALID_DTYPE;
  const int64_t bytes = type.bits / 8;
  switch (dtype_code(type.code)) {
    case dtype_code::Float: return find_dtype(Kind::kFloat, bytes);
    case dtype_code::Int: return find_dtype(Kind::kSigned, bytes);
    case dtype_code::UInt: return find_dtype(Kind::kUnsigned, bytes);
    case dtype_code::Bool: return find_dtype(Kind::kBool, bytes);
    case dtype_code::Bfloat: return find_dtype(Kind::kBrainFloat, bytes);
    default: return INGOT_INVALID_DTYPE;
  }
}

/// Elements that the buffer protocol has no letter for: bfloat16 of ml_dtypes.
bool is_brain_float(nb::handle object) {
  return nb::hasattr(object, "dtype") && nb::str(object.attr("dtype")).equal(nb::str("bfloat16"));
}

/// The capsule of __dlpack__(). Refuses what is none, and one that was taken before.
nb::object dlpack_of(nb::handle object, std::string_view port) {
  const nb::object capsule = object.attr("__dlpack__")();
  const bool is_capsule = PyCapsule_CheckExact(capsule.ptr());
  const char* name = is_capsule ? PyCapsule_GetName(capsule.ptr()) : nullptr;
  const std::string_view known = name ? name : "";
  if (known == "dltensor" || known == "dltensor_versioned") return capsule;
  const bool is_used = known.substr(0, 5) == "used_";
  std::string text;
  text.append("'").append(port).append("': __dlpack__() gave ");
  if (!is_capsule)
    text.append(nb::inst_name(capsule).c_str());
  else
    text.append("the capsule '").append(known).append("'");
  text.append(is_used ? ", which was taken before: it gives a new one at each call"
                      : ", expected a capsule 'dltensor' or 'dltensor_versioned'");
  if (is_used) throw nb::value_error(text.c_str());
  throw nb::type_error(text.c_str());
}

}  // namespace

HeldArray::HeldArray(nb::handle object, std::string_view port, Access access, ingot_dtype expected)
    : object_(nb::borrow(object)) {
  if (PyObject_CheckBuffer(object.ptr())) {
    read_buffer(port, access, expected);
  } else if (nb::hasattr(object, "__dlpack__")) {
    read_dlpack(object, port, expected);
  } else {
    const std::string text = "'" + std::string(port) +
                             "': expected an array (NumPy, DLPack or the buffer protocol), found " +
                             nb::inst_name(object).c_str();
    throw nb::type_error(text.c_str());
  }
}

HeldArray::HeldArray(HeldArray&& other) noexcept { *this = std::move(other); }

HeldArray& HeldArray::operator=(HeldArray&& other) noexcept {
  if (this == &other) return *this;
  release();
  object_ = std::move(other.object_);
  view_ = other.view_;
  has_view_ = std::exchange(other.has_view_, false);
  dlpack_ = std::move(other.dlpack_);
  tensor_ = std::exchange(other.tensor_, {});
  on_device_ = std::exchange(other.on_device_, false);
  return *this;
}

void HeldArray::release() {
  if (std::exchange(has_view_, false)) PyBuffer_Release(&view_);
  dlpack_ = {};
  object_.reset();
  tensor_ = {};
  on_device_ = false;
}

void HeldArray::read_buffer(std::string_view port, Access access, ingot_dtype expected) {
  bool brain_float = false;
  has_view_ = PyObject_GetBuffer(object_.ptr(), &view_, PyBUF_RECORDS_RO) == 0;
  if (!has_view_) {
    PyErr_Clear();
    brain_float = is_brain_float(object_);
    if (brain_float) {
      const nb::object shown = object_.attr("view")("uint16");
      has_view_ = PyObject_GetBuffer(shown.ptr(), &view_, PyBUF_RECORDS_RO) == 0;
    }
    if (!has_view_) {
      PyErr_Clear();
      refuse_elements(object_, port, kUnknownElements, expected);
    }
  }
  if (access == Access::kWrite && view_.readonly)
    throw Failure(INGOT_INVALID_ARGUMENT, "the array is read-only", "results are written into it",
                  port);
  if (view_.ndim > INGOT_MAX_RANK)
    throw Failure(INGOT_SHAPE_MISMATCH, "tensor.rank: at most", "", port, INGOT_MAX_RANK,
                  uint64_t(view_.ndim));
  if (is_swapped(view_.format, view_.itemsize))
    refuse_elements(object_, port, "elements of the other byte order", expected);
  tensor_.dtype =
      brain_float ? ingot_dtype{INGOT_BF16} : dtype_of_format(view_.format, view_.itemsize);
  if (tensor_.dtype == INGOT_INVALID_DTYPE)
    refuse_elements(object_, port, kUnknownElements, expected);
  tensor_.data = view_.buf;
  tensor_.bytes = uint64_t(view_.len);
  tensor_.rank = view_.ndim;
  int64_t strides[INGOT_MAX_RANK];
  for (int i = 0; i < view_.ndim; i++) {
    tensor_.dims[i] = view_.shape[i];
    strides[i] = view_.strides[i];
  }
  set_strides(strides, view_.itemsize, port);
}

void HeldArray::read_dlpack(nb::handle object, std::string_view port, ingot_dtype expected) {
  // A device's memory is ready once its stream got so far: the default one is waited for.
  const nb::object capsule = dlpack_of(object, port);
  if (!nb::try_cast(capsule, dlpack_)) {
    const std::string text =
        "'" + std::string(port) + "': the capsule of __dlpack__() cannot be read";
    throw nb::type_error(text.c_str());
  }
  if (dlpack_.ndim() > INGOT_MAX_RANK)
    throw Failure(INGOT_SHAPE_MISMATCH, "tensor.rank: at most", "", port, INGOT_MAX_RANK,
                  dlpack_.ndim());
  tensor_.dtype = dtype_of_dlpack(dlpack_.dtype());
  if (tensor_.dtype == INGOT_INVALID_DTYPE)
    refuse_elements(object_, port, kUnknownElements, expected);
  const int device = dlpack_.device_type();
  on_device_ = device != nb::device::cpu::value && device != nb::device::cuda_host::value;
  if (on_device_ && device != nb::device::cuda::value)
    throw Failure(INGOT_NO_SUCH_DEVICE, "memory of a device that is neither cpu nor cuda", "",
                  port);
  tensor_.data = const_cast<void*>(dlpack_.data());
  tensor_.bytes = dlpack_.nbytes();
  tensor_.rank = int32_t(dlpack_.ndim());
  const int64_t item_bytes = int64_t(ingot_dtype_bytes(tensor_.dtype));
  int64_t strides[INGOT_MAX_RANK];
  for (int i = 0; i < tensor_.rank; i++) {
    tensor_.dims[i] = int64_t(dlpack_.shape(size_t(i)));
    strides[i] = dlpack_.stride(size_t(i)) * item_bytes;
  }
  set_strides(strides, item_bytes, port);
}

void HeldArray::set_strides(const int64_t* strides, int64_t item_bytes, std::string_view port) {
  const int rank = tensor_.rank;
  tensor_.row_stride = rank ? tensor_.dims[rank - 1] : 0;
  for (int i = 0; i < rank; i++)
    if (tensor_.dims[i] == 0) return;
  int64_t expected = item_bytes;  // of a step along the dimension
  for (int i = rank - 1; i >= 0; i--) {
    // Which dimension says how far rows are apart: the last one before the row of more than one.
    const bool is_rows = i < rank - 1 && expected == item_bytes * tensor_.dims[rank - 1] &&
                         tensor_.row_stride == tensor_.dims[rank - 1];
    if (tensor_.dims[i] > 1 && strides[i] != expected) {
      if (!is_rows || strides[i] < expected || strides[i] % item_bytes != 0)
        throw Failure(INGOT_SHAPE_MISMATCH, "order: bytes between neighbours of a dimension",
                      "numpy.ascontiguousarray() makes a copy in row-major order", port,
                      uint64_t(expected), uint64_t(strides[i]));
      tensor_.row_stride = strides[i] / item_bytes;
      expected = strides[i];
      const uint64_t rows = tensor_.bytes / uint64_t(item_bytes * tensor_.dims[rank - 1]);
      tensor_.bytes = uint64_t(item_bytes) * (uint64_t(tensor_.row_stride) * (rows - 1) +
                                              uint64_t(tensor_.dims[rank - 1]));
    }
    expected *= tensor_.dims[i];
  }
}

nb::object numpy_dtype(ingot_dtype dtype) {
  static nb::object* made[INGOT_BOOL + 1];  // live as long as the interpreter
  if (dtype <= 0 || dtype > INGOT_BOOL)
    throw Failure(INGOT_INTERNAL, "an element type that NumPy has no name for");
  if (!made[dtype]) {
    nb::object of = nb::str(numpy_name(dtype));
    if (dtype == INGOT_BF16) {
      try {
        of = nb::module_::import_("ml_dtypes").attr("bfloat16");
      } catch (nb::python_error&) {
        throw Failure(INGOT_DTYPE_MISMATCH, "NumPy has no bfloat16", "install ml_dtypes");
      }
    }
    made[dtype] = new nb::object(nb::module_::import_("numpy").attr("dtype")(of));
  }
  return *made[dtype];
}

const char* numpy_name(ingot_dtype dtype) {
  for (const ElementType& type : kElementTypes)
    if (type.dtype == dtype) return type.numpy;
  return "invalid";
}

ingot_dtype dtype_of_name(std::string_view name) {
  for (const ElementType& type : kElementTypes)
    if (name == type.numpy) return type.dtype;
  return INGOT_INVALID_DTYPE;
}

nb::tuple shape_of(const ingot_tensor& tensor) {
  nb::list dims;
  for (int i = 0; i < tensor.rank; i++) dims.append(tensor.dims[i]);
  return nb::tuple(dims);
}

nb::object array_over(nb::handle memory, nb::handle dtype, nb::handle shape,
                      const ingot_tensor& tensor) {
  static PyObject* ndarray =
      nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  const bool is_dense = tensor.rank < 2 || tensor.row_stride == tensor.dims[tensor.rank - 1];
  PyObject* arguments[] = {shape.ptr(), dtype.ptr(), memory.ptr(), nullptr, nullptr};
  size_t count = 3;
  nb::object offset, strides;
  if (!is_dense) {
    nb::list bytes;
    int64_t step = tensor.row_stride * int64_t(ingot_dtype_bytes(tensor.dtype));
    bytes.append(int64_t(ingot_dtype_bytes(tensor.dtype)));
    for (int i = tensor.rank - 2; i >= 0; step *= tensor.dims[i], i--) bytes.insert(0, step);
    offset = nb::int_(0);
    strides = nb::tuple(bytes);
    arguments[3] = offset.ptr();
    arguments[4] = strides.ptr();
    count = 5;
  }
  PyObject* array = PyObject_Vectorcall(ndarray, arguments, count, nullptr);
  if (!array) throw nb::python_error();
  return nb::steal(array);
}

nb::object array_of(const ingot_tensor& tensor, std::shared_ptr<const void> owner) {
  const nb::object memory =
      nb::cast(new Memory(tensor.data, size_t(tensor.bytes), std::move(owner)),
               nb::rv_policy::take_ownership);
  return array_over(memory, numpy_dtype(tensor.dtype), shape_of(tensor), tensor);
}

}  // namespace ingot::python
