// SPDX-License-Identifier: Apache-2.0
// tools/graph/bound_hint.h - what to do about a refusal, and how it names the option that bounds a
// size which only the data tell. Whoever has found a number that is enough puts it there.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

namespace ingot::graph {

struct Hint {
  std::string text;
  bool wants_bound = false;  // `text` has HIGH, behind --max-elements and "=1.."

  Hint(const char* words = "") : text(words) {}
  Hint(std::string words, bool bound = false) : text(std::move(words)), wants_bound(bound) {}
  friend Hint operator+(const char* before, const Hint& hint) {
    return {before + hint.text, hint.wants_bound};
  }
  friend Hint operator+(const Hint& hint, const char* behind) {
    return {hint.text + behind, hint.wants_bound};
  }
};

/// "WORDS--max-elements HIGH".
inline Hint bound_hint(const std::string& words) { return {words + "--max-elements HIGH", true}; }

/// "--max-elements HIGH" and "=1..HIGH" with the number.
inline std::string with_bound(std::string text, int64_t high) {
  const std::string number = std::to_string(high);
  for (const std::string before : {"--max-elements ", "=1.."})
    for (size_t at = text.find(before + "HIGH"); at != std::string::npos;
         at = text.find(before + "HIGH", at))
      text.replace(at + before.size(), 4, number);
  return text;
}

}  // namespace ingot::graph
