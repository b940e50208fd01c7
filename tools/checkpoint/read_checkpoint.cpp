#include <cstring>

#include "tools/checkpoint/archive.h"
#include "tools/checkpoint/readers.h"
#include "tools/files/failure.h"
#include "tools/files/file_kind.h"

namespace ingot::checkpoint {
namespace {

bool is_tar(const MappedFile& file) {
  if (file.size() < 512) return false;
  const char* name = reinterpret_cast<const char*>(file.data());
  for (const char* member : {"storages", "tensors", "pickle", "sys_info", "./storages", "./sys_info"})
    if (std::strncmp(name, member, 100) == 0) return true;
  return false;
}

bool is_keras_archive(const std::string& path) {
  const std::shared_ptr<Archive> archive = Archive::open(path);
  return archive->has("config.json") && (archive->has("model.weights.h5") || archive->has("metadata.json"));
}

}  // namespace

#ifndef INGOT_HAVE_JSON
namespace {
[[noreturn]] Checkpoint without_json(const std::string& path) {
  host::fail(
      host::Exit::kUnsupported,
      path + ": needs a JSON reader, and this program was built without; build it with nlohmann-json3-dev installed");
}
}  // namespace
Checkpoint read_safetensors(const std::string& path, const ReadLimits&) { without_json(path); }
Checkpoint read_sharded_index(const std::string& path, const ReadLimits&) { without_json(path); }
Checkpoint read_hdf5(const std::string& path, const ReadLimits&) { without_json(path); }
Checkpoint read_keras(const std::string& path, const ReadLimits&) { without_json(path); }
#endif

Checkpoint read_checkpoint(const std::string& path, const ReadLimits& limits) {
  const host::FileKind kind = host::file_kind(path);  // says what is often handed in by mistake
  if (kind == host::FileKind::kZip && is_keras_archive(path)) return read_keras(path, limits);
  if (kind == host::FileKind::kZip) return read_torch_zip(path, limits);
  if (kind == host::FileKind::kHdf5) return read_hdf5(path, limits);
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  if (kind == host::FileKind::kPickle || is_torch_legacy(file->data(), size_t(file->size())))
    return read_torch_legacy(path, limits);
  if (kind == host::FileKind::kSafetensors) return read_safetensors(path, limits);
  if (kind == host::FileKind::kGguf) return read_gguf(path, limits);
  if (is_tar(*file)) return read_torch_tar(path, limits);
  if (file->size() > 0 && file->data()[0] == '{') return read_sharded_index(path, limits);
  const std::string name = path.substr(path.rfind('/') + 1);
  const bool claims_safetensors = name.size() > 12 && name.compare(name.size() - 12, 12, ".safetensors") == 0;
  if (claims_safetensors)
    return read_safetensors(path, limits);  // damaged so that its content no longer tells; it says how
  host::fail(host::Exit::kUnsupported, path + ": is " + host::kind_text(path, kind) +
                                           ", expected a checkpoint (PyTorch, safetensors, a sharded index, Keras)");
}

}  // namespace ingot::checkpoint
