// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import.h - the one door: an .onnx file to a graph with all shapes inferred and
// constants folded.
#pragma once
#include <string>
#include <string_view>

#include "tools/import/common/options.h"

namespace ingot::onnx {

using importer::ImportOptions;

/// The normalized graph of tools/graph/README.md: every value has dtype and dims, constants are
/// folded, dead nodes gone. @throws graph::ConversionError: kCorrupt, kUnsafe external data outside
/// of the model's folder, kUnsupported (all of it listed in `unsupported`), kMismatch an option
/// that names no input or symbol, or contradicts a declared shape, kUnavailable unreadable.
graph::Model import_onnx(const std::string& path, const ImportOptions& options = {});
/// The same from memory. `name` is for messages; external data is looked for in `folder`.
graph::Model import_onnx_bytes(std::string_view bytes, const std::string& name,
                               const std::string& folder, const ImportOptions& options = {});

}  // namespace ingot::onnx
