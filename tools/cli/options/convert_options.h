// SPDX-License-Identifier: Apache-2.0
// tools/cli/options/convert_options.h - the options of a conversion, as the command line has them.
// convert_options.def is their table.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tools/cli/options/command.h"

namespace ingot::cli {

struct ConvertArguments {
  using Flag = bool;
  using Text = std::string;
  using Setting = std::string;
  using Input = std::string;
  using Output = std::string;
  using Texts = std::vector<std::string>;
  using Named = std::vector<std::string>;
#define INGOT_CONVERT_OPTION(kind, member, spelling, group, value, standard, reader, help) \
  kind member = standard_of<kind>(#kind, standard);
#include "tools/cli/options/convert_options.def"

  /// @throws Failure kUsage for NAME=VALUE with a name that was there, and for what nothing reads.
  void check_together() const;

 private:
  template <class T>
  static T standard_of(std::string_view kind, const char* standard) {
    if constexpr (std::is_same_v<T, std::string>)
      return kind == "Setting" ? standard : "";
    else
      return T();
  }
};

/// All options, or those of `spellings` alone, by their groups or below `heading`.
/// @pre `to` outlives the command
void declare_convert_options(CLI::App* command, ConvertArguments* to,
                             std::initializer_list<std::string_view> spellings = {},
                             const char* heading = nullptr);

}  // namespace ingot::cli
