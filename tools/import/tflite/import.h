// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/import.h - the one door: a .tflite file to a graph in normal form
// (tools/graph/README.md).
#pragma once
#include <string>
#include <vector>

#include "tools/graph/graph.h"
#include "tools/import/common/description.h"
#include "tools/import/common/options.h"
#include "tools/import/common/program.h"

namespace ingot::tflite {

using importer::State;  // a variable

using importer::Program;

/// @throws graph::ConversionError: kCorrupt, kUnsupported (all of it listed in `unsupported`),
/// kMismatch an option that names no input, dimension or signature; host::Failure when it cannot be
/// read.
Program import_tflite(const std::string& path, const importer::ImportOptions& options = {});

/// A signature, for people.
struct SignatureDescription {
  std::string name;
  uint32_t subgraph = 0;
  std::vector<importer::PortDescription> inputs, outputs;
};
struct Description {
  std::vector<importer::PortDescription> inputs, outputs;  // of the first subgraph
  std::vector<SignatureDescription> signatures;
  std::vector<std::pair<std::string, int>> operators;  // by name, of all subgraphs
  size_t subgraphs = 0;
};
/// @throws as import_tflite() for damage.
Description describe_tflite(const std::string& path);

}  // namespace ingot::tflite
