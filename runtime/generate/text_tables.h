// SPDX-License-Identifier: Apache-2.0
// runtime/generate/text_tables.h - the tokenizer and the chat template in a model's file.
//
// Owns     nothing: it lies in the caller's memory, with a copy of the part unless the file's bytes
//          are the caller's memory, which are used where they lie. The model outlives it.
// Errors   kNotFound: the file has no tokenizer; kHashMismatch, kFileRead and those of open_text()
//          and open_template(); kArenaTooSmall{need, have}, kMisaligned.
// Threads  any number, once it is made.
#pragma once
#include "runtime/format/template_part.h"
#include "runtime/format/text_part.h"
#include "runtime/generate/object_block.h"
#include "runtime/session/model.h"

namespace ingot {

struct TextTables {
  const OpenModel* model = nullptr;
  TokenizerView tokenizer;
  TemplateView chat;
  bool has_chat = false;
  ObjectBlock block;
};

Status measure_text_tables(const OpenModel& model, uint64_t* bytes, ErrorDetail* detail);
/// `memory` is 16-byte aligned; the tables lie at its beginning.
Status open_text_tables(const OpenModel& model, Span<uint8_t> memory, TextTables** out,
                        ErrorDetail* detail);

}  // namespace ingot
