// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/import.h - language models as programs: a GGUF file, one of
// llama2.c, a folder of Hugging Face (only where there is a JSON reader).
// Errors   graph::ConversionError: kUnsupported (an architecture, a number of the metadata that is
//          not known), kMismatch (tensors, vocabulary, context), host::Failure of the reader.
#pragma once
#include "tools/import/common/opened_file.h"
#include "tools/import/common/options.h"
#include "tools/import/common/program.h"

namespace ingot::decoder {

bool is_gguf(const importer::OpenedFile& file);
importer::Program import_gguf(const importer::OpenedFile& file,
                              const importer::ImportOptions& options);
/// llama2.c's .bin.
bool is_llama2c(const importer::OpenedFile& file);
importer::Program import_llama2c(const importer::OpenedFile& file,
                                 const importer::ImportOptions& options);
/// config.json, its weights beside it.
bool is_hugging_face(const importer::OpenedFile& file);
/// The file beside a configuration that holds the weights or names those that do; "" for none.
std::string hugging_face_weights(const std::string& config);
importer::Program import_hugging_face(const importer::OpenedFile& file,
                                      const importer::ImportOptions& options);

}  // namespace ingot::decoder
