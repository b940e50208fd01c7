// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/import.h - the one door: a TorchScript file to a graph in normal form
// (tools/graph/README.md).
#pragma once
#include <string>
#include <vector>

#include "tools/import/common/opened_file.h"
#include "tools/import/common/options.h"
#include "tools/import/common/program.h"

namespace ingot::torchscript {

using importer::ImportOptions;
using importer::Program;

/// True for a zip archive with the code (or bytecode) and the objects of TorchScript, and for a
/// program of PyTorch Mobile in FlatBuffers, whatever its name is.
bool is_torchscript(const importer::OpenedFile& file);

/// @throws graph::ConversionError: kCorrupt, kUnsupported (all of it listed in `unsupported`),
/// kMismatch an input without a shape, an argument without a value, names that the program does not
/// have, or a program that raises for these inputs; host::Failure for the container.
Program import_torchscript(const importer::OpenedFile& file, const ImportOptions& options = {});

/// What forward() takes, for people.
struct Parameter {
  std::string name, type;  // "x", "Tensor"
  // "f32 [1, 3, 224, 224]" of the example that it was traced with; "" where that was not kept
  std::string shape;
  bool has_default = false;
};
std::vector<Parameter> describe_parameters(const importer::OpenedFile& file);

}  // namespace ingot::torchscript
