// SPDX-License-Identifier: Apache-2.0
// tools/cli/quantize/samples.h - calibration data: one set of inputs after another, from files that
// are read one at a time.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/files/npz/npz.h"
#include "tools/session/engine.h"

namespace ingot::cli {

/// The inputs of one run, in the network's order.
struct Sample {
  std::vector<host::Array> inputs;
  std::string where;      // "calibration/7.npz: sample 3"
  bool is_first = false;  // of its file: what a network keeps from run to run starts anew
};

/// What --calibrate-samples says; 0 where it says nothing. @throws Failure kUsage.
uint64_t most_samples(const std::string& text);

/// Marks the inputs that are not zero everywhere; a zero with a sign is one too.
void note_alive(const Sample& sample, std::vector<char>* is_alive);

/// An .npz (or .npy), an image, or every such file in a folder, by name. An array of one dimension
/// more than its input has samples along the first; so has one of the same rank whose first
/// dimension is a multiple of the input's, or is open there. One of exactly the input's shape
/// belongs to every sample of the file. Of an archive no more is in memory than one sample (of
/// arrays in column-major order, and of what belongs to every sample: all).
class Samples {
 public:
  /// @throws Failure for a path that is not there, a folder without such files.
  Samples(const std::string& path, uint64_t most);
  /// The next one, checked against the inputs of `engine`; false at the end. @throws Failure with
  /// the file's name: a missing or unknown input, a wrong shape or type, NaN or infinite numbers.
  bool next(const Engine& engine, Sample* sample);
  void rewind();
  /// Whether the files are images, frames of a camera for the converted network.
  bool are_images() const;
  uint64_t given() const { return given_; }
  /// Share of the files that were begun.
  double progress() const;

 private:
  void open(const Engine& engine);
  /// Types of the file's arrays, without bytes where `readers` has them.
  std::vector<host::Array> open_file(const Engine& engine, const std::string& file,
                                     std::vector<host::NpyReader>* readers) const;
  host::Array part(const Engine& engine, size_t input);

  std::string path_;
  std::vector<std::string> files_;
  uint64_t most_, given_ = 0;
  size_t file_ = 0;  // the next one
  struct Source {
    host::Array array;                      // of the file at hand; without bytes behind a reader
    std::unique_ptr<host::NpyReader> rows;  // or null
    int64_t step = 0;                       // how far it goes on for a sample; 0: it stays
  };
  std::vector<Source> sources_;  // by input
  int64_t sample_ = 0, samples_ = 0;
};

}  // namespace ingot::cli
