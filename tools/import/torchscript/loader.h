// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/loader.h - the objects of an archive as values of one run of the
// program: modules with their attributes, tensors as constants of the graph that is being built.
// Sharing is kept: what was one object or one tensor is one again.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/import/aten/builder.h"
#include "tools/import/torchscript/archive.h"
#include "tools/import/torchscript/objects.h"

namespace ingot::torchscript {

class Loader {
 public:
  /// `restores`: whether a class makes its objects of their state itself, by __setstate__(). Such
  /// an object has its state in Object::state, and no attributes yet.
  Loader(Pickled& pickled, aten::Builder& builder,
         std::function<bool(const std::string& type)> restores)
      : pickled_(pickled), builder_(builder), restores_(std::move(restores)) {}

  /// The value of the pickle's root; tensors are named `name`.attribute.attribute.
  Value load(const std::string& name);
  /// A tuple of those.
  Value load(const std::vector<checkpoint::NodeId>& nodes, const std::string& name);
  /// Objects in the order in which they were met.
  const std::vector<std::shared_ptr<Object>>& objects() const { return objects_; }
  /// Those that have a state, in the order in which torch makes them: what others hold first.
  const std::vector<std::shared_ptr<Object>>& restored() const { return restored_; }
  const std::vector<graph::ValueId>& constants() const { return constants_; }

 private:
  Value value(checkpoint::NodeId id, const std::string& path, int depth);
  Value items(const checkpoint::Node& node, const std::string& path, int depth, bool is_tuple);
  Value dictionary(const checkpoint::Node& node, const std::string& path, int depth);
  Value call(checkpoint::NodeId id, const std::string& path, int depth);
  Value quantized(const Pickled::Loaded& loaded, const std::string& path);
  Value quantized_rows(const Pickled::Loaded& loaded, const std::string& path);
  Value object(checkpoint::NodeId id, const std::string& type, const std::string& path, int depth);

  Pickled& pickled_;
  aten::Builder& builder_;
  std::function<bool(const std::string&)> restores_;
  std::map<checkpoint::NodeId, Value> known_;
  std::map<int64_t, Value> tensors_;  // by identity
  std::vector<std::shared_ptr<Object>> objects_, restored_;
  Containers containers_;
  std::vector<graph::ValueId> constants_;
};

}  // namespace ingot::torchscript
