// SPDX-License-Identifier: Apache-2.0
#include "tools/text/template_names.h"

#include <iterator>

namespace ingot::chat {
namespace {

#define INGOT_NAME(name, text) text,
constexpr std::string_view kFilters[] = {INGOT_TEMPLATE_FILTERS(INGOT_NAME)};
constexpr std::string_view kTests[] = {INGOT_TEMPLATE_TESTS(INGOT_NAME)};
constexpr std::string_view kMethods[] = {INGOT_TEMPLATE_METHODS(INGOT_NAME)};
constexpr std::string_view kBuiltIns[] = {INGOT_TEMPLATE_FUNCTIONS(INGOT_NAME)};
#undef INGOT_NAME

constexpr std::string_view kForeignFilters =
    " attr batch center e escape filesizeformat forceescape format groupby pprint random round "
    "slice "
    "striptags truncate urlencode urlize wordcount wordwrap xmlattr ";
constexpr std::string_view kForeignTests = " escaped filter lower sameas test upper ";
// Those that change their object are none: Jinja2's sandbox makes an error of the call.
constexpr std::string_view kForeignMethods =
    " bit_length casefold center changed copy encode expandtabs format_map fromkeys is_integer "
    "isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace "
    "istitle isupper ljust maketrans partition rfind rindex rjust rpartition splitlines swapcase "
    "translate zfill ";

struct Alias {
  std::string_view name, stands_for;
};
constexpr Alias kFilterAliases[] = {{"count", "length"}, {"d", "default"}};
constexpr Alias kTestAliases[] = {
    {"==", "eq"}, {"equalto", "eq"}, {"!=", "ne"}, {"<", "lt"},           {"lessthan", "lt"},
    {"<=", "le"}, {">", "gt"},       {">=", "ge"}, {"greaterthan", "gt"},
};

template <class T, size_t N>
bool find(const std::string_view (&names)[N], std::string_view name, T* out) {
  for (size_t i = 0; i < N; i++)
    if (names[i] == name) return *out = T(i), true;
  return false;
}
bool has(std::string_view words, std::string_view name) {
  return words.find(" " + std::string(name) + " ") != words.npos;
}
template <size_t N>
std::string_view spelled_out(const Alias (&aliases)[N], std::string_view name) {
  for (const Alias& alias : aliases)
    if (alias.name == name) return alias.stands_for;
  return name;
}

}  // namespace

bool find_filter(std::string_view name, TemplateFilter* filter) {
  return find(kFilters, spelled_out(kFilterAliases, name), filter);
}
bool find_test(std::string_view name, TemplateTest* test) {
  return find(kTests, spelled_out(kTestAliases, name), test);
}
bool find_method(std::string_view name, TemplateMethod* method) {
  return find(kMethods, name, method);
}
bool find_built_in(std::string_view name, TemplateBuiltIn* function) {
  return find(kBuiltIns, name, function);
}

bool is_foreign_filter(std::string_view name) { return has(kForeignFilters, name); }
bool is_foreign_test(std::string_view name) { return has(kForeignTests, name); }
bool is_foreign_method(std::string_view name) { return has(kForeignMethods, name); }

std::vector<std::string> arguments_of(TemplateFilter filter) {
  switch (filter) {
    case TemplateFilter::kTrim: return {"chars"};
    case TemplateFilter::kToJson: return {"ensure_ascii", "indent", "separators", "sort_keys"};
    case TemplateFilter::kJoin: return {"d", "attribute"};
    case TemplateFilter::kDefault: return {"default_value", "boolean"};
    case TemplateFilter::kReplace: return {"old", "new", "count"};
    case TemplateFilter::kIndent: return {"width", "first", "blank"};
    case TemplateFilter::kDictSort: return {"case_sensitive", "by", "reverse"};
    case TemplateFilter::kSort: return {"reverse", "case_sensitive", "attribute"};
    case TemplateFilter::kInt:
    case TemplateFilter::kFloat: return {"default"};
    default: return {};
  }
}

std::vector<std::string> arguments_of(TemplateMethod method) {
  switch (method) {
    case TemplateMethod::kSplit:
    case TemplateMethod::kRightSplit: return {"sep", "maxsplit"};
    default: return {};
  }
}

}  // namespace ingot::chat
