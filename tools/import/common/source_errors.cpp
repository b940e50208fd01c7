// SPDX-License-Identifier: Apache-2.0
#include "tools/import/common/source_errors.h"

namespace ingot::importer {

std::string clean_line(std::string text) {
  constexpr size_t kLongest = 2000;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + " ...";
  for (char& c : text)
    if (uint8_t(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

void finish_error(const std::string& path, graph::ConversionError* error) {
  error->add_place(path);
  error->message = clean_line(error->message);
  for (graph::Unsupported& u : error->unsupported)
    for (std::string* text : {&u.op, &u.attribute, &u.node, &u.output, &u.why, &u.hint})
      *text = clean_line(*text);
}

}  // namespace ingot::importer
