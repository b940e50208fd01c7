// SPDX-License-Identifier: Apache-2.0
// tests/support/shared.h - where shared material lies: models, checkpoints and reference outputs
// that are not part of the repository. The rule is that of tests/support/shared.py.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace ingot::tests {

/// The folder that INGOT_SHARED names; below /dev/null for `none`; beside the checkout where the
/// variable is unset or empty. It need not exist.
inline std::filesystem::path shared_folder() {
  const char* const value = std::getenv("INGOT_SHARED");
  const std::string text = value ? value : "";
  if (text == "none") return "/dev/null/none";
  return text.empty() ? std::filesystem::path(INGOT_CHECKOUT) / ".." / "shared"
                      : std::filesystem::path(text);
}

}  // namespace ingot::tests
