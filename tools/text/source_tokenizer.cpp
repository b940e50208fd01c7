// SPDX-License-Identifier: Apache-2.0
// A tokenizer from a GGUF file or a tokenizer.json; the command line of a device has none of it.
#include "tools/files/failure.h"
#include "tools/files/file_kind.h"
#include "tools/text/loaded_tokenizer.h"
#include "tools/text/vocabulary.h"

namespace ingot::vocabulary {
namespace {

std::vector<uint8_t> part_of_source(const std::string& path) {
  const host::FileKind kind = host::file_kind(path);
  if (kind == host::FileKind::kGguf) {
    const auto file = checkpoint::GgufFile::open(path);
    if (!has_vocabulary(file))
      host::fail(host::Exit::kMismatch, path + ": has no tokenizer (tokenizer.ggml.model)");
    return encode_text_part(vocabulary_of_gguf(file), path);
  }
  if (kind != host::FileKind::kOther)
    host::fail(host::Exit::kUnsupported,
               path + ": is " + host::kind_text(path, kind) +
                   ", expected an .ingot file, a GGUF file or a tokenizer.json");
  const auto file = checkpoint::MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file->data()), file->size());
  return encode_text_part(vocabulary_of_json(text, path), path);
}

}  // namespace

LoadedTokenizer LoadedTokenizer::from_source(const std::string& path) {
  return LoadedTokenizer(part_of_source(path), path);
}

}  // namespace ingot::vocabulary
