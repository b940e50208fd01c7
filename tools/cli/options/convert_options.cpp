// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/options/convert_options.h"

#include <algorithm>
#include <set>

#include "tools/cli/options/help.h"
#include "tools/graph/block_type.h"

namespace ingot::cli {
namespace {

enum class OptionKind { kFlag, kText, kSetting, kInput, kOutput, kTexts, kNamed };

struct OptionRow {
  OptionKind kind;
  const char *spelling, *heading, *value, *standard;
  bool is_read;
  const char* needs;  // where it is not read
  std::string help;

  std::string name() const {
    const std::string_view all = spelling;
    return std::string(all.substr(all.find("--")));
  }
};

#define INGOT_OPTION_GROUP(group, heading) constexpr const char* kGroup##group = heading;
#define INGOT_OPTION_READER(reader, words, needs, is_there)              \
  constexpr const char *kWords##reader = words, *kNeeds##reader = needs; \
  bool reads_##reader([[maybe_unused]] const ConvertArguments& a) { return is_there; }
#include "tools/cli/options/convert_options.def"
static_assert(std::string_view(kGroupOften) == kOftenGroup);  // which --help shows alone

template <class Arguments, class Function>
void for_each_option(Arguments& a, Function function) {
#define INGOT_CONVERT_OPTION(kind, member, spelling, group, value, standard, reader, help)   \
  function(OptionRow{OptionKind::k##kind, spelling, kGroup##group, value, standard,          \
                     reads_##reader(a), kNeeds##reader, std::string(kWords##reader) + help}, \
           a.member);
#include "tools/cli/options/convert_options.def"
}

template <class T>
constexpr bool kIsList = std::is_same_v<std::decay_t<T>, std::vector<std::string>>;
template <class T>
constexpr bool kIsFlag = std::is_same_v<std::decay_t<T>, bool>;

void refuse_repeated(const std::string& option, const std::vector<std::string>& texts) {
  std::set<std::string> names;
  for (const std::string& text : texts) {
    const std::string name = text.substr(0, text.find('='));
    if (!names.insert(name).second)
      host::fail(host::Exit::kUsage, option + " " + name + ": given twice; expected once");
  }
}

}  // namespace

void ConvertArguments::check_together() const {
  if (check && no_check)
    host::fail(host::Exit::kUsage, "--check and --no-check: expected one of them");
  for_each_option(*this, [](const OptionRow& row, const auto& member) {
    bool is_given = false;
    if constexpr (kIsFlag<decltype(member)>)
      is_given = member;
    else if constexpr (kIsList<decltype(member)>)
      is_given = !member.empty();
    else
      is_given = member != (row.kind == OptionKind::kSetting ? row.standard : "");
    if (is_given && !row.is_read)
      host::fail(host::Exit::kUsage, row.name() + ": is read with " + row.needs +
                                         " alone; add that, or leave " + row.name() + " out");
    if constexpr (kIsList<decltype(member)>)
      if (row.kind == OptionKind::kNamed) refuse_repeated(row.name(), member);
  });
}

void declare_convert_options(CLI::App* command, ConvertArguments* to,
                             std::initializer_list<std::string_view> spellings,
                             const char* heading) {
  for_each_option(*to, [&](const OptionRow& row, auto& member) {
    if (spellings.size() &&
        std::find(spellings.begin(), spellings.end(), row.name()) == spellings.end())
      return;
    CLI::Option* option = nullptr;
    if constexpr (kIsFlag<decltype(member)>)
      option = command->add_flag(row.spelling, member, row.help);
    else
      option = command->add_option(row.spelling, member, row.help)->type_name(row.value);
    if constexpr (kIsList<decltype(member)>) option->expected(1)->take_all();
    if (*row.standard) option->default_str(row.standard);
    if (row.kind == OptionKind::kInput) reads_file(option);
    if (row.kind == OptionKind::kOutput) writes_file(option);
    option->group(heading ? heading : row.heading);
  });
}

}  // namespace ingot::cli
