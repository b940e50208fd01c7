// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/expression_text.cpp - names and types as they are written.
#include "tools/import/torchscript/parse.h"

namespace ingot::torchscript {

std::string dotted(const File& file, ExpressionId id) {
  std::string out;
  for (;;) {
    const Expression& e = file.at(id);
    const bool attribute = e.kind == ExpressionKind::kAttribute;
    if (!attribute && e.kind != ExpressionKind::kName) return "";
    out = out.empty() ? file.text(e) : file.text(e) + "." + out;
    if (!attribute) return out;
    id = file.item(e, 0);
  }
}

std::string type_text(const File& file, ExpressionId id) {
  if (id == kNone) return "Tensor";
  const Expression& e = file.at(id);
  if (e.kind == ExpressionKind::kNothing) return "None";
  if (e.kind == ExpressionKind::kIndex)
    return type_text(file, file.item(e, 0)) + "[" + type_text(file, file.item(e, 1)) + "]";
  if (e.kind == ExpressionKind::kTuple || e.kind == ExpressionKind::kList) {
    std::string out;
    for (uint32_t i = 0; i < e.count; i++)
      out += (i ? ", " : "") + type_text(file, file.item(e, i));
    return out;
  }
  return dotted(file, id);
}

}  // namespace ingot::torchscript
