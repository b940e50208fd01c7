// SPDX-License-Identifier: Apache-2.0
// tools/import/flux/import.h - a Flux Chain of standard layers, in BSON or JLD2, to a graph in
// normal form (tools/graph/README.md). Julia's arrays have the first extent fastest, so (columns,
// rows, channels, batch) is our [batch, channels, rows, columns] byte for byte: every value here
// has the extents of its Julia array, turned around.
#pragma once
#include <string>

#include "tools/checkpoint/julia/julia_value.h"
#include "tools/graph/graph.h"
#include "tools/import/common/opened_file.h"
#include "tools/import/common/options.h"

namespace ingot::flux {

/// True for a file of Julia objects in which a layer of Flux stands. False also for what cannot be
/// read.
bool is_flux_model(const importer::OpenedFile& file);

/// Layers in inference form. Functions are known by their names; an anonymous one only where its
/// saved code is a chain of known functions and numbers on its one argument, and nothing of it is
/// executed. @throws graph::ConversionError: kCorrupt, kUnsupported (all of it listed), kMismatch
/// options that do not fit; host::Failure of the reader.
graph::Model import_flux(const importer::OpenedFile& file,
                         const importer::ImportOptions& options = {});
graph::Model import_flux_tree(const checkpoint::JuliaTree& tree,
                              const importer::ImportOptions& options = {});

}  // namespace ingot::flux
