// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/element_types.h - the protocol's names of element types.
#pragma once
#include <string_view>

#include "runtime/include/ingot/ingot.h"

namespace ingot::serve {

/// "FP32", "INT64", ...
const char* type_name(ingot_dtype dtype);
/// @param where what a refusal begins with. @throws ServeError of strings (BYTES), which no model
/// has, and of any other name
ingot_dtype type_of_input(std::string_view name, const std::string& where);

}  // namespace ingot::serve
