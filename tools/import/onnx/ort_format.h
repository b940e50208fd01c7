// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/ort_format.h - ONNX Runtime's own file format (.ort): an ONNX model in
// FlatBuffers.
#pragma once
#include <string>

#include "tools/import/onnx/wire.h"

namespace ingot::onnx {

/// Whether the bytes begin as a .ort file does.
bool is_ort_format(Text bytes);

/// The same structs that parse_model() gives of a protobuf, pointing into `bytes`. `source` names
/// the file in messages. @throws graph::ConversionError(kCorrupt) when the bytes are no sound .ort
/// file, kUnsupported when a part of it was compiled for other hardware; memory is at most a fixed
/// multiple of the size of `bytes`.
Model parse_ort_format(Text bytes, const std::string& source);

}  // namespace ingot::onnx
