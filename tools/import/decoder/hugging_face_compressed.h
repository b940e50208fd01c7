// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_compressed.h - what the quantization_config of
// compressed-tensors says of all its formats.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace ingot::decoder {

/// How its one group of weights is quantized. Of inputs it may say so where `format` is one of
/// floats. @throws graph::ConversionError kUnsupported: another format, or what is not built.
const nlohmann::json& compressed_weights(const nlohmann::json& how, const std::string& format,
                                         const std::string& file);

}  // namespace ingot::decoder
