// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/tensor.h - TensorProto to a constant of the graph, whatever its encoding.
#pragma once
#include <string>

#include "tools/graph/graph.h"
#include "tools/import/onnx/source_file.h"
#include "tools/import/onnx/wire.h"

namespace ingot::onnx {

/// kInvalid for types that no tensor of ours has (string, complex; float8 and int4: narrow.h).
DType dtype_of(int64_t element_type);
/// "FLOAT8E4M3FN", "STRING"; the number when unknown.
std::string element_type_name(int64_t element_type);

/// The number of "FLOAT"; 0 when unknown.
int32_t element_type_of(const std::string& name);

/// Why a tensor could not be read: not an error of the file but of us.
struct TensorRefused {
  std::string why;
};
/// What is narrower than any type of ours is widened (narrow.h).
/// @throws TensorRefused for a type that is not supported; graph::ConversionError(kCorrupt) for
/// sizes that disagree, 3 for external data outside.
graph::Constant read_tensor(const Tensor& tensor, const std::string& name, ExternalData* external);
/// Where the `size` bytes of external data lie; valid as long as `external` lives.
Text external_bytes(const Tensor& tensor, const std::string& name, int64_t size,
                    ExternalData* external);
graph::Constant read_sparse(const SparseTensor& sparse, const std::string& name,
                            ExternalData* external);

}  // namespace ingot::onnx
