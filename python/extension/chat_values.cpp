// SPDX-License-Identifier: Apache-2.0
#include "python/extension/chat_values.h"

#include <string>

#include "python/extension/failure.h"

namespace ingot::python {
namespace {

constexpr int kMaxDepth = 64;  // as templates have it; a list may be in itself
constexpr const char* kArgument = "chat template";

}  // namespace

std::string_view utf8_of(nb::handle given, const char* argument) {
  if (!PyUnicode_Check(given.ptr())) {
    const std::string text =
        std::string(argument) + ": expected a str, found " + nb::inst_name(given).c_str();
    throw nb::type_error(text.c_str());
  }
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(given.ptr(), &size);
  if (!text) {
    PyErr_Clear();
    const std::string refused =
        std::string(argument) + ": not to be had in UTF-8: " + nb::repr(given).c_str();
    throw nb::value_error(refused.c_str());
  }
  return {text, size_t(size)};
}

ingot_value ChatValues::gathered(ingot_value_kind kind, std::vector<ingot_value> items,
                                 size_t count) {
  if (count > UINT32_MAX)
    throw Failure(INGOT_LIMIT_EXCEEDED, "values of a list", "", {}, UINT32_MAX, count);
  items_.push_back(std::move(items));
  ingot_value made = {};
  made.kind = kind;
  made.count = uint32_t(count);
  made.as.items = items_.back().data();
  return made;
}

ingot_value ChatValues::list(nb::handle from, int depth) {
  std::vector<ingot_value> items;
  for (nb::handle item : nb::borrow(from)) items.push_back(value(item, depth + 1));
  const size_t count = items.size();
  return gathered(INGOT_VALUE_LIST, std::move(items), count);
}

ingot_value ChatValues::dict(nb::dict from, int depth) {
  std::vector<ingot_value> items;
  for (auto [key, item] : from) {
    if (!nb::isinstance<nb::str>(key))
      throw nb::type_error("chat template: a key of a dict is a str");
    items.push_back(value(key, depth + 1));
    items.push_back(value(item, depth + 1));
  }
  const size_t count = items.size() / 2;
  return gathered(INGOT_VALUE_DICT, std::move(items), count);
}

ingot_value ChatValues::value(nb::handle from, int depth) {
  if (depth > kMaxDepth)
    throw Failure(INGOT_LIMIT_EXCEEDED, "values in each other", "", {}, kMaxDepth, uint64_t(depth));
  ingot_value made = {};
  if (from.is_none()) {
    made.kind = INGOT_VALUE_NONE;
  } else if (nb::isinstance<nb::bool_>(from)) {
    made.kind = INGOT_VALUE_BOOLEAN;
    made.as.integer = from.is(Py_True);
  } else if (nb::isinstance<nb::int_>(from)) {
    made.kind = INGOT_VALUE_INTEGER;
    if (!nb::try_cast(from, made.as.integer))
      throw nb::value_error("chat template: a whole number beyond 64 bits");
  } else if (nb::isinstance<nb::float_>(from)) {
    made.kind = INGOT_VALUE_FLOAT;
    made.as.number = nb::cast<double>(from);
  } else if (nb::isinstance<nb::str>(from)) {
    const std::string_view text = utf8_of(from, kArgument);
    if (text.size() > UINT32_MAX)
      throw Failure(INGOT_LIMIT_EXCEEDED, "bytes of a text", "", {}, UINT32_MAX, text.size());
    made.kind = INGOT_VALUE_TEXT;
    made.count = uint32_t(text.size());
    made.as.text = text.data();
    held_.push_back(nb::borrow(from));
  } else if (nb::isinstance<nb::list>(from) || nb::isinstance<nb::tuple>(from)) {
    return list(from, depth);
  } else if (nb::isinstance<nb::dict>(from)) {
    return dict(nb::borrow<nb::dict>(from), depth);
  } else {
    const std::string text =
        std::string("chat template: expected what JSON has, found ") + nb::inst_name(from).c_str();
    throw nb::type_error(text.c_str());
  }
  return made;
}

}  // namespace ingot::python
