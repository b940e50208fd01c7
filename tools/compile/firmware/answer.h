// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/answer.h - a language model's answer on the host, as C source of a
// project: what the device is asked, what it has to say, and the text of tokens.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::firmware {

/// Of a model that takes one token in a run. Ports are indices of the model's.
struct ProjectAnswer {
  std::vector<int32_t> prompt;      // not empty
  std::vector<int32_t> ids;         // that follow it, one that ends the answer included
  uint32_t most = 0;                // tokens at most
  std::vector<int32_t> ends;        // tokens that end an answer
  std::vector<std::string> pieces;  // the bytes of each token; empty: there is no tokenizer
  bool strips_space = false;        // the first piece loses its first space
  uint32_t tokens = 0, position = 0, logits = 0;
};

/// Declarations in models.h: the struct firmware_answer, and that there is one.
extern const char kAnswerDeclarations[];
/// The definition of NAME_answer.
std::string answer_source(const std::string& name, const ProjectAnswer& answer);
/// Those of NAME_pieces, one line a token, and of NAME_piece_at.
std::string pieces_source(const std::string& name, const std::vector<std::string>& pieces);
/// What the answer takes in flash.
uint64_t answer_bytes(const ProjectAnswer& answer);

}  // namespace ingot::firmware
