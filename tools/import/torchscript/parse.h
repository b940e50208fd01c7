// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/parse.h - the text of one code file to its syntax, in linear time and
// bounded depth. Types are expressions that nobody evaluates.
#pragma once
#include <string>
#include <string_view>

#include "tools/import/torchscript/syntax.h"

namespace ingot::torchscript {

constexpr size_t kMaxCode = size_t{16} << 20;  // bytes of one file
constexpr int kMaxHeight = 250;                // of an expression's tree, and of blocks in blocks

/// `name` begins every message: "net.pt: code/__torch__.py".
/// @throws graph::ConversionError(kCorrupt) with name:line for what is not the language;
/// kUnsupported for a complex number.
File parse_file(std::string_view source, const std::string& name);

}  // namespace ingot::torchscript
