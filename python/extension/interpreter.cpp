// SPDX-License-Identifier: Apache-2.0
// interpreter.cpp - the interpreter's lock, where the process may end meanwhile; strings.
#include "python/extension/interpreter.h"

#include <unistd.h>

#include <cstring>
#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

namespace ingot::python {

Unlocked::~Unlocked() {
#ifdef __GLIBCXX__
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) {  // pthread_exit(), which may not be caught and left
    for (;;) pause();
  }
#else
  PyEval_RestoreThread(state_);
#endif
}

std::string text_of(nb::handle given, const char* argument) {
  if (!PyUnicode_Check(given.ptr())) {
    const std::string text =
        std::string(argument) + ": expected a str, found " + nb::inst_name(given).c_str();
    throw nb::type_error(text.c_str());
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
  const bool is_utf8 = text != nullptr;
  if (!is_utf8) PyErr_Clear();
  if (!is_utf8 || std::strlen(text) != size_t(size)) {
    const std::string refused = std::string(argument) +
                                (is_utf8 ? ": a NUL in " : ": not to be had in UTF-8: ") +
                                nb::repr(given).c_str();
    throw nb::value_error(refused.c_str());
  }
  return std::string(text, size_t(size));
}

}  // namespace ingot::python
