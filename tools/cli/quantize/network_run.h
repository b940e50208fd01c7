// SPDX-License-Identifier: Apache-2.0
// tools/cli/quantize/network_run.h - a converted network that is run on one sample after another.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tools/cli/quantize/samples.h"
#include "tools/compile/convert/convert.h"
#include "tools/files/output_file.h"

namespace ingot::cli {

/// A file in the folder for temporary ones, gone with this.
class NetworkRun {
 public:
  /// `shown_as` stands in errors for the file's name.
  NetworkRun(const convert::FileSpec& file, const std::string& shown_as);
  const Engine& engine() const { return *engine_; }
  const std::string& path() const { return path_.path(); }
  /// Outputs by their place are engine().session().output(i) afterwards. What it keeps from run to
  /// run starts anew with the first sample of a file, and where the shapes change.
  void run(const Sample& sample);
  host::Array output(uint32_t i) { return engine_->take_output(i); }

 private:
  host::TemporaryPath path_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::vector<int64_t>> shapes_;  // of the session's inputs; empty: none yet
};

}  // namespace ingot::cli
