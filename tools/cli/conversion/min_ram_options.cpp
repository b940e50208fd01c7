#include "tools/cli/conversion/min_ram_options.h"

#include <cmath>
#include <cstdlib>

#include "tools/files/failure.h"

namespace ingot::cli {
namespace {

/// NaN is in every range.
std::string why_no_number(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? "expected a number" : "";
}

}  // namespace

void add_min_ram(CLI::App* command, convert::MinimumRam* to) {
  CLI::Option* const flag = command->add_flag(
      "--min-ram", to->is_wanted,
      "compute layers with large images in overlapping patches: less RAM for more work and flash, "
      "the same bits; both are said");
  command
      ->add_option("--max-work", to->max_work,
                   "with --min-ram: multiply-adds at most, times those of the whole network")
      ->type_name("TIMES")
      ->check(CLI::Range(1.0, 1000.0) & CLI::Validator(why_no_number, ""))
      ->capture_default_str()
      ->needs(flag);
}

void check_min_ram(const convert::ConvertOptions& options, const std::string& command) {
  if (!options.min_ram.is_wanted) return;
  if (options.winograd == convert::WinogradMode::kBudget)
    host::fail(host::Exit::kUsage, command +
                                       ": --min-ram computes in patches, without Winograd; "
                                       "leave --winograd out");
  if (options.targets != std::vector<std::string>{"mcu"})
    host::fail(host::Exit::kUsage,
               command +
                   ": --min-ram lays the arena out as a microcontroller has it; add "
                   "--target mcu, alone");
}

}  // namespace ingot::cli
