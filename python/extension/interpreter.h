// SPDX-License-Identifier: Apache-2.0
// interpreter.h - what is asked of the interpreter: its lock, and text of its strings.
#ifndef INGOT_PYTHON_INTERPRETER_H_
#define INGOT_PYTHON_INTERPRETER_H_

#include <nanobind/nanobind.h>

#include <string>

namespace nb = nanobind;

namespace ingot::python {

/// Lets other threads have the interpreter while this lives. If the process ends meanwhile, a
/// daemon thread stays in the destructor: the interpreter would end it through frames of C++, which
/// ends the process with abort().
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked();

 private:
  PyThreadState* state_;
};

/// Text of a str for the C interface. Refuses what is no str (TypeError), what UTF-8 does not have,
/// and a NUL, behind which C would not look (ValueError).
std::string text_of(nb::handle given, const char* argument);

}  // namespace ingot::python

#endif  // INGOT_PYTHON_INTERPRETER_H_
