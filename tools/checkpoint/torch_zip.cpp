#include "tools/checkpoint/archive.h"
#include "tools/checkpoint/pickle.h"
#include "tools/checkpoint/readers.h"
#include "tools/checkpoint/torch_objects.h"
#include "tools/files/failure.h"

namespace ingot::checkpoint {
namespace {

constexpr uint64_t kMostPickle = uint64_t{1} << 30;

class ZipStorages : public StorageSource {
 public:
  ZipStorages(std::shared_ptr<Archive> archive, std::string folder, bool swapped)
      : archive_(std::move(archive)), folder_(std::move(folder)), swapped_(swapped) {}
  std::shared_ptr<const Storage> find(const StorageId& id, const std::string& where) override {
    for (const char c : id.key) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (!plain) refuse(where, "its storage's key is '" + id.key + "', expected letters and digits");
    }
    if (id.key.empty()) refuse(where, "its storage has no key");
    const std::string name = folder_ + id.key;
    if (!archive_->has(name)) refuse(where, "its storage '" + name + "' is not in the archive");
    const uint64_t expected = id.elements * element_bytes(id.type);
    if (id.elements > (uint64_t{1} << 58) || archive_->size(name) != expected)
      refuse(where, "its storage '" + name + "' has " + std::to_string(archive_->size(name)) + " bytes, expected " +
                        std::to_string(id.elements) + " elements of " + std::to_string(element_bytes(id.type)));
    return Archive::member(archive_, name);
  }
  bool swapped() const override { return swapped_; }

 private:
  [[noreturn]] static void refuse(const std::string& where, const std::string& why) {
    host::fail(host::Exit::kCorrupt, where + ": " + why + "; the file is damaged or was made to mislead");
  }
  std::shared_ptr<Archive> archive_;
  std::string folder_;
  bool swapped_;
};

/// The one folder that holds data.pkl; "" for an archive of something else.
std::string root_of(const Archive& archive, const std::string& path) {
  std::string root;
  bool found = false;
  for (const std::string& name : archive.names()) {
    const size_t slash = name.find('/');
    if (slash == std::string::npos || name.substr(slash + 1) != "data.pkl") continue;
    if (found && root != name.substr(0, slash + 1))
      host::fail(host::Exit::kCorrupt, path + ": two folders with data.pkl ('" + root + "' and '" +
                                           name.substr(0, slash + 1) +
                                           "'), expected one; the archive was made to mislead");
    root = name.substr(0, slash + 1);
    found = true;
  }
  return root;
}

std::string text_of(const std::vector<uint8_t>& bytes) { return std::string(bytes.begin(), bytes.end()); }

}  // namespace

Checkpoint read_torch_archive(const std::shared_ptr<Archive>& archive, const std::string& path,
                              const ReadLimits& limits) {
  const std::string root = root_of(*archive, path);
  if (root.empty()) {
    host::fail(host::Exit::kUnsupported, path +
                                             ": is a zip archive, but no checkpoint: expected the data.pkl of "
                                             "torch.save(), a torch.export program, or the arrays of an .npz");
  }
  Checkpoint out;
  out.file = path;
  out.format = archive->has(root + "constants.pkl") ? "torchscript" : "torch zip";
  bool swapped = false;
  if (archive->has(root + "byteorder")) {
    const std::string order = text_of(archive->read(root + "byteorder", 64));
    if (order != "little" && order != "big")
      host::fail(host::Exit::kCorrupt, path + ": byteorder is '" + order + "', expected 'little' or 'big'");
    swapped = order == "big";
    if (swapped) out.notes.push_back("was saved on a big-endian machine; its bytes are swapped");
  }
  const std::vector<uint8_t> pickle = archive->read(root + "data.pkl", kMostPickle);
  const std::string_view bytes(reinterpret_cast<const char*>(pickle.data()), pickle.size());
  const ValueTree tree = read_pickle(bytes, path + ": " + root + "data.pkl");
  ZipStorages storages(archive, root + "data/", swapped);
  collect_torch(tree, &storages, limits, &out);
  return out;
}

}  // namespace ingot::checkpoint
