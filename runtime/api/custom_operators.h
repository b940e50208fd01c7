// runtime/api/custom_operators.h - between ingot_custom_operator and the rules of runtime/op.
#pragma once
#include "ingot/ingot.h"
#include "runtime/op/custom.h"

namespace ingot::api {

/// Rules of ingot_custom_operator; their list is one of pointers to such.
extern const CustomRules kHandedInOperators;

/// Null, or why the list cannot be used: a static sentence about ingot_open_options.operators.
const char* why_not_operators(const ingot_custom_operator* const* list, size_t count);

}  // namespace ingot::api
