// tools/import/aten/operator_list.h - the table of operators for people.
#pragma once
#include <string>

namespace ingot::aten {

/// One line for each operator with its overloads, as `ingot operators --torch` prints them: the whole
/// page.
std::string operators_page();

}  // namespace ingot::aten
