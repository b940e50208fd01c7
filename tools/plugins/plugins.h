// SPDX-License-Identifier: Apache-2.0
// tools/plugins/plugins.h - operators of the application's, out of shared libraries. They belong to
// the process: loaded once, never given back, visible to importers, shape inference, the converter
// and every model that is opened afterwards.
// Threads  load() before anything else runs; the rest reads.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtime/include/ingot/ingot.h"
#include "runtime/op/contract.h"

namespace ingot::plugins {

/// Loads a library that exports ingot_plugin() and takes its operators; the same one again does
/// nothing. @throws host::Failure kUnavailable where it cannot be loaded or is no plugin, kUsage
/// where its operators cannot be used or one is there already.
void load(const std::string& path);

/// In the order of loading, as ingot_open_options.operators wants them.
const std::vector<const ingot_custom_operator*>& operators();

/// Null where no plugin has it. "" and "ai.onnx" are one domain.
const ingot_custom_operator* find(std::string_view domain, std::string_view name);

/// For a kernel table of the converter's own.
CustomOperators handed_in();

/// "com.example::Whiten of whitening 1.2", one for each operator, for messages.
std::string list_text();

}  // namespace ingot::plugins
