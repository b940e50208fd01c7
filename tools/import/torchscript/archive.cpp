// SPDX-License-Identifier: Apache-2.0
#include "tools/import/torchscript/archive.h"

#include <algorithm>

#include "tools/checkpoint/torch/pickle.h"
#include "tools/checkpoint/torch/torch_archive.h"
#include "tools/files/failure.h"
#include "tools/import/torchscript/import.h"
#include "tools/import/torchscript/parse.h"

namespace ingot::torchscript {
namespace {

using checkpoint::ElementType;
using checkpoint::kNoNode;
using checkpoint::NodeId;
using checkpoint::NodeKind;

constexpr uint64_t kMaxPickle = uint64_t{256} << 20;

checkpoint::ValueTree read_tree(const checkpoint::Archive& archive, const std::string& path,
                                const std::string& member) {
  const std::vector<uint8_t> pickle = archive.read(member, kMaxPickle);
  return checkpoint::read_pickle({reinterpret_cast<const char*>(pickle.data()), pickle.size()},
                                 path + ": " + member);
}

bool has_folder(const checkpoint::Archive& archive, const std::string& folder) {
  return std::any_of(archive.names().begin(), archive.names().end(),
                     [&](const std::string& name) { return name.rfind(folder, 0) == 0; });
}

std::string view_key(const checkpoint::Tensor& tensor) {
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(tensor.storage.get())) + "@" +
                    std::to_string(tensor.offset) + "/" + std::to_string(int(tensor.type));
  for (size_t i = 0; i < tensor.dims.size(); i++)
    key += "," + std::to_string(tensor.dims[i]) + "*" + std::to_string(tensor.strides[i]);
  return key;
}

/// Type and shape of _rebuild_tensor_v2((..., type, ...), offset, size, ...): the writer keeps no
/// elements of example inputs.
TracedInput example_of(const checkpoint::ValueTree& tree, NodeId id) {
  TracedInput out;
  const checkpoint::Node& call = tree.at(id);
  if (call.kind != NodeKind::kCall || call.items.size() < 4 ||
      tree.global_name(call.items[0]) != "torch._utils._rebuild_tensor_v2")
    return out;
  const checkpoint::Node &persistent = tree.at(call.items[1]), &size = tree.at(call.items[3]);
  if (persistent.kind != NodeKind::kPersistent || size.kind != NodeKind::kTuple) return out;
  const checkpoint::Node& storage = tree.at(persistent.items.at(0));
  if (storage.kind != NodeKind::kTuple || storage.items.size() < 2) return out;
  std::string type = tree.global_name(storage.items[1]);
  type = type.substr(type.rfind('.') + 1);
  ElementType element;
  bool quantized = false;
  if (!checkpoint::from_torch(type, &element, &quantized) || quantized) return out;
  for (const NodeId extent : size.items) {
    if (tree.at(extent).kind != NodeKind::kInteger || tree.at(extent).integer < 0) return out;
    out.dims.push_back(tree.at(extent).integer);
  }
  out.dtype = dtype_of(element);
  return out;
}

Pickled::Loaded loaded(const checkpoint::Tensor& tensor) {
  Pickled::Loaded out;
  const DType dtype = dtype_of(tensor.type);
  const bool known = !tensor.quantization || tensor.quantization->scheme == "per_tensor_affine" ||
                     tensor.quantization->scheme == "per_channel_affine" ||
                     tensor.quantization->scheme == "per_channel_affine_float_qparams";
  if (!known)
    out.why = "is quantized (" + tensor.quantization->scheme + ")";
  else if (dtype == DType::kInvalid)
    out.why = std::string("has elements of type ") + checkpoint::element_name(tensor.type);
  else if (tensor.dims.size() > size_t(kMaxRank))
    out.why = "has " + std::to_string(tensor.dims.size()) + " dimensions, at most " +
              std::to_string(kMaxRank) + " are supported";
  if (!out.why.empty()) return out;
  out.quantization = tensor.quantization;
  out.constant.dtype = dtype;
  out.constant.dims = tensor.dims;
  if (tensor.elements() == 0) return out;
  auto bytes = std::make_shared<std::vector<uint8_t>>(checkpoint::tensor_bytes(tensor));
  if (dtype == DType::kBool)
    for (uint8_t& b : *bytes) b = b != 0;
  out.constant.bytes = std::move(bytes);
  return out;
}

}  // namespace

Pickled::Pickled(const std::shared_ptr<checkpoint::Archive>& archive, const std::string& path,
                 const std::string& root, const std::string& name, const std::string& folder)
    : storages_(std::make_unique<checkpoint::ZipStorages>(
          archive, root + folder + "/", checkpoint::is_big_endian(*archive, root, path))),
      tree_(read_tree(*archive, path, root + name + ".pkl")),
      builder_(tree_, storages_.get(), limits_, path) {}

Pickled::Pickled(checkpoint::MobileProgram program, const std::string& path)
    : storages_(std::move(program.storages)),
      tree_(std::move(program.tree)),
      builder_(tree_, storages_.get(), limits_, path) {}

bool Pickled::tensor(NodeId id, const std::string& owner, Loaded* out) {
  const auto [found, fresh] = known_.emplace(id, std::nullopt);
  if (fresh) {
    checkpoint::Tensor tensor;
    NodeId parts;
    if (builder_.is_sparse(id, &parts)) {
      found->second = Known{{{}, {}, "is sparse"}, int64_t(id)};
    } else if (builder_.build(id, owner, &tensor)) {
      Known known;
      known.identity = int64_t(views_.emplace(view_key(tensor), id).first->second);
      known.loaded = loaded(tensor);
      found->second = std::move(known);
    }
  }
  if (!found->second) return false;
  *out = found->second->loaded;
  return true;
}

int64_t Pickled::identity(NodeId id) const {
  const auto found = known_.find(id);
  return found == known_.end() || !found->second ? -1 : found->second->identity;
}

DType Archive::floating_type() const {
  // Storages name their type wherever a tensor refers to them, so nothing has to be read.
  bool half = false, brain = false, other = false;
  const checkpoint::ValueTree& tree = data_->tree();
  for (checkpoint::NodeId id = 0; id < tree.nodes.size(); id++) {
    const std::string name = tree.global_name(id);
    half |= name == "torch.HalfStorage";
    brain |= name == "torch.BFloat16Storage";
    other |= name == "torch.FloatStorage" || name == "torch.DoubleStorage";
  }
  if (other || half == brain) return DType::kF32;
  return half ? DType::kF16 : DType::kBF16;
}

bool is_torchscript(const importer::OpenedFile& file) {
  if (!file.archive) return file.kind == host::FileKind::kMobile;
  const std::string root = checkpoint::torch_root(*file.archive, file.path);
  if (root.empty()) return false;
  const bool has_code =
      file.archive->has(root + "constants.pkl") && has_folder(*file.archive, root + "code/");
  return has_code || file.archive->has(root + "bytecode.pkl");
}

Archive::Archive(const importer::OpenedFile& file) : path_(file.path), archive_(file.archive) {
  if (archive_)
    open_zip();
  else
    open_flat();
}

void Archive::open_flat() {
  using checkpoint::MobilePart;
  data_ = std::make_unique<Pickled>(read_mobile_program(path_, MobilePart::kObject), path_);
  constants_ = std::make_unique<Pickled>(read_mobile_program(path_, MobilePart::kBytecode), path_);
  bytecode_ = std::make_shared<const Bytecode>(read_bytecode(constants_->tree(), path_));
}

void Archive::open_zip() {
  root_ = checkpoint::torch_root(*archive_, path_);
  if (root_.empty())
    host::fail(host::Exit::kUnsupported,
               path_ + ": is a zip archive without data.pkl, expected TorchScript");
  data_ = std::make_unique<Pickled>(archive_, path_, root_, "data", "data");
  if (archive_->has(root_ + "bytecode.pkl") && !has_folder(*archive_, root_ + "code/")) {
    // until torch 1.8 its tensors lay in a folder of their own
    const std::string folder =
        has_folder(*archive_, root_ + "bytecode/") ? "bytecode" : "constants";
    constants_ = std::make_unique<Pickled>(archive_, path_, root_, "bytecode", folder);
    bytecode_ = std::make_shared<const Bytecode>(read_bytecode(constants_->tree(), path_));
  } else if (archive_->has(root_ + "constants.pkl")) {
    constants_ = std::make_unique<Pickled>(archive_, path_, root_, "constants", "constants");
  }
  if (!archive_->has(root_ + "traced_inputs.pkl")) return;
  const checkpoint::ValueTree tree = read_tree(*archive_, path_, root_ + "traced_inputs.pkl");
  const auto untagged = [&](NodeId id) {  // restore_type_tag(value, type)
    for (int i = 0; i < 4 && id != kNoNode && tree.at(id).kind == NodeKind::kCall &&
                    tree.at(id).items.size() > 1 &&
                    tree.global_name(tree.at(id).items[0]) == "torch.jit._pickle.restore_type_tag";
         i++)
      id = tree.at(id).items[1];
    return id;
  };
  const NodeId all = untagged(tree.root);
  const NodeId list = all == kNoNode ? kNoNode : untagged(tree.find(all, "forward"));
  if (list == kNoNode) return;
  for (const NodeId item : tree.at(list).items) traced_.push_back(example_of(tree, item));
}

Library Archive::library() const {
  if (!bytecode_) return Library(path_, [this](const std::string& member) { return code(member); });
  return Library(path_, [path = path_, bytecode = bytecode_](const std::string& member) {
    return file_of_bytecode(*bytecode, member, path);
  });
}

std::optional<std::string> Archive::code(const std::string& member) const {
  const std::string name = root_ + "code/" + member;
  if (!archive_ || !archive_->has(name)) return std::nullopt;
  const std::vector<uint8_t> bytes = archive_->read(name, kMaxCode);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace ingot::torchscript
