// tools/graph/bound_hint.h - how a refusal names the option that bounds a size which only the data
// tell. What stands for the number, whoever has found one that is enough puts it there.
#pragma once
#include <cstdint>
#include <string>

namespace ingot::graph {

inline constexpr char kBoundHint[] = "--max-elements HIGH";

inline bool has_bound_hint(const std::string& text) {
  return text.find(kBoundHint) != std::string::npos;
}

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
