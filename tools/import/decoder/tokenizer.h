// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/tokenizer.h - the tokenizer beside a language model's weights, as a part of
// its file.
#pragma once
#include <optional>

#include "tools/files/failure.h"
#include "tools/import/common/program.h"
#include "tools/text/vocabulary.h"

namespace ingot::decoder {

/// `make` gives the vocabulary, none where the source has no tokenizer. One that is not supported
/// leaves the model without, as a chat template does; damaged ones are errors.
template <class Make>
void add_tokenizer(importer::Program* program, const std::string& where, const Make& make) {
  std::vector<std::string>& notes = program->model.notes;
  try {
    const std::optional<vocabulary::Vocabulary> made = make();
    if (!made)
      return notes.push_back(
          "the source has no tokenizer: `ingot generate` needs one, runs take token ids");
    program->text = vocabulary::encode_text_part(*made, where);
    if (!made->chat.refused.empty())
      notes.push_back("no chat template in the file, so that `ingot generate --chat` refuses it: " +
                      made->chat.refused);
  } catch (const host::Failure& failure) {
    if (failure.exit() != host::Exit::kUnsupported) throw;
    notes.push_back("no tokenizer in the file, so that it takes token ids alone: " +
                    failure.message());
  }
}

}  // namespace ingot::decoder
