// SPDX-License-Identifier: Apache-2.0
// tools/compile/stream/stream.h - a network over a stretch of time becomes one that is run for each
// new frame, or few of them: --stream AXIS=N. What its convolutions and poolings need of the past
// is kept in states.
// Threads  any.
#pragma once
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::convert {

struct StreamOptions {
  std::string input;  // empty: the only one
  size_t axis = 0;
  int64_t frames = 0;   // new ones of each run; 0: the network stays whole
  int64_t latency = 0;  // frames of the input that an output may wait for

  bool is_wanted() const { return frames != 0; }
};

/// "[INPUT:]AXIS=N", as on the command line. @throws ConversionError(kUsage)
void set_stream(StreamOptions& options, const std::string& argument);

/// An input and an output of the rewritten graph that are one variable.
struct StreamState {
  std::string input, output;
  double init = 0;
  bool has_channels_second = false;  // may lie channels last
};

struct StreamedNetwork {
  std::vector<StreamState> states;
  /// Entries for the file's metadata: what was streamed, and of each output its delay and the
  /// frames that are equal to the whole network's.
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Rewrites a model whose values have their types and dims. A note of it says what a run saves.
/// @throws ConversionError(kMismatch) where the option does not fit the network, kUnsupported with
/// every operator that cannot run frame by frame, or looks further ahead than options.latency; the
/// model is then as it was.
StreamedNetwork stream_frames(graph::Model& model, const StreamOptions& options);

}  // namespace ingot::convert
