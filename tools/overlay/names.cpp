#include "tools/overlay/names.h"

#include <algorithm>

namespace ingot::overlay {
namespace {

// What DataParallel, Lightning, torch.compile and averaging put before a name.
constexpr const char* kWrappers[] = {"module.", "model.", "_orig_mod.", "state_dict.", "ema.", "net.", "network."};
// Where trainers keep the weights, in the order in which they are preferred when several fit.
constexpr const char* kUsualKeys[] = {"",        "state_dict", "model_state_dict", "model",      "params", "net",
                                      "weights", "generator",  "model_ema",        "params_ema", "ema"};

bool begins(const std::string& text, const std::string& start) { return text.compare(0, start.size(), start) == 0; }

std::string rename(const std::string& name, const OverlayOptions& options) {
  for (const auto& [from, to] : options.renames) {
    const size_t star = from.find('*');
    if (star == std::string::npos) {
      if (name == from) return to;
      continue;
    }
    const std::string head = from.substr(0, star), tail = from.substr(star + 1);
    const bool fits = name.size() >= head.size() + tail.size() && begins(name, head) &&
                      name.compare(name.size() - tail.size(), tail.size(), tail) == 0;
    if (!fits) continue;
    std::string out = to;
    const size_t place = out.find('*');
    if (place != std::string::npos)
      out.replace(place, 1, name.substr(head.size(), name.size() - head.size() - tail.size()));
    return out;
  }
  return name;
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

size_t matches(const std::vector<Candidate>& group, const std::string& prefix, const std::set<std::string>& wanted,
               const OverlayOptions& options) {
  size_t count = 0;
  for (const Candidate& c : group)
    if (begins(c.name, prefix)) count += wanted.count(rename(c.name.substr(prefix.size()), options));
  return count;
}

/// The wrappers that stand before all names, in every order, up to three deep.
std::string best_prefix(const std::vector<Candidate>& group, const std::set<std::string>& wanted,
                        const OverlayOptions& options, size_t* count) {
  std::vector<std::string> trials = {""};
  for (size_t i = 0; i < trials.size() && trials.size() < 400; i++) {
    for (const char* wrapper : kWrappers) {
      const std::string longer = trials[i] + wrapper;
      const bool there =
          std::any_of(group.begin(), group.end(), [&](const Candidate& c) { return begins(c.name, longer); });
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

Selection select_tensors(const checkpoint::Checkpoint& checkpoint, const std::set<std::string>& wanted,
                         const OverlayOptions& options) {
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
  for (const auto& [key, group] : groups) {
    if (!options.key.empty() && key != options.key) continue;
    std::string prefix;
    const size_t count = count_of(group, &prefix);
    const bool better = !chosen || count > most || (count == most && preference(key) < preference(out.key));
    if (chosen && count == most && count > 0) out.other_keys.push_back(better ? out.key : key);
    if (!better) continue;
    if (count > most) out.other_keys.clear();
    chosen = &group;
    most = count;
    out.key = key;
    out.prefix = prefix;
  }
  if (!chosen) {
    std::string known;
    for (const auto& [key, group] : groups)
      if (!key.empty()) known += (known.empty() ? "'" : ", '") + key + "'";
    graph::throw_cast_error(5, checkpoint.file + ": --key '" + options.key + "' holds no tensors" +
                                   (known.empty() ? "; it has none below any key" : "; keys that do: " + known));
  }
  for (const Candidate& c : *chosen) {
    const std::string name = begins(c.name, out.prefix) ? c.name.substr(out.prefix.size()) : c.name;
    out.candidates.push_back({rename(name, options), c.original, c.tensor});
  }
  return out;
}

}  // namespace ingot::overlay
