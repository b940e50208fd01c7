// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/torch_distributed.cpp - a folder of torch.distributed.checkpoint: what
// there is in .metadata, a pickle; the values in the files of the ranks, each saved by torch.save()
// at an offset. The chunks of a tensor are put together when it is read.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "tools/checkpoint/tensors/chunked_storage.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/checkpoint/torch/pickle.h"
#include "tools/checkpoint/torch/torch_objects.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

using Extents = std::vector<int64_t>;

/// Bytes of one of the files.
struct Part {
  std::shared_ptr<const MappedFile> file;
  std::string name;
  uint64_t offset = 0, length = 0;
};

/// One value of torch.save().
Checkpoint read_part(const Part& part, const std::string& where, const ReadLimits& limits) {
  const std::string place =
      where + " in '" + part.name + "' at byte " + std::to_string(part.offset);
  return read_torch_archive(Archive::open_part(part.file, part.offset, part.length, place), place,
                            limits);
}

class DistributedReader {
 public:
  DistributedReader(const std::string& folder, const ReadLimits& limits)
      : folder_(folder), limits_(limits), where_((folder_ / ".metadata").string()) {}

  Checkpoint read() {
    out_.file = folder_.string();
    out_.format = "torch.distributed";
    const std::shared_ptr<const MappedFile> file = MappedFile::open(where_);
    tree_ =
        read_pickle({reinterpret_cast<const char*>(file->data()), size_t(file->size())}, where_);
    if (class_of(tree_.root) != "Metadata")
      refuse(
          "is no description of a torch.distributed checkpoint, expected the pickle of a "
          "Metadata");
    read_places();
    read_paths();
    const std::vector<NodeId>& values = pairs(field(tree_.root, "state_dict_metadata"));
    for (size_t i = 0; i + 1 < values.size(); i += 2) add(text(values[i]), values[i + 1]);
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    host::fail(host::Exit::kCorrupt, where_ + ": " + why + "; get the folder anew");
  }

  /// "Metadata" of an instance, whatever module its class lies in: torch has moved some.
  std::string class_of(NodeId id) const {
    if (id == kNoNode || tree_.at(id).kind != NodeKind::kCall) return "";
    const std::string name = tree_.global_name(tree_.at(id).items[0]);
    return name.substr(name.rfind('.') + 1);
  }
  NodeId field(NodeId object, const char* name) const {
    const NodeId found =
        class_of(object).empty() ? kNoNode : tree_.find(tree_.at(object).state, name);
    if (found == kNoNode) refuse("a " + class_of(object) + " lacks '" + name + "'");
    return found;
  }
  const std::vector<NodeId>& pairs(NodeId id) const {
    const Node& node = tree_.at(id);
    if (node.kind == NodeKind::kDict) return node.items;
    if (node.kind != NodeKind::kCall || !node.extra_is_pairs) refuse("a table of it is none");
    return node.extra;
  }
  const std::string& text(NodeId id) const {
    if (tree_.at(id).kind != NodeKind::kText) refuse("a name of it is no text");
    return tree_.at(id).text;
  }
  int64_t integer(NodeId id) const {
    if (tree_.at(id).kind != NodeKind::kInteger || !tree_.at(id).text.empty())
      refuse("a number of it is no whole number of 64 bits");
    return tree_.at(id).integer;
  }
  /// torch.Size((2, 3)), or the numbers alone.
  Extents extents(NodeId id) const {
    if (class_of(id) == "Size") {
      if (tree_.at(id).items.size() < 2) return {};
      id = tree_.at(id).items[1];
    }
    const Node& node = tree_.at(id);
    if (node.kind != NodeKind::kTuple && node.kind != NodeKind::kList)
      refuse("a size of it is none");
    Extents out;
    host::charge_work(1 + node.items.size());
    for (const NodeId item : node.items) out.push_back(integer(item));
    return out;
  }

  /// Where each value and each chunk lies.
  void read_places() {
    const std::vector<NodeId>& all = pairs(field(tree_.root, "storage_data"));
    for (size_t i = 0; i + 1 < all.size(); i += 2) {
      const NodeId key = all[i], info = all[i + 1];
      const NodeId at = tree_.find(tree_.at(key).state, "offset");
      const bool is_chunk = at != kNoNode && tree_.at(at).kind != NodeKind::kNone;
      places_[{text(field(key, "fqn")), is_chunk ? extents(at) : Extents()}] = info;
    }
  }
  /// Names in the state that was saved: ("model", "layer.weight") of "model.layer.weight".
  void read_paths() {
    const NodeId data = tree_.find(tree_.at(tree_.root).state, "planner_data");
    if (data == kNoNode || tree_.at(data).kind != NodeKind::kDict) return;
    const std::vector<NodeId>& all = pairs(data);
    for (size_t i = 0; i + 1 < all.size(); i += 2) {
      const Node& path = tree_.at(all[i + 1]);
      if (path.kind != NodeKind::kTuple || path.items.empty()) continue;
      Path names;
      host::charge_metadata(path.items.size() * sizeof(std::string));
      for (const NodeId item : path.items) {
        const Node& name = tree_.at(item);
        names.push_back(name.kind == NodeKind::kInteger ? std::to_string(name.integer)
                                                        : text(item));
      }
      paths_[text(all[i])] = std::move(names);
    }
  }

  Part part_of(const std::string& name, const Extents& offsets) {
    const auto found = places_.find({name, offsets});
    if (found == places_.end())
      refuse("'" + name + "' has a chunk that lies nowhere; a rank did not finish saving");
    const NodeId info = found->second;
    const NodeId transforms = tree_.find(tree_.at(info).state, "transform_descriptors");
    if (transforms != kNoNode && tree_.at(transforms).kind != NodeKind::kNone)
      host::fail(host::Exit::kUnsupported,
                 where_ + ": '" + name +
                     "' was saved through extensions (compressed, say), which "
                     "are not read; save it without");
    Part part;
    part.name = text(field(info, "relative_path"));
    if (part.name.empty() || part.name.find_first_of("/\\") != std::string::npos ||
        part.name == "." || part.name == "..")
      host::fail(host::Exit::kUnsafe, where_ + ": '" + name + "' lies in '" + part.name +
                                          "', expected the name of a file beside it");
    part.file = open(part.name);
    const int64_t offset = integer(field(info, "offset")), length = integer(field(info, "length"));
    if (offset < 0 || length < 0 || uint64_t(offset) > part.file->size() ||
        uint64_t(length) > part.file->size() - uint64_t(offset))
      refuse("'" + name + "' lies at " + std::to_string(offset) + " with " +
             std::to_string(length) + " bytes, but '" + part.name + "' has " +
             std::to_string(part.file->size()));
    part.offset = uint64_t(offset), part.length = uint64_t(length);
    return part;
  }
  std::shared_ptr<const MappedFile> open(const std::string& name) {
    std::shared_ptr<const MappedFile>& file = files_[name];
    if (file) return file;
    const std::string path = (folder_ / name).string();
    if (!std::filesystem::is_regular_file(path))
      host::fail(host::Exit::kUnavailable,
                 path + ": no such file, but " + where_ + " names it; get the files of all ranks");
    return file = MappedFile::open(path);
  }

  void add(const std::string& name, NodeId value) {
    const auto known = paths_.find(name);
    Path path = known == paths_.end() ? Path{name} : known->second;
    if (!given_.insert(path).second) refuse("'" + path_text(path) + "' is there twice");
    const std::string kind = class_of(value), where = where_ + ": '" + name + "'";
    if (kind == "BytesStorageMetadata") return add_value(part_of(name, {}), std::move(path), where);
    if (kind != "TensorStorageMetadata")
      host::fail(host::Exit::kUnsupported, where + " is a " + (kind.empty() ? "thing" : kind) +
                                               ", expected a tensor or a value");
    add_tensor(name, std::move(path), value, where);
  }
  /// Anything but a tensor: facts, and tensors that it holds.
  void add_value(const Part& part, Path below, const std::string& where) {
    Checkpoint one = read_part(part, where, limits_);
    const auto whole = [&](const Path& path) {
      Path joined = below;
      joined.insert(joined.end(), path.begin(), path.end());
      return joined;
    };
    for (Fact& fact : one.facts) out_.say(whole(fact.path), std::move(fact.value));
    for (Tensor& tensor : one.tensors) {
      tensor.path = whole(tensor.path);
      out_.add(std::move(tensor));
    }
  }

  ElementType type_of(NodeId value, const std::string& where) const {
    const NodeId properties = field(value, "properties");
    const NodeId state = tree_.at(properties).state;
    if (class_of(properties) != "TensorProperties" || state == kNoNode ||
        tree_.at(state).kind != NodeKind::kTuple || tree_.at(state).items.empty())
      refuse("the properties of a tensor have another form than torch writes");
    const std::string name = tree_.global_name(tree_.at(state).items[0]);
    ElementType type;
    bool is_quantized = false;
    if (!from_torch(name, &type, &is_quantized) || is_quantized)
      host::fail(host::Exit::kUnsupported,
                 where + " has elements of type '" + name + "', which is not read here");
    return type;
  }

  void add_tensor(const std::string& name, Path path, NodeId value, const std::string& where) {
    Tensor tensor;
    tensor.path = std::move(path);
    tensor.type = type_of(value, where);
    tensor.dims = extents(field(value, "size"));
    tensor.strides = dense_strides(tensor.dims);
    std::vector<Chunk> chunks;
    const Node& list = tree_.at(field(value, "chunks"));
    if (list.kind != NodeKind::kList) refuse("the chunks of '" + name + "' are no list");
    for (const NodeId each : list.items) {
      Chunk chunk;
      chunk.offsets = extents(field(each, "offsets"));
      chunk.sizes = extents(field(each, "sizes"));
      const Part part = part_of(name, chunk.offsets);
      require_room(chunk.sizes, tensor.type, part, where);
      const ReadLimits limits = limits_;
      chunk.open = [part, where, limits] {
        Checkpoint one = read_part(part, where, limits);
        if (one.tensors.size() != 1)
          host::fail(host::Exit::kCorrupt, where + ": its chunk in '" + part.name + "' holds " +
                                               std::to_string(one.tensors.size()) +
                                               " tensors, expected one; get the folder anew");
        return read_little_endian(std::move(one.tensors[0]));
      };
      constexpr uint64_t kChunk = 400;
      host::charge_metadata(kChunk + 32 * chunk.sizes.size());
      chunks.push_back(std::move(chunk));
    }
    tensor.storage = chunked_storage(tensor.type, tensor.dims, std::move(chunks), where);
    validate_view(tensor, limits_, where);
    out_.add(std::move(tensor));
  }
  /// No chunk is larger than its part of the file, so that a tensor cannot be either.
  void require_room(const Extents& sizes, ElementType type, const Part& part,
                    const std::string& where) const {
    uint64_t bytes = element_bytes(type);
    bool overflow = false;
    for (const int64_t size : sizes)
      overflow |= size < 0 || __builtin_mul_overflow(bytes, uint64_t(size), &bytes);
    if (overflow || bytes > part.length)
      host::fail(host::Exit::kCorrupt, where + ": its chunk in '" + part.name + "' has " +
                                           std::to_string(part.length) +
                                           " bytes, fewer than its elements; get the folder anew");
  }
  /// What is only stated of a tensor and not done to its bytes would be lost among other chunks.
  static Tensor read_little_endian(Tensor tensor) {
    if (!tensor.swapped && !tensor.negated && !tensor.conjugated) return tensor;
    Tensor done = tensor;
    done.storage = memory_storage(tensor_bytes(tensor));
    done.strides = dense_strides(done.dims);
    done.offset = 0, done.swapped = done.negated = done.conjugated = false;
    return done;
  }

  const std::filesystem::path folder_;
  const ReadLimits& limits_;
  const std::string where_;
  ValueTree tree_;
  std::map<std::pair<std::string, Extents>, NodeId> places_;
  std::map<std::string, Path> paths_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
  std::set<Path> given_;
  Checkpoint out_;
};

}  // namespace

Checkpoint read_torch_distributed(const std::string& folder, const ReadLimits& limits) {
  return DistributedReader(folder, limits).read();
}

}  // namespace ingot::checkpoint
