// SPDX-License-Identifier: Apache-2.0
#include "tools/files/suggest.h"

#include <algorithm>

namespace ingot::host {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; }

/// Insertions, deletions, replacements and swaps of neighbours, letter case ignored.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = row;
    row = next;
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t least = ~size_t{0};
  if (word.size() > 256) return best;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > 256) continue;
    const size_t d = distance(word, candidate);
    const size_t allowed = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (d <= allowed && d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  if (!near.empty()) return "; did you mean '" + near + "'?";
  if (candidates.empty()) return "; there is none";
  std::string list = "; there " + std::string(candidates.size() == 1 ? "is: " : "are: ");
  for (size_t i = 0; i < candidates.size() && i < 8; i++)
    list += (i ? ", '" : "'") + candidates[i] + "'";
  return candidates.size() > 8 ? list + ", ..." : list;
}

}  // namespace ingot::host
