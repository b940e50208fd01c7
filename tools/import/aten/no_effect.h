// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/no_effect.h - arguments that a lowering need not read: what they say changes no
// number of an inference. Every other argument that a lowering leaves unread is refused where its
// value is not the operator's default.
#pragma once
#include <string>
#include <vector>

#include "tools/import/aten/schema.h"

namespace ingot::aten {

struct NoEffect {
  const char* op;  // "*": of every operator
  const char* argument;
  const char* reason;
};
const std::vector<NoEffect>& arguments_without_effect();

/// The reason why the argument changes nothing; null where it may.
const char* no_effect(const Schema& schema, const std::string& argument);

/// The value that says nothing: the operator's default, None, a dense layout.
bool is_neutral(const Parameter& parameter, const Value& value);

}  // namespace ingot::aten
