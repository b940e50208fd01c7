// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/import.h - a whole Keras model (.keras, .h5) to a graph in normal form
// (tools/graph/README.md).
#pragma once
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/graph/graph.h"
#include "tools/import/common/opened_file.h"
#include "tools/import/common/options.h"
#include "tools/import/common/program.h"

namespace ingot::keras {

/// True for a file that holds a configuration beside its weights. False for weights alone and for
/// anything else, also for what cannot be read.
bool is_keras_model(const importer::OpenedFile& file);

using importer::Program;  // its states are those of stateful layers

/// Layers in inference form; functions in the file (Lambda) are refused by name and never executed.
/// @throws graph::ConversionError: kCorrupt, kUnsupported (all of it listed), kMismatch weights or
/// options that do not fit; host::Failure of the reader.
Program import_keras(const importer::OpenedFile& file, const importer::ImportOptions& options = {});
/// The same with the configuration and the weights at hand. `name` begins every error.
Program import_keras_config(const std::string& config, const checkpoint::Checkpoint& weights,
                            const std::string& name, const importer::ImportOptions& options = {});

}  // namespace ingot::keras
