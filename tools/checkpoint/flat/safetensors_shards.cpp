// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/safetensors_shards.cpp - a folder in which each rank of a training has left
// a safetensors file with its chunks: DCP_SHARDING_INFO of the file's metadata says where in the
// whole each one begins. Nothing says how large the whole is: as far as its chunks reach.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/checkpoint/tensors/chunked_storage.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/files/file_kind.h"

namespace ingot::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

struct Whole {
  ElementType type;
  std::vector<int64_t> dims;
  std::vector<Chunk> chunks;
};

[[noreturn]] void refuse_shards(const std::string& file, const std::string& why) {
  host::fail(host::Exit::kCorrupt, file + ": " + why + "; get the files of all ranks anew");
}

/// {"weight": {"saved_offsets": [0, 128]}}
Json sharding_of(const Checkpoint& file) {
  for (const Fact& fact : file.facts)
    if (fact.path == Path{"__metadata__", "DCP_SHARDING_INFO"})
      return parse_bounded_json(std::get<std::string>(fact.value),
                                file.file + ": DCP_SHARDING_INFO", 8);
  refuse_shards(file.file, "does not say which part of the whole it has (DCP_SHARDING_INFO)");
}

Chunk chunk_of(const Tensor& tensor, const Json& sharding, const std::string& file) {
  const std::string name = path_text(tensor.path);
  const auto found = sharding.is_object() ? sharding.find(name) : sharding.end();
  if (found == sharding.end() || !found->is_object() || !found->contains("saved_offsets") ||
      !(*found)["saved_offsets"].is_array() ||
      (*found)["saved_offsets"].size() != tensor.dims.size())
    refuse_shards(file, "DCP_SHARDING_INFO does not say where '" + name + "' begins");
  Chunk chunk;
  chunk.sizes = tensor.dims;
  for (const Json& offset : (*found)["saved_offsets"]) {
    if (!offset.is_number_unsigned() || offset.get<uint64_t>() > uint64_t{1} << 58)
      refuse_shards(file, "'" + name + "' begins at no whole number");
    chunk.offsets.push_back(offset.get<int64_t>());
  }
  chunk.open = [tensor] { return tensor; };
  return chunk;
}

}  // namespace

Checkpoint read_safetensors_shards(const std::string& folder, const ReadLimits& limits) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (host::is_rank_shard(entry.path().filename().string())) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Checkpoint out;
  out.file = folder;
  out.format = "sharded safetensors";
  out.note(
      std::to_string(paths.size()) +
      " files of ranks; how many there were is not said by them, so that the files of the last "
      "ones could be missing unseen");
  std::map<std::string, Whole> wholes;
  for (const std::string& path : paths) {
    const Checkpoint file = read_safetensors(path, limits);
    const Json sharding = sharding_of(file);
    for (const Tensor& tensor : file.tensors) {
      const std::string name = path_text(tensor.path);
      Chunk chunk = chunk_of(tensor, sharding, path);
      Whole& whole = wholes.emplace(name, Whole{tensor.type, tensor.dims, {}}).first->second;
      if (whole.type != tensor.type || whole.dims.size() != tensor.dims.size())
        refuse_shards(path, "'" + name + "' has another type or rank than in the files before");
      for (size_t d = 0; d < tensor.dims.size(); d++)
        whole.dims[d] = std::max(whole.dims[d], chunk.offsets[d] + chunk.sizes[d]);
      whole.chunks.push_back(std::move(chunk));
    }
  }
  for (auto& [name, whole] : wholes) {
    const std::string where = folder + ": '" + name + "'";
    Tensor tensor;
    tensor.path = {name};
    tensor.type = whole.type;
    tensor.dims = whole.dims;
    tensor.strides = dense_strides(tensor.dims);
    tensor.storage = chunked_storage(whole.type, whole.dims, std::move(whole.chunks), where);
    validate_view(tensor, limits, where);
    out.add(std::move(tensor));
  }
  return out;
}

}  // namespace ingot::checkpoint
