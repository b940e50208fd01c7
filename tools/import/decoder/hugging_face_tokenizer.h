// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_tokenizer.h - the tokenizer of a Hugging Face folder.
// Errors   graph::ConversionError kCorrupt: a file that is not what its name says.
#pragma once
#include <string>

namespace ingot::decoder {

/// The text of its tokenizer.json, or of one made of what earlier folders have: vocab.txt, or
/// vocab.json and merges.txt. "" where there is none.
std::string tokenizer_of_folder(const std::string& folder);

}  // namespace ingot::decoder
