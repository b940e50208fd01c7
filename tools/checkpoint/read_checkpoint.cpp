// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <filesystem>

#include "tools/checkpoint/julia/julia_value.h"
#include "tools/checkpoint/tensors/archive.h"
#include "tools/checkpoint/tensors/file_bytes.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/files/file_kind.h"
#include "tools/files/input_file.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

bool is_tar(const MappedFile& file) {
  if (file.size() < 512) return false;
  const char* name = reinterpret_cast<const char*>(file.data());
  for (const char* member :
       {"storages", "tensors", "pickle", "sys_info", "./storages", "./sys_info"})
    if (std::strncmp(name, member, 100) == 0) return true;
  return false;
}

std::filesystem::path folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// A file of the ranks: values one behind the other, and a file beside it describes them.
[[noreturn]] void refuse_rank_file(const std::string& path) {
  const std::filesystem::path folder = folder_of(path);
  const bool has_description = std::filesystem::exists(folder / ".metadata");
  host::fail(
      host::Exit::kUnsupported,
      path + ": is one file of a torch.distributed checkpoint; " +
          (has_description ? "give the folder: " + folder.string()
                           : "its contents are described by the file .metadata of its folder, "
                             "which is not here; get the whole folder"));
}

/// `path`: the folder, or the description in it.
Checkpoint read_distributed(const std::filesystem::path& folder, const ReadLimits& limits) {
  const std::string path = folder.string();
  const host::WorkBudget budget(path, file_bytes(path));
  if (std::filesystem::exists(folder / ".metadata")) return read_torch_distributed(path, limits);
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(".distcp")) refuse_rank_file(entry.path().string());
  return read_safetensors_shards(path, limits);
}

}  // namespace

bool is_jld2(const std::string& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  for (const char* opening : {"HDF5-based Julia Data Format", "Julia data file (HDF5)"})
    if (file->size() > 512 && std::memcmp(file->data(), opening, std::strlen(opening)) == 0)
      return true;
  return false;
}

#ifndef INGOT_HAVE_JSON
namespace {
[[noreturn]] Checkpoint without_json(const std::string& path) {
  host::fail(host::Exit::kUnsupported, path +
                                           ": needs a JSON reader, and this program was built "
                                           "without; build it with nlohmann-json3-dev installed");
}
}  // namespace
Checkpoint read_safetensors(const std::string& path, const ReadLimits&) { without_json(path); }
Checkpoint read_sharded_index(const std::string& path, const ReadLimits&) { without_json(path); }
Checkpoint read_safetensors_shards(const std::string& path, const ReadLimits&) {
  without_json(path);
}
uint64_t sharded_bytes(const std::string&) { return 0; }
Checkpoint read_hdf5(const std::string& path, const ReadLimits&) { without_json(path); }
Checkpoint read_keras(const std::string& path, const ReadLimits&) { without_json(path); }
Checkpoint read_torch_pt2(const std::shared_ptr<Archive>&, const std::string& path,
                          const ReadLimits&) {
  without_json(path);
}
#endif

namespace {
bool is_pt2(const Archive& archive) {
  if (archive.has("serialized_exported_program.json")) return true;
  for (const std::string& name : archive.names()) {
    const size_t slash = name.find('/');
    if (slash != std::string::npos && name.substr(slash + 1) == "archive_format") return true;
  }
  return false;
}
bool is_keras(const Archive& archive) {
  return archive.has("config.json") &&
         (archive.has("model.weights.h5") || archive.has("metadata.json"));
}
}  // namespace

Checkpoint read_zip(const std::string& path, const ReadLimits& limits) {
  const std::shared_ptr<Archive> archive = Archive::open(path);
  if (is_npz(*archive)) return read_npz(archive, path, limits);
  if (is_keras(*archive)) return read_keras(path, limits);
  if (is_pt2(*archive)) return read_torch_pt2(archive, path, limits);
  return read_torch_archive(archive, path, limits);
}

uint64_t file_bytes(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    uint64_t all = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path, unknown)) {
      const uint64_t one = entry.is_regular_file(unknown) ? entry.file_size(unknown) : 0;
      if (!unknown) all += one;
    }
    return all;
  }
  const uint64_t own = std::filesystem::file_size(path, unknown);
  if (unknown) return 0;
  host::InputStream file(path);
  return file.peek() == '{' ? own + sharded_bytes(path) : own;
}

Checkpoint read_checkpoint(const std::string& path, const ReadLimits& limits) {
  const host::FileKind kind = host::file_kind(path);  // says what is often handed in by mistake
  if (kind == host::FileKind::kDistributed) return read_distributed(path, limits);
  if (path.ends_with(".distcp")) refuse_rank_file(path);
  if (kind == host::FileKind::kPickle && std::filesystem::path(path).filename() == ".metadata")
    return read_distributed(folder_of(path), limits);
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const host::WorkBudget budget(path, file->size());
  if (kind == host::FileKind::kZip) return read_zip(path, limits);
  if (kind == host::FileKind::kMobile) return read_mobile_weights(path, limits);
  if (kind == host::FileKind::kHdf5 && is_jld2(path))
    return collect_julia(read_jld2(path, limits), limits);
  if (kind == host::FileKind::kBson) return collect_julia(read_bson(path, limits), limits);
  if (kind == host::FileKind::kHdf5) return read_hdf5(path, limits);
  if (kind == host::FileKind::kNumpyArray) return read_npy(path, limits);
  if (kind == host::FileKind::kTflite) return read_tflite(path, limits);
  if (kind == host::FileKind::kPickle || is_torch_legacy(file->data(), size_t(file->size())))
    return read_torch_legacy(path, limits);
  if (kind == host::FileKind::kSafetensors) return read_safetensors(path, limits);
  if (kind == host::FileKind::kGguf) return read_gguf(path, limits);
  if (is_tar(*file)) return read_torch_tar(path, limits);
  if (file->size() > 0 && file->data()[0] == '{') return read_sharded_index(path, limits);
  if (path.ends_with(".safetensors"))
    // damaged so that its content no longer tells; it says how
    return read_safetensors(path, limits);
  host::fail(host::Exit::kUnsupported, path + ": is " + host::kind_text(path, kind) +
                                           ", expected weights (PyTorch, safetensors, a sharded "
                                           "index, Keras, Flux, GGUF, .npz, TFLite)");
}

}  // namespace ingot::checkpoint
