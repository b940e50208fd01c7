// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/repository.h - the models of a folder NAME/VERSION/model.ingot that are served:
// of each the highest version, and each that a tag points to (docs/registry.md).
// Threads  any. Loading holds up neither requests nor loads of other models, unload nor the index.
#pragma once
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/serve/core/served_model.h"

namespace ingot::serve {

/// A line of the repository's index.
struct ModelState {
  std::string name, version;
  bool is_ready = false;
  std::string reason;  // why it is not, or what of it is not as asked for
};

class Repository {
 public:
  /// @param tag the version that a request without one means, by tag or number; "": the highest
  Repository(std::string root, std::string tag, ModelSettings settings)
      : root_(std::move(root)), tag_(std::move(tag)), settings_(settings) {}
  ~Repository();

  const std::string& root() const { return root_; }
  /// Loads what the folder has, several models at once; what cannot be loaded is in the index with
  /// the reason. Returns after `wait_seconds` at the latest: what is left goes on loading.
  /// @param only this model; "": each. @throws ServeError kNotFound where a folder cannot be read
  void load_all(const std::string& only, double wait_seconds);
  /// Reads the model's folder again: new versions are served from now on, requests that came before
  /// end in the versions that they began in. Where a version that is to be served cannot be
  /// loaded, what was served stays. @throws ServeError; kBusy: it is being loaded already
  void load(const std::string& name);
  /// At once, also while it is loaded.
  void unload(const std::string& name);
  /// Whether a load has not ended yet.
  bool is_loading() const;
  /// Whether a thread of a model may not end for long.
  bool is_stuck() const;

  /// @param version a number, a tag, or "": the default. @throws ServeError kNotFound, kUnavailable
  std::shared_ptr<ServedModel> find(const std::string& name, const std::string& version) const;
  std::vector<std::shared_ptr<ServedModel>> served() const;
  /// Versions of a model that are served, ascending. @throws ServeError kNotFound
  std::vector<std::string> versions(const std::string& name) const;
  std::vector<ModelState> index() const;
  /// Whether everything that the folder has is served.
  bool is_ready() const;
  void stop_taking() { stops_ = true; }
  bool stops() const { return stops_; }
  /// Ends the threads of all models, so that none of them touches what takes its answers, which
  /// may then be destroyed. @pre stops(), and no request is left
  void end_threads();
  /// Destroys versions that were replaced and that no request uses any more.
  void destroy_unused();

 private:
  struct Entry {
    std::map<uint64_t, std::shared_ptr<ServedModel>> versions;
    std::map<std::string, uint64_t> tags;
    std::map<uint64_t, std::string> failures;
    uint64_t by_default = 0;
    bool lacks_tag = false;  // the one asked for: the highest version stands for it
    bool is_unloaded = false;
  };
  /// Of the models that are being loaded, as long as it lives. @throws ServeError kBusy
  class Loading;
  Entry load_entry(const std::string& name);
  void load_first(const std::string& name);
  /// @pre mutex_ is held
  [[noreturn]] void refuse_unknown(const std::string& name) const;
  bool is_to_be_loaded(const std::string& name) const;

  const std::string root_, tag_;
  const ModelSettings settings_;
  std::atomic<bool> stops_{false};
  mutable std::mutex mutex_;  // of all below
  std::map<std::string, Entry> entries_;
  std::map<std::string, bool> loading_;  // true: unloaded meanwhile
  std::vector<std::string> waiting_;     // to be loaded for the first time, the next one last
  size_t starting_ = 0;                  // loads that load_all() began
  std::condition_variable loaded_;
  std::vector<std::shared_ptr<ServedModel>> replaced_;
  std::vector<std::thread> loaders_;
};

}  // namespace ingot::serve
