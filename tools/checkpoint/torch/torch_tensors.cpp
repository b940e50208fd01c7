// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/torch/torch_tensors.h"

#include <cstring>

#include "tools/files/failure.h"

namespace ingot::checkpoint {
namespace {

std::string last_part(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

}  // namespace

void TensorBuilder::refuse(const std::string& owner, const std::string& why) const {
  host::fail(host::Exit::kCorrupt, file_ + ": tensor '" + owner + "': " + why +
                                       "; the file is damaged or was made to mislead");
}

std::string TensorBuilder::callee(NodeId id) const {
  if (id == kNoNode || tree_.at(id).kind != NodeKind::kCall) return "";
  return tree_.global_name(tree_.at(id).items[0]);
}

NodeId TensorBuilder::argument(NodeId call, size_t index) const {
  const Items& items = tree_.at(call).items;
  return index + 1 < items.size() ? items[index + 1] : kNoNode;
}

int64_t TensorBuilder::integer(NodeId id, const std::string& owner, const char* what) const {
  if (id == kNoNode ||
      (tree_.at(id).kind != NodeKind::kInteger && tree_.at(id).kind != NodeKind::kBool))
    refuse(owner, std::string(what) + " is no integer of 64 bits");
  return tree_.at(id).integer;
}

std::vector<int64_t> TensorBuilder::integers(NodeId id, const std::string& owner,
                                             const char* what) const {
  if (id != kNoNode && callee(id) == "torch.Size") id = argument(id, 0);
  if (id == kNoNode ||
      (tree_.at(id).kind != NodeKind::kTuple && tree_.at(id).kind != NodeKind::kList))
    refuse(owner, std::string(what) + " is no tuple");
  std::vector<int64_t> out;
  for (const NodeId item : tree_.at(id).items) out.push_back(integer(item, owner, what));
  return out;
}

StorageId TensorBuilder::storage_id(NodeId id, const std::string& owner, bool* quantized) const {
  if (id == kNoNode || tree_.at(id).kind != NodeKind::kPersistent)
    refuse(owner, "its storage is no reference");
  const Node& tuple = tree_.at(tree_.at(id).items[0]);
  const bool sound = tuple.kind == NodeKind::kTuple && tuple.items.size() >= 5 &&
                     tree_.at(tuple.items[0]).kind == NodeKind::kText &&
                     tree_.at(tuple.items[0]).text == "storage";
  if (!sound) refuse(owner, "its storage is no ('storage', type, key, location, elements)");
  StorageId out;
  const std::string type = tree_.global_name(tuple.items[1]);
  if (!from_torch(last_part(type), &out.type, quantized)) {
    host::fail(host::Exit::kUnsupported, file_ + ": tensor '" + owner + "': elements of type '" +
                                             type + "' are not read; save it in another type");
  }
  const Node& key = tree_.at(tuple.items[2]);
  out.key = key.kind == NodeKind::kInteger ? std::to_string(key.integer) : key.text;
  out.location = tree_.at(tuple.items[3]).text;
  const int64_t elements = integer(tuple.items[4], owner, "its storage's size");
  if (elements < 0) refuse(owner, "its storage has " + std::to_string(elements) + " elements");
  out.elements = uint64_t(elements);
  if (tuple.items.size() > 5 && tree_.at(tuple.items[5]).kind == NodeKind::kTuple) {
    const Items& view = tree_.at(tuple.items[5]).items;  // (key, offset, elements)
    const int64_t offset = view.size() == 3 ? integer(view[1], owner, "its storage's offset") : -1;
    if (offset < 0) refuse(owner, "its storage is a view that starts nowhere");
    out.view_offset = uint64_t(offset);
  }
  return out;
}

void TensorBuilder::set_storage(NodeId id, const std::string& owner, Tensor* out, bool* quantized) {
  const StorageId storage = storage_id(id, owner, quantized);
  out->type = storage.type;
  out->location = storage.location;
  out->swapped = storages_->swapped();
  std::shared_ptr<const Storage>& known = known_[storage.key];
  const uint64_t expected = storage.elements * element_bytes(storage.type);
  if (storage.elements > (uint64_t{1} << 58)) refuse(owner, "its storage's size overflows");
  if (!known) known = storages_->find(storage, file_ + ": tensor '" + owner + "'");
  if (known->size() < expected)
    refuse(owner, "its storage '" + storage.key + "' has " + std::to_string(known->size()) +
                      " bytes, expected " + std::to_string(expected));
  out->storage = known;
  out->offset = storage.view_offset;
}

/// (storage, offset, size, stride, ...) of every rebuild function.
void TensorBuilder::set_view(NodeId call, const std::string& owner, Tensor* out, bool* quantized) {
  set_storage(argument(call, 0), owner, out, quantized);
  const int64_t offset = integer(argument(call, 1), owner, "its offset");
  if (offset < 0) refuse(owner, "starts at element " + std::to_string(offset));
  if (__builtin_add_overflow(out->offset, uint64_t(offset), &out->offset))
    refuse(owner, "its offset overflows");
  out->dims = integers(argument(call, 2), owner, "its size");
  out->strides = integers(argument(call, 3), owner, "its stride");
}

void TensorBuilder::set_quantizer(NodeId id, const std::string& owner, Tensor* out) {
  if (id == kNoNode || tree_.at(id).kind != NodeKind::kTuple || tree_.at(id).items.size() < 3)
    refuse(owner, "its quantizer is no tuple");
  const Items& items = tree_.at(id).items;
  Quantization q;
  q.scheme = last_part(tree_.global_name(items[0]));
  if (q.scheme == "per_tensor_affine") {
    const Node& scale = tree_.at(items[1]);
    q.scales = {scale.kind == NodeKind::kInteger ? double(scale.integer) : scale.number};
    q.zero_points = {integer(items[2], owner, "its zero point")};
  } else if (items.size() >= 4) {
    Tensor scales, zero_points;
    if (!build(items[1], owner + " (scales)", &scales) ||
        !build(items[2], owner + " (zero points)", &zero_points))
      refuse(owner, "its scales are no tensor");
    if (scales.elements() > (1 << 24) || zero_points.elements() != scales.elements())
      refuse(owner, "it has " + std::to_string(scales.elements()) + " scales and " +
                        std::to_string(zero_points.elements()) + " zero points");
    const std::vector<uint8_t> s = tensor_bytes(scales), z = tensor_bytes(zero_points);
    for (int64_t i = 0; i < scales.elements(); i++) {
      double wide = 0;
      float narrow = 0;
      if (scales.type == ElementType::kF64)
        std::memcpy(&wide, s.data() + i * 8, 8);
      else if (scales.type == ElementType::kF32) {
        std::memcpy(&narrow, s.data() + i * 4, 4);
        wide = narrow;
      } else
        refuse(owner, "its scales are neither float32 nor float64");
      q.scales.push_back(wide);
      int64_t zero = 0;
      float zero_float = 0;
      if (zero_points.type == ElementType::kI64) {
        std::memcpy(&zero, z.data() + i * 8, 8);
        q.zero_points.push_back(zero);
      } else if (zero_points.type == ElementType::kF32) {
        std::memcpy(&zero_float, z.data() + i * 4, 4);
        q.float_zero_points.push_back(double(zero_float));
      } else {
        refuse(owner, "its zero points are neither int64 nor float32");
      }
    }
    q.axis = integer(items[3], owner, "its axis");
  } else {
    host::fail(host::Exit::kUnsupported,
               file_ + ": tensor '" + owner + "': quantization '" + q.scheme + "' is not read");
  }
  out->quantization = std::move(q);
}

/// (array or tensor of the host, type, device, requires_grad): how devices without storages of
/// torch's own are saved (XLA, Maia, ...). numpy has no bfloat16: such a tensor comes as the
/// float32 array of its values.
void TensorBuilder::set_moved(NodeId call, const std::string& owner, Tensor* out, int depth) {
  const NodeId value = argument(call, 0);
  const bool made = value != kNoNode && tree_.at(value).kind == NodeKind::kCall &&
                    (build_call(value, owner, out, depth + 1) || build_array(value, owner, out));
  if (!made) refuse(owner, "what was copied from its device is no array");
  const std::string type_name = tree_.global_name(argument(call, 1));
  ElementType type;
  bool quantized = false;
  if (!from_torch(last_part(type_name), &type, &quantized) || quantized)
    host::fail(host::Exit::kUnsupported,
               file_ + ": tensor '" + owner + "': type '" + type_name + "' is not read");
  if (type == ElementType::kBf16 && out->type == ElementType::kF32) {
    const std::vector<uint8_t> wide = tensor_bytes(*out);
    std::vector<uint8_t> narrow(wide.size() / 2);
    for (size_t i = 0; i < narrow.size(); i += 2) {
      if (wide[2 * i] || wide[2 * i + 1])
        refuse(owner, "was bfloat16 and has a value that bfloat16 has not");
      std::memcpy(&narrow[i], &wide[2 * i + 2], 2);
    }
    out->storage = memory_storage(std::move(narrow));
    out->offset = 0;
    out->swapped = false;
    int64_t stride = 1;
    for (size_t d = out->dims.size(); d-- > 0; stride *= out->dims[d] ? out->dims[d] : 1)
      out->strides[d] = stride;
    out->type = type;
  }
  if (out->type != type)
    refuse(owner,
           "was " + std::string(element_name(type)) + " and comes as " + element_name(out->type));
  const NodeId device = argument(call, 2);
  if (device != kNoNode && tree_.at(device).kind == NodeKind::kText)
    out->location = tree_.at(device).text;
  validate_view(*out, limits_, file_ + ": tensor '" + owner + "'");
}

bool TensorBuilder::build_call(NodeId id, const std::string& owner, Tensor* out, int depth) {
  if (depth > 8) refuse(owner, "is wrapped too often");
  const std::string name = last_part(callee(id));
  const std::string full = callee(id);
  if (full.compare(0, 6, "torch.") != 0) return false;
  bool quantized = false;
  if (name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state") {
    if (!build_call(argument(id, 0), owner, out, depth + 1))
      refuse(owner, "a parameter without a tensor");
    out->is_parameter = true;
    return true;
  }
  if (name == "_rebuild_from_type_v2" || name == "_rebuild_from_type") {
    // (function, type, arguments, state): the tensor that the function would make of the arguments.
    const std::string function = last_part(tree_.global_name(argument(id, 0)));
    const NodeId arguments = argument(id, 2);
    if (function == "_rebuild_parameter" && arguments != kNoNode &&
        !tree_.at(arguments).items.empty())
      return build_call(tree_.at(arguments).items[0], owner, out, depth + 1);
    host::fail(host::Exit::kUnsupported,
               file_ + ": tensor '" + owner + "': a subclass of Tensor ('" +
                   tree_.global_name(argument(id, 1)) + "') is not read; save a plain tensor");
  }
  if (name == "_rebuild_device_tensor_from_numpy" ||
      name == "_rebuild_device_tensor_from_cpu_tensor" || name == "_rebuild_xla_tensor") {
    set_moved(id, owner, out, depth);
    return true;
  }
  const bool plain =
      name == "_rebuild_tensor" || name == "_rebuild_tensor_v2" || name == "_rebuild_tensor_v3";
  if (!plain && name != "_rebuild_qtensor") return false;
  set_view(id, owner, out, &quantized);
  if (name == "_rebuild_qtensor") {
    set_quantizer(argument(id, 4), owner, out);
  } else if (quantized) {
    refuse(owner, "quantized elements without a quantizer");
  }
  if (name == "_rebuild_tensor_v3") {
    bool is_quantized;
    const std::string type = tree_.global_name(argument(id, 6));
    if (!from_torch(last_part(type), &out->type, &is_quantized) || is_quantized)
      host::fail(host::Exit::kUnsupported,
                 file_ + ": tensor '" + owner + "': type '" + type + "' is not read");
  }
  const NodeId metadata = argument(id, name == "_rebuild_tensor_v3" ? 7 : 6);
  const auto flag = [&](const char* key) {
    const NodeId value = plain && metadata != kNoNode ? tree_.find(metadata, key) : kNoNode;
    return value != kNoNode && tree_.at(value).integer != 0;
  };
  out->conjugated = flag("conj");
  out->negated = flag("neg");
  validate_view(*out, limits_, file_ + ": tensor '" + owner + "'");
  return true;
}

std::vector<uint8_t> TensorBuilder::raw_bytes(NodeId id) const {
  if (id == kNoNode) return {};
  if (callee(id) == "_codecs.encode") id = argument(id, 0);
  if (id == kNoNode) return {};
  const Node& node = tree_.at(id);
  if (node.kind == NodeKind::kBytes) return {node.text.begin(), node.text.end()};
  // Latin-1 kept as UTF-8, as protocol 2 has it.
  std::vector<uint8_t> out;
  for (size_t i = 0; i < node.text.size(); i++) {
    const uint8_t c = uint8_t(node.text[i]);
    if (c >= 0xc2 && c <= 0xc3 && i + 1 < node.text.size())
      out.push_back(uint8_t((c & 3) << 6 | (uint8_t(node.text[++i]) & 63)));
    else
      out.push_back(c);
  }
  return out;
}

bool TensorBuilder::numpy_type(NodeId id, ElementType* type, bool* swapped) const {
  if (callee(id) != "numpy.dtype" || argument(id, 0) == kNoNode) return false;
  std::string code = tree_.at(argument(id, 0)).text;
  *swapped = false;
  const NodeId state = tree_.at(id).state;
  if (state != kNoNode && tree_.at(state).items.size() > 1)
    *swapped = tree_.at(tree_.at(state).items[1]).text == ">";
  if (!code.empty() && (code[0] == '<' || code[0] == '>' || code[0] == '|' || code[0] == '=')) {
    *swapped = code[0] == '>';
    code.erase(0, 1);
  }
  constexpr struct {
    const char* code;
    ElementType type;
  } kCodes[] = {{"f4", ElementType::kF32}, {"f8", ElementType::kF64},  {"f2", ElementType::kF16},
                {"i1", ElementType::kI8},  {"u1", ElementType::kU8},   {"i2", ElementType::kI16},
                {"u2", ElementType::kU16}, {"i4", ElementType::kI32},  {"u4", ElementType::kU32},
                {"i8", ElementType::kI64}, {"u8", ElementType::kU64},  {"b1", ElementType::kBool},
                {"c8", ElementType::kC64}, {"c16", ElementType::kC128}};
  for (const auto& c : kCodes) {
    if (code != c.code) continue;
    *type = c.type;
    return true;
  }
  return false;
}

/// _reconstruct(ndarray, (0,), b'b') with the state (version, shape, dtype, column-major, bytes).
bool TensorBuilder::build_array(NodeId id, const std::string& owner, Tensor* out) {
  const std::string name = callee(id);
  if (!name.ends_with("multiarray._reconstruct")) return false;
  const NodeId state = tree_.at(id).state;
  if (state == kNoNode || tree_.at(state).items.size() < 5)
    refuse(owner, "a numpy array without its state");
  const Items& items = tree_.at(state).items;
  // strings, objects: no weights
  if (!numpy_type(items[2], &out->type, &out->swapped)) return false;
  out->dims = integers(items[1], owner, "its shape");
  const bool column_major = tree_.at(items[3]).integer != 0;
  out->strides.assign(out->dims.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < out->dims.size(); i++) {
    const size_t d = column_major ? i : out->dims.size() - 1 - i;
    out->strides[d] = stride;
    if (out->dims[d] < 0 ||
        __builtin_mul_overflow(stride, out->dims[d] ? out->dims[d] : 1, &stride))
      refuse(owner, "its shape overflows");
  }
  out->storage = memory_storage(raw_bytes(items[4]));
  out->location = "cpu";
  validate_view(*out, limits_, file_ + ": array '" + owner + "'");
  return true;
}

bool TensorBuilder::build(NodeId id, const std::string& owner, Tensor* out) {
  if (id == kNoNode) return false;
  if (tree_.at(id).kind == NodeKind::kPersistent) {
    const Node& key = tree_.at(tree_.at(id).items[0]);
    if (key.kind != NodeKind::kInteger || !storages_->tensor(key.integer, out)) return false;
    validate_view(*out, limits_, file_ + ": tensor '" + owner + "'");
    return true;
  }
  if (tree_.at(id).kind != NodeKind::kCall) return false;
  return build_call(id, owner, out, 0) || build_array(id, owner, out);
}

bool TensorBuilder::is_sparse(NodeId id, NodeId* parts) const {
  const std::string name = callee(id);
  if (name.compare(0, 6, "torch.") != 0 || last_part(name).compare(0, 15, "_rebuild_sparse") != 0)
    return false;
  *parts = argument(id, 1);
  return *parts != kNoNode;
}

bool TensorBuilder::scalar(NodeId id, FactValue* out) const {
  if (!callee(id).ends_with("multiarray.scalar")) return false;
  ElementType type;
  bool swapped;
  if (!numpy_type(argument(id, 0), &type, &swapped)) return false;
  std::vector<uint8_t> raw = raw_bytes(argument(id, 1));
  if (raw.size() != element_bytes(type)) return false;
  if (swapped) raw.assign(raw.rbegin(), raw.rend());
  const auto as = [&](auto example) {
    std::memcpy(&example, raw.data(), sizeof example);
    return example;
  };
  switch (type) {
    case ElementType::kF64: *out = as(double{}); return true;
    case ElementType::kF32: *out = double(as(float{})); return true;
    case ElementType::kI64: *out = as(int64_t{}); return true;
    case ElementType::kI32: *out = int64_t(as(int32_t{})); return true;
    case ElementType::kBool: *out = raw[0] != 0; return true;
    case ElementType::kU8: *out = int64_t(raw[0]); return true;
    default: return false;
  }
}

}  // namespace ingot::checkpoint
