// SPDX-License-Identifier: Apache-2.0
#include "tools/weights/overlay/names.h"

#include <algorithm>
#include <optional>

namespace ingot::overlay {
namespace {

// What DataParallel, Lightning, torch.compile and averaging put before a name.
constexpr const char* kWrappers[] = {"module.", "model.", "_orig_mod.", "state_dict.",
                                     "ema.",    "net.",   "network."};
// What the same put before the name of a part that they wrap.
constexpr const char* kInnerWrappers[] = {"module", "_orig_mod", "_fsdp_wrapped_module",
                                          "_checkpoint_wrapped_module", "_forward_module"};
// Where trainers keep the weights, in the order in which they are preferred when several fit.
constexpr const char* kUsualKeys[] = {
    "",        "state_dict", "model_state_dict", "model",      "params", "net",
    "weights", "generator",  "model_ema",        "params_ema", "ema"};

bool begins(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

/// What the * of the pattern stands for; nothing where the name does not fit.
std::optional<std::string> star_of(const std::string& pattern, const std::string& name) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos)
    return name == pattern ? std::optional<std::string>("") : std::nullopt;
  const std::string head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  const bool fits = name.size() >= head.size() + tail.size() && begins(name, head) &&
                    name.compare(name.size() - tail.size(), tail.size(), tail) == 0;
  if (!fits) return std::nullopt;
  return name.substr(head.size(), name.size() - head.size() - tail.size());
}

std::string rename(const std::string& name, const OverlayOptions& options) {
  for (const auto& [from, to] : options.renames) {
    const std::optional<std::string> star = star_of(from, name);
    if (!star) continue;
    std::string out = to;
    if (const size_t place = out.find('*'); place != std::string::npos)
      out.replace(place, 1, *star);
    return out;
  }
  return name;
}

/// Without what wraps a part of the network: "features.module.0.weight",
/// "blocks.0._orig_mod.fc.weight".
std::string without_inner_wrappers(const std::string& name) {
  std::string out;
  for (size_t at = 0; at <= name.size();) {
    const size_t dot = std::min(name.find('.', at), name.size());
    const std::string part = name.substr(at, dot - at);
    const bool wrapper = std::any_of(std::begin(kInnerWrappers), std::end(kInnerWrappers),
                                     [&](const char* w) { return part == w; });
    if (!wrapper) out += (out.empty() ? "" : ".") + part;
    at = dot + 1;
  }
  return out;
}

/// Tensors by the key under which they lie; the names below it joined by dots.
using Groups = std::map<std::string, std::vector<Candidate>>;
Groups groups_of(const checkpoint::Checkpoint& checkpoint) {
  Groups groups;
  for (const checkpoint::Tensor& t : checkpoint.tensors) {
    for (size_t depth = 0; depth < t.path.size() && depth < 3; depth++) {
      std::string key, name;
      for (size_t i = 0; i < t.path.size(); i++)
        (i < depth ? key : name) += std::string((i < depth ? key : name).empty() ? ""
                                                : i < depth                      ? "/"
                                                                                 : ".") +
                                    t.path[i];
      groups[key].push_back({name, checkpoint::path_text(t.path), &t});
    }
  }
  return groups;
}

size_t matches(const std::vector<Candidate>& group, const std::string& prefix,
               const std::set<std::string>& wanted, const OverlayOptions& options) {
  size_t count = 0;
  for (const Candidate& c : group)
    if (begins(c.name, prefix))
      count += wanted.count(rename(c.name.substr(prefix.size()), options));
  return count;
}

/// The wrappers that stand before all names, in every order, up to three deep.
std::string best_prefix(const std::vector<Candidate>& group, const std::set<std::string>& wanted,
                        const OverlayOptions& options, size_t* count) {
  std::vector<std::string> trials = {""};
  for (size_t i = 0; i < trials.size() && trials.size() < 400; i++) {
    for (const char* wrapper : kWrappers) {
      const std::string longer = trials[i] + wrapper;
      const bool there = std::any_of(group.begin(), group.end(),
                                     [&](const Candidate& c) { return begins(c.name, longer); });
      if (there) trials.push_back(longer);
    }
  }
  std::string best;
  *count = 0;
  for (const std::string& prefix : trials) {
    const size_t found = matches(group, prefix, wanted, options);
    if (found <= *count) continue;
    *count = found;
    best = prefix;
  }
  return best;
}

size_t preference(const std::string& key) {
  for (size_t i = 0; i < std::size(kUsualKeys); i++)
    if (key == kUsualKeys[i]) return i;
  return std::size(kUsualKeys);
}

}  // namespace

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& p) { return star_of(p, name).has_value(); });
}

std::string key_list(const std::vector<std::string>& keys) {
  std::string text;
  for (size_t i = 0; i < keys.size() && i < 12; i++)
    text += (text.empty() ? "'" : ", '") + keys[i] + "'";
  return text + (keys.size() > 12 ? ", ..." : "");
}

Selection select_tensors(const checkpoint::Checkpoint& checkpoint,
                         const std::set<std::string>& wanted, const OverlayOptions& options) {
  const Groups groups = groups_of(checkpoint);
  Selection out;
  const std::vector<Candidate>* chosen = nullptr;
  size_t most = 0;
  const auto count_of = [&](const std::vector<Candidate>& group, std::string* prefix) {
    size_t count = 0;
    if (options.strip_prefix == "auto") {
      *prefix = best_prefix(group, wanted, options, &count);
    } else {
      *prefix = options.strip_prefix;
      count = matches(group, *prefix, wanted, options);
    }
    return count;
  };
  const checkpoint::Tensor* first = nullptr;  // what was chosen begins with it
  size_t least_outside = 0;
  for (const auto& [key, group] : groups) {
    if (!options.key.empty() && key != options.key) continue;
    std::string prefix;
    const size_t count = count_of(group, &prefix);
    const checkpoint::Tensor* begin = nullptr;
    size_t outside = 0;
    for (const Candidate& c : group) {
      if (!begins(c.name, prefix))
        outside++;
      else if (!begin)
        begin = c.tensor;
    }
    // the same tensors, told as a key or as a prefix
    const bool same_place = chosen && begin == first;
    const bool better = !chosen || count > most ||
                        (count == most && (same_place ? outside < least_outside
                                                      : preference(key) < preference(out.key)));
    if (chosen && !same_place && count == most && count > 0)
      out.other_keys.push_back(better ? out.key : key);
    if (!better) continue;
    if (count > most) out.other_keys.clear();
    chosen = &group;
    most = count;
    first = begin;
    least_outside = outside;
    out.key = key;
    out.prefix = prefix;
  }
  for (const auto& [key, group] : groups)
    if (!key.empty()) out.keys.push_back(key);
  if (!chosen && groups.empty()) graph::fail_mismatch(checkpoint.file, "holds no tensors");
  if (!chosen)
    graph::fail_mismatch(checkpoint.file,
                         "--key '" + options.key + "' holds no tensors" +
                             (out.keys.empty() ? "; it has none below any key"
                                               : "; keys that do: " + key_list(out.keys)));
  for (const Candidate& c : *chosen) {
    if (!begins(c.name, out.prefix)) {
      out.outside += checkpoint::is_floating(c.tensor->type);
      continue;
    }
    std::string name = rename(c.name.substr(out.prefix.size()), options);
    if (options.strip_prefix == "auto" && !wanted.count(name)) {
      const std::string bare = without_inner_wrappers(name);
      if (!bare.empty()) name = bare;
    }
    // of a normalization in training; some writers make it a float
    const std::string counter = "num_batches_tracked";
    if (name.size() >= counter.size() &&
        name.compare(name.size() - counter.size(), counter.size(), counter) == 0) {
      out.counters.push_back(c.original);
      continue;
    }
    out.candidates.push_back({name, c.original, c.tensor});
  }
  return out;
}

}  // namespace ingot::overlay
