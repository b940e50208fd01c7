// SPDX-License-Identifier: Apache-2.0
// tools/text/template_names.h - filters, tests, methods and functions of chat templates by their
// names, and what their arguments are called.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtime/format/template_codes.h"

namespace ingot::chat {

/// False where it is not known.
bool find_filter(std::string_view name, TemplateFilter* filter);
bool find_test(std::string_view name, TemplateTest* test);
bool find_method(std::string_view name, TemplateMethod* method);
bool find_built_in(std::string_view name, TemplateBuiltIn* function);

/// What Jinja2 or Python has by that name and Ingot has not: never an error of the template.
bool is_foreign_filter(std::string_view name);
bool is_foreign_test(std::string_view name);
bool is_foreign_method(std::string_view name);

/// In their order.
std::vector<std::string> arguments_of(TemplateFilter filter);
std::vector<std::string> arguments_of(TemplateMethod method);

}  // namespace ingot::chat
