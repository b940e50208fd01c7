// SPDX-License-Identifier: Apache-2.0
// tools/import/pt2/import.h - the one door: a file of torch.export.save() to a graph in normal form
// (tools/graph/README.md).
#pragma once
#include <string>
#include <vector>

#include "tools/import/common/description.h"
#include "tools/import/common/opened_file.h"
#include "tools/import/common/options.h"

namespace ingot::pt2 {

/// Options are those of the ONNX importer. Weights keep the names of the module's parameters and
/// buffers. @throws graph::ConversionError: kCorrupt, kUnsupported (all of it listed), kMismatch an
/// option that fits nothing; host::Failure of the archive.
graph::Model import_pt2(const importer::OpenedFile& file,
                        const importer::ImportOptions& options = {});

/// The same with the text of the program given apart: only the weights are read from `path`.
graph::Model import_program(const std::vector<uint8_t>& program, const std::string& path,
                            const importer::ImportOptions& options = {});

/// What the program says about itself, nothing inferred. @throws as import_pt2.
importer::SourceDescription describe_pt2(const importer::OpenedFile& file);

}  // namespace ingot::pt2
