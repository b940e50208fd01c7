// SPDX-License-Identifier: Apache-2.0
// tools/compile/convert/convert.h - the front door: a trained network in, an .ingot file out.
//   ConversionResult converted = convert_source("model.onnx", options);   // import, infer, fold,
//   passes, lower,
//   plan
//   write_file(converted.file, "model.ingot");                    // whole or not at all
// Deterministic: the same source and options give the same bytes.
// Errors   graph::ConversionError with the CLI's exit code.
#pragma once
#include <string>
#include <vector>

#include "tools/compile/convert/source.h"
#include "tools/compile/program/options.h"
#include "tools/compile/write/file_writer.h"

namespace ingot::convert {

/// Core form to a file. `passes` are those that ran, for the metadata.
ConversionResult convert_model(graph::Model&& model, const ConvertOptions& options,
                               std::vector<passes::PassRecord> passes = {});

/// A source file to a file in memory: every stage.
ConversionResult convert_source(const Source& source, const ConvertOptions& options);
inline ConversionResult convert_source(const std::string& path, const ConvertOptions& options) {
  return convert_source(Source::open(path), options);
}

}  // namespace ingot::convert
