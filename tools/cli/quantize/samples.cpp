// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/quantize/samples.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "tools/cli/inputs/frames.h"
#include "tools/session/arguments.h"
#include "tools/session/feed.h"

namespace ingot::cli {
namespace {

using host::Array;
using host::Exit;
using host::fail;

bool is_sample_file(const std::filesystem::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  for (const char* known : {".npz", ".npy", ".png", ".jpg", ".jpeg"})
    if (ending == known) return true;
  return false;
}

std::vector<std::string> files_of(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) return {path};
  std::vector<std::string> files;
  for (auto at = std::filesystem::directory_iterator(path, failed);
       !failed && at != std::filesystem::directory_iterator(); at.increment(failed))
    if (at->path().filename().string()[0] != '.' && is_sample_file(at->path()))
      files.push_back(at->path().string());
  if (failed) fail(Exit::kUnavailable, path + ": cannot be listed: " + failed.message());
  if (files.empty())
    fail(Exit::kMismatch, path +
                              ": has no calibration data, expected files that end in .npz, .npy, "
                              ".png, .jpg or .jpeg");
  std::sort(files.begin(), files.end());
  return files;
}

/// How many rows of `array` one sample takes; 0: all of it, in every sample; -1: it does not fit.
int64_t rows_of(const ingot_value_type& port, const Array& array) {
  const size_t rank = size_t(port.rank), found = array.dims.size();
  if (found != rank && found != rank + 1) return -1;
  for (size_t d = found == rank; d < rank; d++)
    if (port.dims[d] >= 0 && port.dims[d] != array.dims[d + found - rank]) return -1;
  if (found == rank + 1) return 1;
  if (rank == 0) return 0;
  if (port.dims[0] < 0) return 1;
  if (port.dims[0] == array.dims[0]) return 0;
  return port.dims[0] > 0 && array.dims[0] % port.dims[0] == 0 ? port.dims[0] : -1;
}

void require_finite(const Array& array, const std::string& where) {
  if (array.dtype != DType::kF32) return;
  const float* numbers = array.as<float>();
  for (int64_t i = 0; i < array.elements(); i++)
    if (!std::isfinite(numbers[i]))
      fail(Exit::kMismatch, where + ": input '" + array.name + "' is " +
                                (std::isnan(numbers[i]) ? "NaN" : "infinite") + " at element " +
                                std::to_string(i) + ", expected finite numbers");
}

}  // namespace

uint64_t most_samples(const std::string& text) {
  if (text.empty()) return 0;
  return uint64_t(parse_integer("--calibrate-samples", text, 1, int64_t(1) << 40));
}

Samples::Samples(const std::string& path, uint64_t most)
    : path_(path), files_(files_of(path)), most_(most) {}

bool Samples::are_images() const {
  return std::all_of(files_.begin(), files_.end(), [](const std::string& file) {
    return is_sample_file(file) && file.find(".np", file.size() - 4) == std::string::npos;
  });
}

void Samples::rewind() {
  file_ = 0, given_ = 0, sample_ = samples_ = 0;
  sources_.clear();
}

double Samples::progress() const {
  const double in_file = samples_ ? double(sample_) / double(samples_) : 1;
  const double files = (double(file_) - 1 + in_file) / double(files_.size());
  return std::max(files, most_ ? double(given_) / double(most_) : 0.0);
}

std::vector<Array> Samples::open_file(const Engine& engine, const std::string& file,
                                      std::vector<host::NpyReader>* readers) const {
  if (!holds_arrays(file)) return read_inputs(engine, file);
  std::vector<Array> types;
  for (host::NpzMember& member : host::open_npz(file)) {
    readers->emplace_back(std::move(member.source), member.where);
    types.push_back(readers->back().type());
    types.back().name = member.name;
  }
  return types;
}

void Samples::open(const Engine& engine) {
  const std::string& file = files_[file_++];
  std::vector<host::NpyReader> readers;
  std::vector<Array> read = open_file(engine, file, &readers);
  const std::vector<const Array*> inputs = match_inputs(engine, read, file);
  sources_.clear();
  sample_ = 0, samples_ = -1;
  std::string counted;
  for (size_t i = 0; i < inputs.size(); i++) {
    const ingot_value_type port = engine.input(uint32_t(i));
    const std::string where = input_place(file, port.name);
    const int64_t rows = rows_of(port, *inputs[i]);
    if (rows < 0)
      fail(Exit::kMismatch, where + ": expected " + engine.type_text(port) +
                                " for each sample, found " + host::describe(*inputs[i]) +
                                "; the first dimension may count samples");
    Source source;
    source.step = rows;
    source.array = *inputs[i];
    if (!readers.empty()) {
      host::NpyReader& reader = readers[size_t(inputs[i] - read.data())];
      if (rows > 0 && reader.has_rows())
        source.rows = std::make_unique<host::NpyReader>(std::move(reader));
      else
        source.array = reader.rest();
    }
    source.array.name = port.name;
    sources_.push_back(std::move(source));
    if (rows == 0) continue;
    const int64_t samples = inputs[i]->dims[0] / rows;
    if (samples == 0) fail(Exit::kMismatch, where + ": has no samples");
    if (samples_ >= 0 && samples != samples_)
      fail(Exit::kMismatch, where + ": has " + std::to_string(samples) + " samples, input '" +
                                counted + "' has " + std::to_string(samples_));
    samples_ = samples;
    counted = port.name;
  }
  if (samples_ < 0) samples_ = 1;
}

Array Samples::part(const Engine& engine, size_t input) {
  Source& source = sources_[input];
  const Array& whole = source.array;
  if (source.step == 0) return whole;
  Array one;
  if (source.rows) {
    one = source.rows->next(source.step);
  } else {
    one.dtype = whole.dtype, one.dims = whole.dims;
    one.dims[0] = source.step;
    const int64_t bytes = one.elements() * int64_t(dtype_bytes(one.dtype));
    one.bytes.assign(whole.bytes.begin() + sample_ * bytes,
                     whole.bytes.begin() + (sample_ + 1) * bytes);
  }
  one.name = whole.name;
  const bool stacked = one.dims.size() > size_t(engine.input(uint32_t(input)).rank);
  if (stacked) one.dims.erase(one.dims.begin());
  return one;
}

bool Samples::next(const Engine& engine, Sample* sample) {
  if (most_ && given_ == most_) return false;
  if (sample_ == samples_) {
    if (file_ == files_.size()) return false;
    open(engine);
  }
  sample->where = files_[file_ - 1] + ": sample " + std::to_string(sample_);
  sample->is_first = sample_ == 0;
  sample->inputs.clear();
  for (size_t i = 0; i < sources_.size(); i++) {
    sample->inputs.push_back(part(engine, i));
    require_finite(sample->inputs.back(), sample->where);
  }
  sample_++, given_++;
  if (sample_ == samples_)  // nothing may be behind, and sums of archives are compared there
    for (Source& source : sources_)
      if (source.rows) source.rows->rest();
  return true;
}

void note_alive(const Sample& sample, std::vector<char>* is_alive) {
  const auto is_alive_in = [](const host::Array& input) {
    if (input.dtype == DType::kF32)
      return std::any_of(input.as<float>(), input.as<float>() + input.elements(),
                         [](float x) { return x != 0; });
    return std::any_of(input.bytes.begin(), input.bytes.end(),
                       [](uint8_t byte) { return byte != 0; });
  };
  for (size_t i = 0; i < sample.inputs.size(); i++) (*is_alive)[i] |= is_alive_in(sample.inputs[i]);
}

}  // namespace ingot::cli
