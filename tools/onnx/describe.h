// tools/onnx/describe.h - what an .onnx file says about itself, nothing inferred: for models that
// cannot be imported.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::onnx {

struct PortDescription {
  // dtype as the command line writes it, or ONNX's own word where we have none
  std::string name, dtype;
  std::vector<std::string> dims;  // numbers, names, "?" where nothing is said
  bool has_shape = false;
};
struct Description {
  std::string producer;
  std::vector<PortDescription> inputs, outputs;  // inputs without those that initialisers fill
  std::map<std::string, int> op_counts;          // of the main graph; other domains as "domain.Op"
};

/// @throws graph::CastError 2 when the file is no ONNX model, 7 when it cannot be read.
Description describe_onnx(const std::string& path);

/// Of the files beside it that hold its tensors. What is missing or damaged counts nothing: the
/// import says what is wrong.
uint64_t external_data_bytes(const std::string& path);

}  // namespace ingot::onnx
