// SPDX-License-Identifier: Apache-2.0
// Any bytes as the program of a torch.export archive, beside the weights of a sound one: a model
// with every shape known, or an error of a class that a source can cause; nothing else. (Bytes as
// the archive itself are the business of the reader of checkpoints.)
#include <cstdint>
#include <cstdlib>

#include "tools/files/failure.h"
#include "tools/import/pt2/import.h"

namespace {

using namespace ingot;

void look_at(const graph::Model& model) {
  for (const graph::Node& node : model.graph.nodes) {
    for (const graph::ValueId id : node.outputs) {
      if (id < 0) continue;
      const graph::Value& value = model.values.at(size_t(id));
      if (!value.shape_known || value.dtype == DType::kInvalid || value.constant) abort();
    }
  }
  for (const graph::Value& value : model.values) {
    if (!value.constant) continue;
    const size_t bytes = value.constant->bytes ? value.constant->bytes->size() : 0;
    if (bytes != size_t(value.constant->elements()) * size_t(dtype_bytes(value.constant->dtype)))
      abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    look_at(pt2::import_program(std::vector<uint8_t>(data, data + size), INGOT_PT2_WEIGHTS));
  } catch (const graph::ConversionError& error) {
    if (error.exit_code != 2 && error.exit_code != 4 && error.exit_code != 5) abort();
    if (error.message.empty() ||
        (error.exit_code == 4 && error.message.find('\n') != std::string::npos))
      abort();
  } catch (const host::Failure&) {
  }
  return 0;
}
