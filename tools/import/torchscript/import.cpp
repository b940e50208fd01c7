// SPDX-License-Identifier: Apache-2.0
#include "tools/import/torchscript/import.h"

#include <algorithm>

#include "tools/graph/dim_limit.h"
#include "tools/import/common/source_errors.h"
#include "tools/import/torchscript/follow.h"

namespace ingot::torchscript {
namespace {

using graph::fail_internal;
using graph::fail_unsupported;

constexpr int kMaxPasses = 4;

class Import {
 public:
  Import(const importer::OpenedFile& file, const ImportOptions& options)
      : archive_(file), options_(options), library_(archive_.library()) {}

  Program run() {
    Pass first = pass({}, StateForm::kInputs);
    if (first.changed.empty()) return finished(std::move(first), {}, {});
    // From what one run leaves behind to what every later run finds.
    Attributes attributes = first.changed;
    for (int i = 1; i < kMaxPasses; i++) {
      Pass later = pass(attributes, StateForm::kInputs);
      if (!settled(later, &attributes)) continue;
      return finished(std::move(later), attributes, initial(first, attributes));
    }
    std::string names;
    for (const auto& [key, value] : attributes) names += (names.empty() ? "'" : ", '") + key + "'";
    fail_unsupported(
        archive_.path(),
        "the attributes " + names +
            " change in another way from run to run; only what keeps type and shape can be kept");
  }

 private:
  Pass pass(const Attributes& attributes, StateForm form) {
    for (;;) {
      try {
        Pass made = follow(archive_, library_, options_, attributes, form);
        if (!made.unsupported.empty())
          throw graph::refusal(archive_.path(), std::move(made.unsupported));
        for (const auto& [name, dtype] : retyped_)
          made.model.notes.push_back("input '" + name +
                                     "' is taken as i64, since it is an index; --input-type " +
                                     name + "=i32 says otherwise");
        return made;
      } catch (const TakenAsIndex& index) {
        if (!retyped_.emplace(index.input, DType::kI64).second)
          fail_internal(archive_.path(), "input '" + index.input + "' has no type");
        options_.input_types[index.input] = DType::kI64;
      }
    }
  }

  /// True when a pass leaves behind what it found, but for the values of tensors. What is new is
  /// added to `attributes`.
  static bool settled(const Pass& pass, Attributes* attributes) {
    bool same_as_found = true;
    for (const auto& [key, after] : pass.changed) {
      const auto before = attributes->find(key);
      const bool like = before != attributes->end() && before->second.is_tensor &&
                        after.is_tensor && before->second.dtype == after.dtype &&
                        before->second.dims == after.dims;
      if (like) continue;
      same_as_found = false;
      (*attributes)[key] = after;
    }
    return same_as_found;
  }

  /// What the tensors that are kept hold before the first run: what the file has where that is of
  /// their type and shape, else zeros where the program is then the one that the first run follows.
  std::map<std::string, double> initial(const Pass& first, const Attributes& attributes) {
    std::map<std::string, double> out;
    Attributes made;  // by the first run
    for (const auto& [key, attribute] : attributes) {
      const auto found = first.found.find(key);
      const bool like = found != first.found.end() && attribute.is_tensor &&
                        found->second.is_tensor && found->second.dtype == attribute.dtype &&
                        found->second.dims == attribute.dims && first.uniform.count(key);
      if (like)
        out[key] = first.uniform.at(key);
      else
        made[key] = attribute;
    }
    if (made.empty()) return out;
    Pass zeros = pass(made, StateForm::kZeros);
    Pass again = pass({}, StateForm::kInputs);
    std::vector<graph::ValueId> a = zeros.model.graph.outputs, b = again.model.graph.outputs;
    for (const auto& [key, attribute] : attributes) {
      if (!attribute.is_tensor) continue;
      if (!zeros.next.count(key) || !again.next.count(key)) {
        a.clear();
        break;
      }
      a.push_back(zeros.next.at(key));
      b.push_back(again.next.at(key));
    }
    if (!same_program(zeros.model, a, again.model, b)) {
      std::string names;
      for (const auto& [key, value] : attributes)
        names += (names.empty() ? "'" : ", '") + key + "'";
      fail_unsupported(archive_.path(),
                       "the first run of the program differs from later ones (attributes " + names +
                           "), and not only as if they began at zero");
    }
    for (const auto& [key, attribute] : made)
      if (attribute.is_tensor) out[key] = 0;
    return out;
  }

  Program finished(Pass pass, const Attributes& attributes,
                   const std::map<std::string, double>& initial) {
    Program program;
    program.model = std::move(pass.model);
    graph::Model& model = program.model;
    for (const auto& [key, attribute] : attributes) {
      if (!attribute.is_tensor || !pass.next.count(key)) continue;
      const std::string output = key + ".next";
      const graph::ValueId id = pass.next.at(key);
      model.graph.outputs.push_back(expose(model, id, output));
      program.states.push_back({key, output, initial.count(key) ? initial.at(key) : 0});
      model.notes.push_back("attribute '" + key + "' is kept from run to run");
    }
    model.source_format = "torchscript";
    finish(model);
    return program;
  }

  Archive archive_;
  ImportOptions options_;
  Library library_;
  std::map<std::string, DType> retyped_;
};

}  // namespace

Program import_torchscript(const importer::OpenedFile& file, const ImportOptions& options) {
  return importer::with_errors_of(file.path, [&] { return Import(file, options).run(); });
}

std::vector<Parameter> describe_parameters(const importer::OpenedFile& file) {
  Archive archive(file);
  Library library = archive.library();
  const checkpoint::ValueTree& tree = archive.data().tree();
  const checkpoint::Node& root = tree.at(tree.root);
  std::vector<Parameter> out;
  if (root.kind != checkpoint::NodeKind::kCall) return out;
  const Library::Found type = library.find(tree.global_name(root.items[0]));
  if (!type.type || !type.type->methods.count("forward")) return out;
  const Function& forward = type.type->methods.at("forward");
  for (size_t i = 1; i < forward.parameters.size(); i++) {
    const FunctionParameter& p = forward.parameters[i];
    Parameter one;
    one.name = p.name;
    one.type = type_text(*type.file, p.type);
    one.has_default = p.otherwise != kNone;
    if (i - 1 < archive.traced_inputs().size() &&
        archive.traced_inputs()[i - 1].dtype != DType::kInvalid) {
      const TracedInput& traced = archive.traced_inputs()[i - 1];
      one.shape = std::string(dtype_name(traced.dtype)) + " " +
                  graph::text(graph::Dims(traced.dims.begin(), traced.dims.end()));
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace ingot::torchscript
