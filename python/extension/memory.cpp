// SPDX-License-Identifier: Apache-2.0
// memory.cpp - aligned bytes behind the buffer protocol.
#include "python/extension/memory.h"

#include <cstdlib>
#include <new>
#include <utility>

namespace ingot::python {
namespace {

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Memory* memory = nb::inst_ptr<Memory>(nb::handle(self));
  return PyBuffer_FillInfo(view, self, memory->data(), Py_ssize_t(memory->bytes()), /*readonly=*/0,
                           flags);
}

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

}  // namespace

Memory::Memory(size_t bytes, size_t alignment) : data_(nullptr), bytes_(bytes), is_own_(true) {
  if (posix_memalign(&data_, alignment, bytes ? bytes : 1) != 0) throw std::bad_alloc();
}

Memory::Memory(void* data, size_t bytes, std::shared_ptr<const void> owner)
    : data_(data), bytes_(bytes), is_own_(false), owner_(std::move(owner)) {}

Memory::~Memory() {
  if (is_own_) free(data_);
}

void bind_memory(nb::module_& m) {
  nb::class_<Memory>(m, "Memory", nb::type_slots(slots), nb::is_final(),
                     "Bytes at a multiple of 64, or a part of an arena: what arrays lie over.")
      .def(
          "__init__", [](Memory* self, size_t bytes) { new (self) Memory(bytes); },
          nb::arg("nbytes"))
      .def_prop_ro("nbytes", &Memory::bytes)
      .def_prop_ro("address", [](const Memory& memory) { return uintptr_t(memory.data()); });
}

}  // namespace ingot::python
