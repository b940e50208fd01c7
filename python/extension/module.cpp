// SPDX-License-Identifier: Apache-2.0
// module.cpp - _ingot: what ingot/__init__.py and its neighbours stand on.
#include "python/extension/failure.h"
#include "python/extension/generator.h"
#include "python/extension/pipeline.h"
#include "python/extension/session.h"

namespace ingot::python {
namespace {

/// Elements at a multiple of 64 bytes, as ports that are bound need them; not initialized.
nb::object empty_array(nb::tuple shape, const char* dtype_name) {
  ingot_tensor tensor = {};
  tensor.dtype = dtype_of_name(dtype_name);
  if (tensor.dtype == INGOT_INVALID_DTYPE)
    throw Failure(INGOT_DTYPE_MISMATCH, "elements of a type that no model has", "", dtype_name);
  if (shape.size() > INGOT_MAX_RANK)
    throw Failure(INGOT_SHAPE_MISMATCH, "rank: at most", "", {}, INGOT_MAX_RANK, shape.size());
  tensor.rank = int32_t(shape.size());
  tensor.bytes = ingot_dtype_bytes(tensor.dtype);
  for (int i = 0; i < tensor.rank; i++) {
    tensor.dims[i] = nb::cast<int64_t>(shape[size_t(i)]);
    if (tensor.dims[i] < 0) throw nb::value_error("shape: an extent is negative");
    if (__builtin_mul_overflow(tensor.bytes, uint64_t(tensor.dims[i]), &tensor.bytes) ||
        tensor.bytes > uint64_t(PTRDIFF_MAX))
      throw Failure(INGOT_OUT_OF_MEMORY, "shape: more bytes than an address has");
  }
  tensor.row_stride = tensor.rank ? tensor.dims[tensor.rank - 1] : 0;
  Memory* made = nullptr;
  try {
    made = new Memory(size_t(tensor.bytes));
  } catch (const std::bad_alloc&) {
    PyErr_Format(PyExc_MemoryError, "empty: no %llu bytes for the array",
                 static_cast<unsigned long long>(tensor.bytes));
    throw nb::python_error();
  }
  const nb::object memory = nb::cast(made, nb::rv_policy::take_ownership);
  return array_over(memory, numpy_dtype(tensor.dtype), shape, tensor);
}

nb::list devices() {
  nb::list names;
  ingot_device device = INGOT_INIT(ingot_device);
  for (uint32_t i = 0; ingot_device_at(i, &device) == INGOT_OK; i++)
    names.append(nb::make_tuple(device.name, bool(device.exists), device.why));
  return names;
}

}  // namespace
}  // namespace ingot::python

NB_MODULE(_ingot, m) {
  using namespace ingot::python;
  nb::set_leak_warnings(false);  // what a program holds at its end is no leak
  translate_failures();
  bind_memory(m);
  bind_pool(m);
  bind_model(m);
  bind_session(m);
  bind_pipeline(m);
  bind_tokenizer(m);
  bind_generator(m);
  m.def("empty", empty_array, nb::arg("shape"), nb::arg("dtype"));
  m.def("devices", devices);
  m.def("version", &ingot_version);
  m.def("clock_ns", &ingot_clock_ns);
  m.attr("ALIGNMENT") = kPortAlignment;
  m.attr("BIND_PORTS") = int(INGOT_CALLER_BINDS_PORTS);
  m.attr("HUGE_PAGES") = int(INGOT_HUGE_PAGES);
  m.attr("LOCK_MEMORY") = int(INGOT_LOCK_MEMORY);
  m.attr("KEEP_VALUES") = int(INGOT_KEEP_VALUES);
  m.attr("PREFAULT") = int(INGOT_PREFAULT);
  m.attr("REBINDABLE") = int(INGOT_REBINDABLE);
  m.attr("STRICT") = int(INGOT_STRICT);
  m.attr("ASYNC") = int(INGOT_ASYNC);
}
