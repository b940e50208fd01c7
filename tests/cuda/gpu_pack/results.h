// SPDX-License-Identifier: Apache-2.0
// tests/cuda/gpu_pack/results.h - what a call of a pack leaves behind: report.md, results.json and
// state.tar in one flat folder, each whole under its name at any moment, however the call ends.
// Owns     the texts; logs and progress are files of the working folder.
// Errors   what cannot be written is remembered in `problem`, and tried again the next time.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ingot::pack {

using Json = nlohmann::ordered_json;

/// What became of one process, or of one that was not begun.
struct Outcome {
  std::string part, job;
  std::string state;  // done, failed, skipped, unfinished, abandoned
  int exit = 0;
  double seconds = 0;
  std::string note;  // one line
};

/// One measured network beside its prediction.
struct Figure {
  std::string network, precision;
  int batch = 1;
  double p50_ms = 0, p99_ms = 0, predicted_ms = 0, first_result_ms = 0;
  double device_mib = 0, beyond_mib = 0;
};

/// A part as the report shows it.
struct PartState {
  std::string name, what, state = "not begun";  // runs, done, ...
  double seconds = 0;
  std::string note = {};
  std::vector<std::string> logs = {};  // paths
};

class Results {
 public:
  std::string work, out;  // folders
  std::string gpu, made, library, call;
  std::string ended = "running";
  std::vector<PartState> parts;
  std::vector<Outcome> outcomes;  // of earlier calls, too
  std::vector<Figure> figures;
  std::vector<std::string> failures;  // lines
  std::vector<std::string> retreats;  // lines
  std::vector<std::string> notes;     // of the call as a whole
  std::string problem;                // with writing

  PartState* part(const std::string& name);
  /// Null: never begun.
  const Outcome* outcome(const std::string& part, const std::string& job) const;
  /// Replaces what is known of the job.
  void add(const Outcome& outcome);

  /// All three files. False where one could not be written.
  bool write();
  std::string report() const;
  Json json() const;

  /// What an earlier call left: a state.tar, unpacked into `work`, or `work` itself as it was left.
  void load(const std::string& archive);
};

/// All of a file, or its first and last bytes with a line between them that says what is missing.
std::string read_text(const std::string& path, size_t most = SIZE_MAX);
/// Under another name first; false: it could not be written, and what was there is there still.
bool write_whole(const std::string& path, const std::string& text);

}  // namespace ingot::pack
