// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/julia/jld2.cpp - JLD2: Julia's objects in HDF5. Types are committed datatypes
// with the attribute julia_type; fields that hold nothing (functions) are left out of the data and
// named by their type's attributes.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "tools/checkpoint/hdf5/hdf5_file.h"
#include "tools/checkpoint/julia/julia_value.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr int kMaxJld2Depth = 96;

class Jld2Reader {
 public:
  Jld2Reader(const std::string& path, const ReadLimits& limits) : limits_(limits) {
    const auto mapped = MappedFile::open(path);
    file_ = Hdf5File::open({mapped, mapped->data(), mapped->size()}, path);
    out_.file = path;
    out_.format = "jld2";
  }

  JuliaTree read() {
    JuliaNode root;
    root.kind = JuliaKind::kStruct;
    const Hdf5Object top = file_->object(file_->root());
    for (const Hdf5Link& link : top.links) {
      if (link.is_soft || link.name == "_types") continue;
      root.names.push_back(link.name);
      root.items.push_back(object(link.object, 0));
    }
    out_.root = add(std::move(root));
    return std::move(out_);
  }

 private:
  /// A committed type: its Julia name, what it is applied to, and the types of its fields.
  struct Type {
    JuliaId node = kNoJulia;
    std::vector<std::string> field_names;
    std::vector<uint64_t> field_types;  // addresses; 0 where the file needs none
  };

  JuliaId add(JuliaNode node) {
    if (out_.nodes.size() >= limits_.entries)
      file_->refuse("holds more than " + std::to_string(limits_.entries) + " values");
    host::charge_work(1);
    return out_.add(std::move(node));
  }
  JuliaId unknown(const std::string& what) { return add(unknown_node(what)); }
  uint64_t address_of(const uint8_t* data) const {
    uint64_t n = 0;
    for (uint32_t i = 0; i < file_->address_bytes(); i++) n |= uint64_t(data[i]) << (8 * i);
    return n;
  }
  bool is_reference(const Hdf5Type& type) const {
    return type.kind == Hdf5Class::kReference && type.size == file_->address_bytes();
  }

  const Type& type_at(uint64_t address, int depth) {
    const auto known = types_.find(address);
    if (known != types_.end()) return known->second;
    if (depth > kMaxJld2Depth) file_->refuse("types nest too deep");
    JuliaNode node;
    node.kind = JuliaKind::kType;
    const JuliaId id = add(std::move(node));
    types_[address].node = id;  // a type may mention itself
    const Hdf5Object object = file_->object(address);
    Type made;
    made.node = id;
    for (const Hdf5Attribute& a : object.attributes) {
      if (a.name == "julia_type" || a.name == "julia type") read_name(a, id, depth);
      if (a.name == "field_names" && a.elements < 4096)
        made.field_names = file_->texts(a.type, a.data, a.elements);
      if (a.name == "field_datatypes" && is_reference(a.type))
        for (uint64_t i = 0; i < a.elements; i++)
          made.field_types.push_back(address_of(a.data + i * a.type.size));
    }
    if (made.field_names.empty())
      for (const Hdf5Member& member : object.type.members) made.field_names.push_back(member.name);
    return types_[address] = std::move(made);
  }
  void read_name(const Hdf5Attribute& a, JuliaId id, int depth) {
    if (a.elements != 1 || a.type.kind != Hdf5Class::kCompound) return;
    for (const Hdf5Member& member : a.type.members) {
      const uint8_t* at = a.data + member.offset;
      if (member.name == "name" && member.type.kind == Hdf5Class::kVariable) {
        std::string name = file_->texts(member.type, at, 1)[0];
        if (name.rfind("Main.", 0) == 0) name = name.substr(5);
        out_.nodes[id].text = name;
      }
      if (member.name != "parameters" || member.type.kind != Hdf5Class::kVariable ||
          !member.type.base || !is_reference(*member.type.base) ||
          member.type.size != file_->variable_bytes())
        continue;
      uint64_t count = 0;
      Cursor items = file_->heap_object(at, &count);
      const uint32_t width = file_->address_bytes();
      for (uint64_t i = 0; i < count && items.left() >= width; i++) {
        const JuliaId parameter =
            type_or_value(address_of(items.bytes(width, "a parameter")), depth + 1);
        host::charge_metadata(2 * sizeof parameter);
        out_.nodes[id].items.push_back(parameter);
      }
    }
  }
  /// What a reference inside of a type leads to: a committed type, or a value such as a number or a
  /// symbol.
  JuliaId type_or_value(uint64_t address, int depth) {
    if (address == 0 || address == UINT64_MAX) return add(JuliaNode());
    const Hdf5Object found = file_->object(address);
    return found.has_type && !found.has_space ? type_at(address, depth).node
                                              : object(address, depth);
  }

  JuliaId object(uint64_t address, int depth) {
    if (address == 0 || address == UINT64_MAX) return add(JuliaNode());
    const auto known = objects_.find(address);
    if (known != objects_.end()) return known->second;
    if (depth > kMaxJld2Depth)
      file_->refuse("objects nest more than " + std::to_string(kMaxJld2Depth) + " levels");
    if (!open_.insert(address).second) return unknown("holds itself");
    const JuliaId made = fresh(address, depth);
    open_.erase(address);
    return objects_[address] = made;
  }
  JuliaId fresh(uint64_t address, int depth) {
    const Hdf5Object object = file_->object(address);
    if (object.is_group) {
      JuliaNode node;
      node.kind = JuliaKind::kStruct;
      for (const Hdf5Link& link : object.links) {
        if (link.is_soft) continue;
        node.names.push_back(link.name);
        node.items.push_back(this->object(link.object, depth + 1));
      }
      return add(std::move(node));
    }
    if (object.has_type && !object.has_space) return type_at(address, depth).node;
    if (!object.is_dataset()) return unknown("is neither data nor a group");
    const std::string where = "the dataset at " + std::to_string(address);
    if (object.is_null) return ghost(object.type.committed, depth);
    const std::shared_ptr<const Storage> storage = file_->storage(object, where);
    Tensor tensor;
    if (!object.dims.empty() && hdf5_element_type(object.type, &tensor.type, &tensor.swapped)) {
      // Julia's order: the first extent is the fastest
      tensor.dims.assign(object.dims.rbegin(), object.dims.rend());
      int64_t stride = 1;
      for (const int64_t d : tensor.dims) {
        tensor.strides.push_back(stride);
        stride *= std::max<int64_t>(d, 1);
      }
      tensor.storage = storage;
      validate_view(tensor, limits_, file_->where() + ": " + where);
      JuliaNode node;
      node.kind = JuliaKind::kArray;
      node.tensor = std::make_shared<const Tensor>(std::move(tensor));
      return add(std::move(node));
    }
    const Bytes bytes = storage->load();
    if (object.dims.empty()) return element(object.type, object.type.committed, bytes.data, depth);
    if (object.elements() > file_->size())
      file_->refuse(where + " has " + std::to_string(object.elements()) + " elements");
    JuliaNode node;
    node.kind = JuliaKind::kList;
    for (uint64_t i = 0; i < object.elements(); i++)
      node.items.push_back(
          element(object.type, object.type.committed, bytes.data + i * object.type.size, depth));
    return add(std::move(node));
  }
  /// A value that is its type alone: nothing, a function.
  JuliaId ghost(uint64_t type, int depth) {
    JuliaNode node;
    if (type) {
      node.kind = JuliaKind::kStruct;
      node.type = type_at(type, depth + 1).node;
      const std::string& name = out_.at(node.type).text;
      if (name == "Core.Nothing" || name == "Nothing") return add(JuliaNode());
    }
    return add(std::move(node));
  }

  JuliaId element(const Hdf5Type& type, uint64_t committed, const uint8_t* data, int depth) {
    if (depth > kMaxJld2Depth)
      file_->refuse("objects nest more than " + std::to_string(kMaxJld2Depth) + " levels");
    JuliaNode node;
    switch (type.kind) {
      case Hdf5Class::kReference:
        if (!is_reference(type)) return unknown("is a reference of another kind");
        return object(address_of(data), depth + 1);
      case Hdf5Class::kVariable:
      case Hdf5Class::kText:
        if (type.kind == Hdf5Class::kVariable && !type.is_text)
          return unknown("is a list of variable length");
        node.kind = JuliaKind::kText;
        node.text = file_->texts(type, data, 1)[0];
        return add(std::move(node));
      case Hdf5Class::kCompound: return compound(type, committed, data, depth);
      case Hdf5Class::kOpaque:
      case Hdf5Class::kBits: {
        const std::string name = committed ? out_.at(type_at(committed, depth + 1).node).text : "";
        if (type.size == 1 && (name.empty() || name == "Core.Bool" || name == "Bool")) {
          node.kind = JuliaKind::kBool;
          node.integer = data[0] != 0;
          return add(std::move(node));
        }
        return unknown("is a '" + name + "' by its bytes");
      }
      default: {
        Hdf5Attribute one;
        one.type = type;
        one.data = data;
        one.elements = 1;
        const FactValue value = file_->value(one);
        if (const int64_t* n = std::get_if<int64_t>(&value)) {
          node.kind = JuliaKind::kInteger;
          node.integer = *n;
        } else if (const double* x = std::get_if<double>(&value)) {
          node.kind = JuliaKind::kFloat;
          node.number = *x;
        } else if (const bool* truth = std::get_if<bool>(&value)) {
          node.kind = JuliaKind::kBool;
          node.integer = *truth;
        } else {
          return unknown("is of a type that is not read");
        }
        return add(std::move(node));
      }
    }
  }

  JuliaId compound(const Hdf5Type& type, uint64_t committed, const uint8_t* data, int depth) {
    JuliaNode node;
    node.kind = JuliaKind::kStruct;
    Type julia;
    if (committed) {
      julia = type_at(committed, depth + 1);
      node.type = julia.node;
    } else {
      for (const Hdf5Member& member : type.members) julia.field_names.push_back(member.name);
    }
    for (size_t i = 0; i < julia.field_names.size(); i++) {
      const std::string& name = julia.field_names[i];
      const uint64_t field_type = i < julia.field_types.size() ? julia.field_types[i] : 0;
      const auto member = std::find_if(type.members.begin(), type.members.end(),
                                       [&](const Hdf5Member& m) { return m.name == name; });
      node.names.push_back(name);
      if (member == type.members.end())
        node.items.push_back(ghost(field_type, depth));
      else
        node.items.push_back(element(member->type, field_type, data + member->offset, depth + 1));
    }
    return add(std::move(node));
  }

  const ReadLimits& limits_;
  std::shared_ptr<const Hdf5File> file_;
  std::map<uint64_t, Type> types_;
  std::map<uint64_t, JuliaId> objects_;
  std::set<uint64_t> open_;
  JuliaTree out_;
};

}  // namespace

JuliaTree read_jld2(const std::string& path, const ReadLimits& limits) {
  return Jld2Reader(path, limits).read();
}

}  // namespace ingot::checkpoint
