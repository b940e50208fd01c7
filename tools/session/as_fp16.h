// SPDX-License-Identifier: Apache-2.0
// tools/session/as_fp16.h - an exact or fast file as its source convert with --precision fp16 would
// be, as far as a GPU's memory goes.
#pragma once
#include <optional>
#include <string>

#include "runtime/include/ingot/ingot.hpp"

namespace ingot::cli {

/// Opens the file once more, so that nobody else sees it changed: products are in f16, weights may
/// be pairs of f16, and convolutions that were converted to Winograd are direct. For requirements()
/// alone, no session is to be made of it. Nothing where the file is fp16 already. @throws Failure,
/// as open_model().
std::optional<Model> open_as_fp16(const std::string& path);

}  // namespace ingot::cli
