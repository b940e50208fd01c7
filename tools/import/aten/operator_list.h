// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/operator_list.h - the table of operators for people.
#pragma once
#include <string>

namespace ingot::aten {

/// One line for each operator with its overloads: the whole page of `ingot operators --torch`.
std::string operators_page();

}  // namespace ingot::aten
