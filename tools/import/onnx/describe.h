// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/describe.h - what an .onnx file says about itself, nothing inferred: for models
// that cannot be imported.
#pragma once
#include <cstdint>
#include <string>

#include "tools/import/common/description.h"

namespace ingot::onnx {

/// @throws graph::ConversionError(kCorrupt) when the file is no ONNX model, kUnavailable when it
/// cannot be read.
importer::SourceDescription describe_onnx(const std::string& path);

/// Of the files beside it that hold its tensors. What is missing or damaged counts nothing: the
/// import says what is wrong.
uint64_t external_data_bytes(const std::string& path);

}  // namespace ingot::onnx
