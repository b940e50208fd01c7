// SPDX-License-Identifier: Apache-2.0
// failure.cpp - from the numbers of an ingot_error to the exception's attributes.
#include "python/extension/failure.h"

namespace ingot::python {
namespace {

/// Names of files need not be UTF-8, and a name may be cut within a letter.
nb::object readable(std::string_view text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), Py_ssize_t(text.size()), "backslashreplace"));
}

}  // namespace

Failure::Failure(const ingot_error& error) : error_(error) {
  constexpr std::string_view kOptions = "options.";
  if (error_.field && std::string_view(error_.field).substr(0, kOptions.size()) == kOptions)
    error_.field += kOptions.size();
}

Failure::Failure(ingot_code code, const char* field, const char* hint, std::string_view name,
                 uint64_t need, uint64_t have)
    : error_() {
  error_.code = code;
  error_.instruction = INGOT_NO_INSTRUCTION;
  error_.need = need;
  error_.have = have;
  error_.operand = -1;
  error_.field = field;
  error_.hint = hint;
  name.copy(error_.name, sizeof error_.name - 1);
}

void Failure::add_names(const std::vector<std::string>& names) {
  std::string all = names.empty() ? "there are none" : "there are: ";
  for (const std::string& name : names) all += (&name == names.data() ? "'" : ", '") + name + "'";
  add(all);
}

void Failure::raise() const {
  std::string text(ingot_error_text(&error_, nullptr, 0), '\0');
  ingot_error_text(&error_, text.data(), text.size() + 1);
  const auto word = [](const char* w) { return w ? w : ""; };
  try {
    nb::object exception =
        nb::module_::import_("ingot._errors")
            .attr("from_numbers")(readable(text + more_), int(error_.code),
                                  ingot_code_name(error_.code),
                                  error_.instruction == INGOT_NO_INSTRUCTION
                                      ? nb::object(nb::none())
                                      : nb::object(nb::int_(error_.instruction)),
                                  error_.need, error_.have, error_.offset, error_.operand,
                                  word(error_.field), word(error_.hint), readable(error_.name));
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
  } catch (nb::python_error& error) {
    error.restore();
  }
}

void translate_failures() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      failure.raise();
    }
  });
}

}  // namespace ingot::python
