// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/sharded_index.cpp - {"weight_map": {tensor: file}}: the named tensors from
// the files beside the index, no others.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/files/input_file.h"

namespace ingot::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
constexpr uint64_t kMaxIndex = 64 << 20;

Json parse_index(const std::string& path) {
  host::InputStream file(path);
  std::string text;
  char block[65536];
  while (file.read(block, sizeof block) || file.gcount()) {
    text.append(block, size_t(file.gcount()));
    if (text.size() > kMaxIndex)
      host::fail(host::Exit::kCorrupt, path + ": is longer than an index can be");
  }
  return parse_bounded_json(text, path, 64);
}

}  // namespace

uint64_t sharded_bytes(const std::string& path) {
  std::set<std::string> shards;
  try {
    const Json index = parse_index(path);
    if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
      return 0;
    for (const auto& [name, file] : index["weight_map"].items())
      if (file.is_string()) shards.insert(file.get<std::string>());
  } catch (const host::Failure&) {
    return 0;
  }
  uint64_t bytes = 0;
  for (const std::string& shard : shards) {
    std::error_code unknown;
    const uint64_t one =
        std::filesystem::file_size(std::filesystem::path(path).parent_path() / shard, unknown);
    if (!unknown && shard.find('/') == std::string::npos) bytes += one;
  }
  return bytes;
}

Checkpoint read_sharded_index(const std::string& path, const ReadLimits& limits) {
  if (limits.inside_index)
    host::fail(
        host::Exit::kUnsafe,
        path + ": a shard is an index itself, expected a file of tensors; get the files anew");
  const Json index = parse_index(path);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    host::fail(host::Exit::kUnsupported,
               path + ": is JSON without a weight_map, expected the index of a sharded checkpoint");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::map<std::string, std::set<std::string>> wanted;
  for (const auto& [name, file] : index["weight_map"].items()) {
    const std::string shard = file.is_string() ? file.get<std::string>() : "";
    if (shard.empty() || shard.find('/') != std::string::npos ||
        shard.find('\\') != std::string::npos || shard == "..")
      host::fail(host::Exit::kUnsafe, path + ": tensor '" + name + "' lies in '" + shard +
                                          "', expected the name of a file beside the index");
    wanted[shard].insert(name);
  }
  ReadLimits of_shard = limits;
  of_shard.inside_index = true;
  Checkpoint out;
  out.file = path;
  for (const auto& [shard, names] : wanted) {
    const std::string shard_path = (folder / shard).string();
    std::error_code unknown;  // a name may be too long
    if (!std::filesystem::exists(shard_path, unknown))
      host::fail(host::Exit::kUnavailable, shard_path + ": no such file, but the index " + path +
                                               " names it for " + std::to_string(names.size()) +
                                               " tensors; get the missing shard");
    Checkpoint part = read_checkpoint(shard_path, of_shard);
    out.format = "sharded " + part.format;
    std::set<std::string> missing = names;
    size_t unlisted = 0;
    for (Tensor& tensor : part.tensors) {
      if (missing.erase(path_text(tensor.path)))
        out.add(std::move(tensor));
      else
        unlisted++;
    }
    if (!missing.empty())
      host::fail(host::Exit::kMismatch,
                 shard_path + ": lacks " + std::to_string(missing.size()) +
                     " tensors that the index names for it, '" + *missing.begin() +
                     "' first; the shards belong to different models or versions");
    if (unlisted)
      out.notes.push_back("'" + shard + "' holds " + std::to_string(unlisted) +
                          " tensors that the index does not name");
    for (Fact& fact : part.facts) out.say(std::move(fact.path), std::move(fact.value));
    for (std::string& note : part.notes) out.notes.push_back(std::move(note));
  }
  return out;
}

}  // namespace ingot::checkpoint
