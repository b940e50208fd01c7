// SPDX-License-Identifier: Apache-2.0
#include "tools/session/placing.h"

#include "tools/files/suggest.h"
#include "tools/session/engine.h"

namespace ingot::cli {
namespace {

using host::Exit;
using host::fail;

/// Each '*' stands for any letters, none among them.
bool fits(const std::string& pattern, const std::string& name) {
  size_t p = 0, n = 0, star = std::string::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      p++, n++;
    } else if (star != std::string::npos) {  // the last star takes one letter more
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') p++;
  return p == pattern.size();
}

}  // namespace

std::vector<PlaceRule> parse_places(const std::vector<std::string>& texts) {
  std::vector<PlaceRule> rules;
  for (const std::string& text : texts) {
    const size_t at = text.rfind('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
      fail(Exit::kUsage,
           "--place " + text + ": expected PATTERN=DEVICE, such as 'encoder.*=cuda:0'");
    rules.push_back({text.substr(0, at), text.substr(at + 1)});
  }
  return rules;
}

Assignment assign(const Model& model, const std::string& path, const std::string& device,
                  const std::vector<PlaceRule>& rules) {
  std::vector<std::string> names;
  std::vector<bool> is_used(rules.size());
  auto assignment = model.assign(device.c_str(), [&](const ingot_weight& weight) -> const char* {
    const char* answer = nullptr;
    names.emplace_back(weight.name);
    for (size_t i = 0; i < rules.size(); i++) {
      if (!fits(rules[i].pattern, weight.name)) continue;
      is_used[i] = true;
      answer = rules[i].device == "trained" ? weight.trained_on : rules[i].device.c_str();
    }
    return answer;
  });
  if (!assignment) fail_with(path, assignment.error());
  for (size_t i = 0; i < rules.size(); i++) {
    if (is_used[i]) continue;
    const std::string near = host::nearest(rules[i].pattern, names);
    fail(Exit::kMismatch,
         "--place " + rules[i].pattern + "=" + rules[i].device + ": " + path +
             " has no such weight" +
             (near.empty() ? "; ingot place FILE lists them" : "; did you mean '" + near + "'?"));
  }
  return std::move(*assignment);
}

}  // namespace ingot::cli
