// SPDX-License-Identifier: Apache-2.0
// failure.h - a failure of the C interface, thrown as the Python exception with its numbers.
#ifndef INGOT_PYTHON_FAILURE_H_
#define INGOT_PYTHON_FAILURE_H_

#include <ingot/ingot.h>
#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace nb = nanobind;

namespace ingot::python {

/// Becomes an ingot.Error of the class that ingot/_errors.py has for its code.
class Failure {
 public:
  /// Fields of C's options are arguments in Python: "options.threads" is `threads`.
  explicit Failure(const ingot_error& error);
  /// A refusal of the extension's own. `field` and `hint` are static, as in ingot_error; `name` is
  /// cut where an ingot_error has no room.
  Failure(ingot_code code, const char* field, const char* hint = "", std::string_view name = {},
          uint64_t need = 0, uint64_t have = 0);
  /// Words behind the text of the numbers, where they alone do not help.
  void add(const std::string& more) { more_ += "; " + more; }
  /// What a name that was not found could have been.
  void add_names(const std::vector<std::string>& names);
  ingot_code code() const { return error_.code; }
  const char* name() const { return error_.name; }
  void set_hint(const char* hint) { error_.hint = hint; }
  /// Sets the Python exception. @pre the GIL is held
  void raise() const;

 private:
  ingot_error error_;
  std::string more_;
};

inline void check(ingot_code code, const ingot_error& error) {
  if (code != INGOT_OK) throw Failure(error);
}
/// Of calls that give a code alone.
inline void check(ingot_code code, const char* field) {
  if (code != INGOT_OK) throw Failure(code, field);
}

void translate_failures();

}  // namespace ingot::python

#endif  // INGOT_PYTHON_FAILURE_H_
