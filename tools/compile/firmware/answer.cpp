// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/answer.cpp - see answer.h.
#include "tools/compile/firmware/answer.h"

#include <algorithm>
#include <cctype>

namespace ingot::firmware {
namespace {

constexpr size_t kNumbersALine = 12;

std::string id_array(const std::string& name, const std::vector<int32_t>& ids) {
  const size_t room = std::max<size_t>(ids.size(), 1);  // C has no empty array
  std::string text = "static const int32_t " + name + "[" + std::to_string(room) + "] = {";
  for (size_t i = 0; i < ids.size(); i++)
    text += (i % kNumbersALine ? " " : "\n    ") + std::to_string(ids[i]) + ",";
  return text + (ids.empty() ? "0};\n" : "\n};\n");
}

/// A string literal. Octal numbers have three digits, so that no digit behind them joins them; a
/// question mark is one, because two may begin a trigraph.
std::string literal(const std::string& bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    const unsigned byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '?') {
      text += c;
      continue;
    }
    text += '\\';
    for (const unsigned shift : {6u, 3u, 0u}) text += char('0' + (byte >> shift & 7));
  }
  return text + "\"";
}

}  // namespace

const char kAnswerDeclarations[] = R"(
/* What a language model is asked, and what the host's answer was: answer.c.
   pieces: the bytes of token i begin at pieces + piece_at[i] and end before a zero; null where the
   model has no tokenizer. ends: tokens that end an answer. strips_space: the first piece loses its
   first space. tokens, position, logits: indices of inputs and of an output. */
#define FIRMWARE_ANSWERS 1
#include <stdint.h>
typedef struct firmware_answer {
  const int32_t *prompt, *ids, *ends;
  uint32_t prompt_count, id_count, end_count, most;
  const char* pieces;
  const uint32_t* piece_at;
  uint32_t piece_count;
  int strips_space;
  uint32_t tokens, position, logits;
} firmware_answer;
)";

std::string answer_source(const std::string& name, const ProjectAnswer& a) {
  std::string text;
  if (!a.pieces.empty())
    text += "extern const char " + name + "_pieces[];\nextern const uint32_t " + name +
            "_piece_at[];\n";
  text += id_array(name + "_prompt", a.prompt) + id_array(name + "_ids", a.ids) +
          id_array(name + "_ends", a.ends) + "const firmware_answer " + name + "_answer = {\n    " +
          name + "_prompt, " + name + "_ids, " + name + "_ends,\n    ";
  for (const size_t n : {a.prompt.size(), a.ids.size(), a.ends.size(), size_t{a.most}})
    text += std::to_string(n) + ", ";
  text += a.pieces.empty() ? "0, 0, " : name + "_pieces, " + name + "_piece_at, ";
  text += std::to_string(a.pieces.size()) + ", " + std::to_string(a.strips_space) + ",\n    ";
  return text + std::to_string(a.tokens) + ", " + std::to_string(a.position) + ", " +
         std::to_string(a.logits) + "};\n";
}

std::string pieces_source(const std::string& name, const std::vector<std::string>& pieces) {
  std::string text = "#include <stdint.h>\n\nconst char " + name + "_pieces[] =";
  std::vector<int32_t> at;
  size_t end = 0;
  for (const std::string& piece : pieces) {
    at.push_back(int32_t(end));
    end += piece.size() + 1;
    text += "\n    " + literal(piece + '\0');
  }
  const std::string array = id_array(name + "_piece_at", at);
  const std::string kOwn = "static const int32_t";
  return text + ";\nconst uint32_t" + array.substr(kOwn.size());
}

uint64_t answer_bytes(const ProjectAnswer& a) {
  uint64_t bytes = 4 * (a.prompt.size() + a.ids.size() + a.ends.size() + a.pieces.size());
  for (const std::string& piece : a.pieces) bytes += piece.size() + 1;
  return bytes;
}

}  // namespace ingot::firmware
