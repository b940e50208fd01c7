// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/repository.h"

#include <algorithm>
#include <chrono>

#include "tools/serve/core/repository_folder.h"

namespace ingot::serve {

namespace {

constexpr size_t kLoaders = 4;

}  // namespace

class Repository::Loading {
 public:
  Loading(Repository* repository, const std::string& name) : repository_(*repository), name_(name) {
    const std::lock_guard<std::mutex> lock(repository_.mutex_);
    if (!repository_.loading_.emplace(name, false).second)
      refuse(Refusal::kBusy, "model '" + name + "' is being loaded already; try again later");
  }
  ~Loading() {
    const std::lock_guard<std::mutex> lock(repository_.mutex_);
    repository_.loading_.erase(name_);
    repository_.loaded_.notify_all();
  }
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;
  /// @pre mutex_ is held
  bool is_unloaded() const { return repository_.loading_.at(name_); }

 private:
  Repository& repository_;
  const std::string name_;
};

Repository::~Repository() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.clear();
  }
  for (std::thread& loader : loaders_) loader.join();
}

Repository::Entry Repository::load_entry(const std::string& name) {
  const FolderModel folder = read_model_folder(root_, name);
  if (folder.versions.empty())
    refuse(Refusal::kNotFound, "model '" + name + "': no VERSION/model.ingot in its folder");
  Entry entry;
  entry.tags = folder.tags;
  const auto tagged = folder.tags.find(tag_);
  const uint64_t chosen = tagged != folder.tags.end() ? tagged->second : version_number(tag_);
  const bool is_there = std::binary_search(folder.versions.begin(), folder.versions.end(), chosen);
  entry.lacks_tag = !tag_.empty() && !is_there;
  entry.by_default = is_there ? chosen : folder.versions.back();
  std::vector<uint64_t> wanted = {folder.versions.back(), entry.by_default};
  for (const auto& [tag, number] : folder.tags) wanted.push_back(number);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (const uint64_t number : wanted) {
    std::shared_ptr<ServedModel> served;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto before = entries_.find(name);
      // a version's file does not change
      if (before != entries_.end() && before->second.versions.count(number))
        served = before->second.versions[number];
    }
    try {
      if (!served)
        served = std::make_shared<ServedModel>(name, std::to_string(number),
                                               file_of(root_, name, number), settings_);
      entry.versions[number] = served;
    } catch (const ServeError& error) {
      entry.failures[number] = error.text();
    }
  }
  return entry;
}

void Repository::load_first(const std::string& name) {
  Entry entry;
  try {
    const Loading loading(this, name);
    try {
      entry = load_entry(name);
    } catch (const ServeError& error) {
      entry.failures[0] = error.text();
    } catch (const std::exception& error) {
      entry.failures[0] = error.what();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!loading.is_unloaded()) entries_[name] = std::move(entry);
  } catch (const ServeError&) {  // a client had it loaded
  }
}

void Repository::load_all(const std::string& only, double wait_seconds) {
  if (!only.empty()) {
    Entry entry = load_entry(only);
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_[only] = std::move(entry);
    return;
  }
  waiting_ = models_of(root_);
  std::reverse(waiting_.begin(), waiting_.end());
  std::unique_lock<std::mutex> lock(mutex_);
  while (loaders_.size() < std::min(kLoaders, waiting_.size()))
    loaders_.emplace_back([this] {
      std::unique_lock<std::mutex> held(mutex_);
      while (!waiting_.empty()) {
        const std::string name = waiting_.back();
        waiting_.pop_back();
        starting_++;
        held.unlock();
        load_first(name);
        held.lock();
        starting_--;
        loaded_.notify_all();
      }
    });
  loaded_.wait_for(lock, std::chrono::duration<double>(wait_seconds),
                   [&] { return waiting_.empty() && starting_ == 0; });
}

void Repository::load(const std::string& name) {
  const Loading loading(this, name);
  Entry entry = load_entry(name);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (loading.is_unloaded())
    refuse(Refusal::kUnavailable, "model '" + name + "' was unloaded while it was loaded");
  Entry& now = entries_[name];
  if (!entry.failures.empty()) {
    const std::string why = "model '" + name + "' version " +
                            std::to_string(entry.failures.begin()->first) +
                            " cannot be loaded: " + entry.failures.begin()->second;
    if (now.versions.empty()) now = std::move(entry);
    refuse(Refusal::kInvalid, why);
  }
  for (const auto& [number, served] : now.versions)
    if (!entry.versions.count(number)) replaced_.push_back(served);
  now = std::move(entry);
}

void Repository::unload(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(name);
  const auto loads = loading_.find(name);
  if (found == entries_.end() && loads == loading_.end())
    refuse(Refusal::kNotFound, "model '" + name + "' is unknown");
  if (loads != loading_.end()) loads->second = true;
  Entry& entry = entries_[name];
  for (const auto& [number, served] : entry.versions) replaced_.push_back(served);
  entry = Entry();
  entry.is_unloaded = true;
}

void Repository::refuse_unknown(const std::string& name) const {
  if (is_to_be_loaded(name))
    refuse(Refusal::kUnavailable, "model '" + name + "' is being loaded; try again later");
  refuse(Refusal::kNotFound, "model '" + name + "' is unknown");
}

bool Repository::is_to_be_loaded(const std::string& name) const {
  return loading_.count(name) || std::count(waiting_.begin(), waiting_.end(), name);
}

bool Repository::is_loading() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !loading_.empty() || !waiting_.empty();
}

std::shared_ptr<ServedModel> Repository::find(const std::string& name,
                                              const std::string& version) const {
  if (stops_) refuse(Refusal::kUnavailable, "the server is shutting down: draining requests");
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse_unknown(name);
  const Entry& entry = found->second;
  if (entry.is_unloaded) refuse(Refusal::kUnavailable, "model '" + name + "' is unloaded");
  uint64_t number = entry.by_default;
  if (!version.empty()) {
    const auto tag = entry.tags.find(version);
    if (tag != entry.tags.end()) {
      number = tag->second;
    } else if (version.size() <= 18 &&
               version.find_first_not_of("0123456789") == std::string::npos) {
      number = std::stoull(version);
    } else {
      refuse(Refusal::kNotFound, "model '" + name + "' has no version or tag '" + version + "'");
    }
  }
  const auto served = entry.versions.find(number);
  if (served != entry.versions.end()) return served->second;
  const auto failure = entry.failures.find(number);
  if (failure != entry.failures.end())
    refuse(Refusal::kUnavailable, "model '" + name + "' version " + std::to_string(number) +
                                      " is not ready: " + failure->second);
  refuse(Refusal::kNotFound,
         "model '" + name + "' version " + std::to_string(number) +
             " is not served; served are the highest version and those that tags point to");
}

std::vector<std::shared_ptr<ServedModel>> Repository::served() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<ServedModel>> list;
  for (const auto& [name, entry] : entries_)
    for (const auto& [number, served] : entry.versions) list.push_back(served);
  return list;
}

std::vector<std::string> Repository::versions(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse_unknown(name);
  std::vector<std::string> list;
  for (const auto& [number, served] : found->second.versions)
    list.push_back(std::to_string(number));
  return list;
}

std::vector<ModelState> Repository::index() const {
  std::vector<ModelState> list;
  std::vector<std::string> loading;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      for (const auto& [number, served] : entry.versions)
        list.push_back({name, std::to_string(number), true,
                        entry.lacks_tag && number == entry.by_default
                            ? "tag '" + tag_ +
                                  "' points to nothing; requests without a version "
                                  "get this one, the highest"
                            : ""});
      for (const auto& [number, why] : entry.failures)
        list.push_back({name, std::to_string(number), false, why});
      if (entry.is_unloaded) list.push_back({name, "", false, "unloaded"});
    }
    loading = waiting_;
    for (const auto& [name, is_unloaded] : loading_) loading.push_back(name);
  }
  try {
    for (const std::string& name : models_of(root_)) {
      const bool is_listed = std::any_of(list.begin(), list.end(),
                                         [&](const ModelState& s) { return s.name == name; });
      const bool is_loading = std::count(loading.begin(), loading.end(), name);
      if (!is_listed) list.push_back({name, "", false, is_loading ? "loading" : "not loaded"});
    }
  } catch (const ServeError&) {  // the folder went away; what is loaded is served
  }
  return list;
}

bool Repository::is_ready() const {
  if (stops_) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!waiting_.empty() || starting_) return false;
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const auto& entry) { return entry.second.failures.empty(); });
}

bool Repository::is_stuck() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, entry] : entries_)
    for (const auto& [number, served] : entry.versions)
      if (served->is_stuck()) return true;
  return std::any_of(replaced_.begin(), replaced_.end(),
                     [](const auto& served) { return served->is_stuck(); });
}

void Repository::end_threads() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, entry] : entries_)
    for (const auto& [number, served] : entry.versions) served->end_threads();
  for (const auto& served : replaced_) served->end_threads();
}

void Repository::destroy_unused() {
  std::vector<std::shared_ptr<ServedModel>> unused;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = replaced_.begin(); at != replaced_.end();) {
    if (at->use_count() == 1 && !(*at)->is_stuck()) {
      unused.push_back(std::move(*at));
      at = replaced_.erase(at);
    } else {
      ++at;
    }
  }
}

}  // namespace ingot::serve
