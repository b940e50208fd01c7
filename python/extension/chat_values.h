// SPDX-License-Identifier: Apache-2.0
// chat_values.h - objects of Python as a chat template takes them.
#ifndef INGOT_PYTHON_CHAT_VALUES_H_
#define INGOT_PYTHON_CHAT_VALUES_H_

#include <ingot/text.h>
#include <nanobind/nanobind.h>

#include <deque>
#include <string_view>
#include <vector>

namespace nb = nanobind;

namespace ingot::python {

/// UTF-8 of a str, which may have a NUL. Refuses what is no str (TypeError), and what UTF-8 does
/// not have (ValueError). It lies in the str.
std::string_view utf8_of(nb::handle text, const char* argument);

/// None, bool, int, float, str, lists, tuples and dicts, in each other; anything else is a
/// TypeError. Texts lie where Python has them, and are held: another thread may change the lists.
class ChatValues {
 public:
  explicit ChatValues(nb::dict variables) : root_(value(variables, 0)) {}
  const ingot_value& root() const { return root_; }

 private:
  ingot_value value(nb::handle from, int depth);
  ingot_value list(nb::handle from, int depth);
  ingot_value dict(nb::dict from, int depth);
  ingot_value gathered(ingot_value_kind kind, std::vector<ingot_value> items, size_t count);

  std::deque<std::vector<ingot_value>> items_;  // which do not move
  std::vector<nb::object> held_;
  ingot_value root_;
};

}  // namespace ingot::python

#endif  // INGOT_PYTHON_CHAT_VALUES_H_
