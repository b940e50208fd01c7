// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/quantize/network_run.h"

#include "tools/compile/write/file_writer.h"
#include "tools/files/standard_streams.h"
#include "tools/session/feed.h"

namespace ingot::cli {

NetworkRun::NetworkRun(const convert::FileSpec& file, const std::string& shown_as)
    : path_(".ingot") {
  host::show_path_as(path_.path(), shown_as);
  convert::write_file(file, path_.path());
  engine_ = std::make_unique<Engine>(path_.path());
}

void NetworkRun::run(const Sample& sample) {
  std::vector<std::vector<int64_t>> shapes;
  for (const host::Array& input : sample.inputs) shapes.push_back(input.dims);
  const bool begins_anew = sample.is_first && engine_->summary().state_count > 0;
  if (shapes != shapes_ || begins_anew) {
    if (!shapes_.empty()) engine_ = std::make_unique<Engine>(path_.path());
    for (uint32_t i = 0; i < shapes.size(); i++)
      engine_->bind_from_shape(i, shapes[i], input_place(sample.where, sample.inputs[i].name));
    SessionSettings settings;
    settings.device = "cpu";
    engine_->create_session(settings);
    shapes_ = std::move(shapes);
  }
  for (uint32_t i = 0; i < sample.inputs.size(); i++)
    engine_->set_input(i, sample.inputs[i], input_place(sample.where, sample.inputs[i].name));
  engine_->run();
}

}  // namespace ingot::cli
