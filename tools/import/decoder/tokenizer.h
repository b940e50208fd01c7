// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/tokenizer.h - the tokenizer beside a language model's weights, as a part of
// its file.
#pragma once
#include "tools/files/failure.h"
#include "tools/import/common/program.h"

namespace ingot::decoder {

/// `make` gives the part's bytes, none where the source has no tokenizer. One that is not supported
/// leaves the model without; damaged ones are errors.
template <class Make>
void add_tokenizer(importer::Program* program, const Make& make) {
  try {
    program->text = make();
    if (program->text.empty())
      program->model.notes.push_back(
          "the source has no tokenizer: `ingot generate` needs one, runs take token ids");
  } catch (const host::Failure& failure) {
    if (failure.exit() != host::Exit::kUnsupported) throw;
    program->model.notes.push_back("no tokenizer in the file, so that it takes token ids alone: " +
                                   failure.message());
  }
}

}  // namespace ingot::decoder
