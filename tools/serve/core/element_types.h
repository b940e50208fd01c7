// tools/serve/core/element_types.h - the protocol's names of element types.
#pragma once
#include <string_view>

#include "runtime/include/ingot/ingot.h"

namespace ingot::serve {

/// "FP32", "INT64", ...
const char* type_name(ingot_dtype dtype);
/// INGOT_INVALID_DTYPE for any other name, BYTES among them: no model has strings.
ingot_dtype type_of_name(std::string_view name);

}  // namespace ingot::serve
