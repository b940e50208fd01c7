// SPDX-License-Identifier: Apache-2.0
// tools/text/json_schema.h - JSON schemas as grammars. What comes out satisfies the schema; not all
// that satisfies it comes out: members stand in the order of `properties`, an object that names
// some has no others unless `additionalProperties` says so, and white space is short. `oneOf` is
// taken as `anyOf`.
// Errors   host::Failure "WHERE: PATH: what": kMismatch, kUnsupported for a keyword that is not
//          known or a combination that is not.
#pragma once
#include <nlohmann/json.hpp>

#include "tools/text/grammar.h"

namespace ingot::grammar {

/// Adds rules; gives the one of the whole text.
uint32_t add_json_schema(const nlohmann::ordered_json& schema, Grammar* grammar);
std::vector<uint8_t> compile_json_schema(const nlohmann::ordered_json& schema,
                                         const std::string& where);
/// A file's or an argument's text. @throws Failure for one that is no JSON too
std::vector<uint8_t> compile_schema_text(std::string_view text, const std::string& where);

}  // namespace ingot::grammar
