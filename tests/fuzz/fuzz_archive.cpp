// SPDX-License-Identifier: Apache-2.0
// Any members in a zip archive with sound checksums, which mutated archives do not have: weights of
// torch and Keras and NumPy, programs of TorchScript, torch.export and Keras. Tensors and a model
// with every type known, or an error of a class that a source can cause. The input is text: each
// member begins after a line "%%% NAME".
#include "tests/checkpoint/stored_zip.h"
#include "tests/fuzz/memory_file.h"
#include "tools/files/failure.h"
#include "tools/graph/compute_single.h"
#include "tools/import/keras/import.h"
#include "tools/import/pt2/archive.h"
#include "tools/import/pt2/import.h"
#include "tools/import/torchscript/import.h"

namespace {

using namespace ingot;

constexpr size_t kMaxMembers = 64;

std::vector<std::pair<std::string, std::string>> members_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> members;
  const std::string mark = "%%% ";
  for (size_t at = text.find(mark); at != std::string::npos && members.size() < kMaxMembers;) {
    const size_t name = at + mark.size(), line = text.find('\n', name),
                 next = text.find("\n" + mark, name);
    if (line == std::string::npos) break;
    const std::string bytes = next == std::string::npos ? text.substr(line + 1)
                              : next > line             ? text.substr(line + 1, next - line - 1)
                                                        : "";
    members.push_back({text.substr(name, line - name), bytes});
    at = next == std::string::npos ? next : next + 1;
  }
  return members;
}

graph::Model import_program(const std::string& path) {
  if (torchscript::is_torchscript(path)) {
    torchscript::ImportOptions options;
    for (const torchscript::Parameter& parameter : torchscript::describe_parameters(path)) {
      if (parameter.type == "Tensor" && parameter.shape.empty())
        options.input_shapes[parameter.name] = {graph::Dim(1), graph::Dim(3), graph::Dim(6),
                                                graph::Dim(6)};
      if (parameter.type == "int") options.arguments[parameter.name] = "2";
    }
    return torchscript::import_torchscript(path, options).model;
  }
  if (pt2::is_exported_program(path)) return pt2::import_pt2(path, {});
  if (keras::is_keras_model(path)) return keras::import_keras(path, {}).model;
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string zip =
      test::stored_zip(members_of(std::string(reinterpret_cast<const char*>(data), size)));
  const fuzz::MemoryFile file(reinterpret_cast<const uint8_t*>(zip.data()), zip.size());
  try {
    fuzz::read_all(checkpoint::read_checkpoint(file.path()));
  } catch (const host::Failure& failure) {
    if (failure.exit() == host::Exit::kInternal) abort();
  }
  try {
    graph::Model model = import_program(file.path());
    graph::compute_in_single(model);
    for (const graph::Node& node : model.graph.nodes)
      for (const graph::ValueId id : node.outputs)
        if (id >= 0 && model.values.at(size_t(id)).dtype == DType::kInvalid) abort();
  } catch (const host::Failure& failure) {
    if (failure.exit() == host::Exit::kInternal) abort();
  } catch (const graph::ConversionError& error) {
    if (error.exit_code == 8) abort();
  }
  return 0;
}
