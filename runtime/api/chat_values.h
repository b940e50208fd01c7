// SPDX-License-Identifier: Apache-2.0
// runtime/api/chat_values.h - messages and variables as a template has them.
// Errors   kInvalidArgument (a null, a kind that there is not, a key that is no text),
//          kLimitExceeded (depth).
#pragma once
#include "ingot/text.h"
#include "runtime/text/template.h"

namespace ingot::api {

/// Checks them, and gives the bytes that make_chat_values() takes, a multiple of 16.
Status measure_chat_values(const ingot_chat_options& options, uint64_t* bytes, ErrorDetail* detail);
/// The inputs of a template, in 16-byte aligned memory. Texts lie where the caller has them.
/// @pre measure_chat_values()
Span<const text::ValuePair> make_chat_values(const ingot_chat_options& options, uint8_t* memory);

}  // namespace ingot::api
