// SPDX-License-Identifier: Apache-2.0
#include "tools/import/keras/weights.h"

#include <algorithm>
#include <cstring>

namespace ingot::keras {
namespace {

// between a model that keeps all weights and the layer of it that they belong to
constexpr const char* kInside = "//";

bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }

/// As Keras names the parts of a file: "depthwise_conv2d" of DepthwiseConv2D, "re_lu" of ReLU.
std::string snake_case(const std::string& kind) {
  std::string first, out;
  for (size_t i = 0; i < kind.size(); i++) {  // a word begins at a capital before a small letter
    if (i > 0 && upper(kind[i]) && i + 1 < kind.size() && lower(kind[i + 1]) && kind[i - 1] != '_')
      first += '_';
    first += kind[i];
  }
  for (size_t i = 0; i < first.size(); i++) {
    if (i > 0 && upper(first[i]) && lower(first[i - 1])) out += '_';
    out += upper(first[i]) ? char(first[i] - 'A' + 'a') : first[i];
  }
  return out;
}

/// True where `name` has `part` between slashes.
bool has_part(const std::string& name, const std::string& part) {
  return ("/" + name).find("/" + part + "/") != std::string::npos;
}

}  // namespace

Weights::Weights(const checkpoint::Checkpoint& file) {
  for (const checkpoint::Tensor& t : file.tensors)
    tensors_.emplace(checkpoint::path_text(t.path), &t);
  for (const checkpoint::Fact& fact : file.facts) {
    const std::string* text = std::get_if<std::string>(&fact.value);
    if (!text) continue;
    const checkpoint::Path& path = fact.path;
    // One name is a fact of its own, several are numbered.
    const bool one = path.size() >= 2 && path.back() == "weight_names";
    if (one || (path.size() >= 3 && path[path.size() - 2] == "weight_names")) {
      checkpoint::Path layer(path.begin(), path.end() - (one ? 1 : 2));
      legacy_ = true;
      if (layer[0] == "model_weights") layer.erase(layer.begin()), legacy_root_ = "model_weights/";
      if (!layer.empty()) legacy_names_[checkpoint::path_text(layer)].push_back(*text);
    } else {
      texts_.emplace(checkpoint::path_text(path), *text);
    }
  }
}

std::map<std::string, std::string> Weights::places(const Config& config,
                                                   const std::string& place) const {
  std::map<std::string, std::string> out;
  if (legacy_) {  // a model inside a model keeps all of its weights under its own name
    for (const Layer& layer : config.layers)
      out[layer.name] =
          place.empty() ? layer.name : place.substr(0, place.find(kInside)) + kInside + layer.name;
    return out;
  }
  const std::string prefix = (place.empty() ? "" : place + "/") + "layers/";
  std::map<std::string, std::string> by_name;  // newer files say whose weights they are
  for (auto at = texts_.lower_bound(prefix);
       at != texts_.end() && at->first.compare(0, prefix.size(), prefix) == 0; ++at) {
    const std::string rest = at->first.substr(prefix.size());
    const size_t slash = rest.find('/');
    if (slash != std::string::npos && rest.substr(slash) == "/vars/name")
      by_name.emplace(at->second, prefix + rest.substr(0, slash));
  }
  std::map<std::string, size_t> used;
  for (const Layer& layer : config.layers) {
    std::string key = snake_case(layer.kind);
    const size_t n = used[key]++;
    if (n) key += "_" + std::to_string(n);
    const auto named = by_name.find(layer.name);
    out[layer.name] = named != by_name.end() ? named->second : prefix + key;
  }
  return out;
}

std::vector<const checkpoint::Tensor*> Weights::at(const std::string& place,
                                                   const std::string& part) const {
  std::vector<const checkpoint::Tensor*> out;
  if (legacy_) {
    const size_t inside = place.find(kInside);
    const std::string owner = place.substr(0, inside);
    const std::string layer =
        inside == std::string::npos ? "" : place.substr(inside + std::strlen(kInside));
    const auto names = legacy_names_.find(owner);
    if (names == legacy_names_.end()) return out;
    const bool parted =
        !part.empty() && std::any_of(names->second.begin(), names->second.end(),
                                     [&](const std::string& name) { return has_part(name, part); });
    for (const std::string& name : names->second) {
      const auto found = tensors_.find(legacy_root_ + owner + "/" + name);
      if (found == tensors_.end() || (parted && !has_part(name, part)) ||
          (!layer.empty() && !has_part(name, layer)))
        continue;
      out.push_back(found->second);
    }
    return out;
  }
  const std::string prefix = place + (part.empty() ? "" : "/" + part) + "/vars/";
  for (size_t i = 0;; i++) {
    const auto found = tensors_.find(prefix + std::to_string(i));
    if (found == tensors_.end()) return out;
    out.push_back(found->second);
  }
}

}  // namespace ingot::keras
