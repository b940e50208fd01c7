// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/core/shared_regions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/serve/core/serve_error.h"

namespace ingot::serve {
namespace {

constexpr size_t kMaxRegions = 4096;

}  // namespace

Region::Region(std::string name, std::string key, int descriptor, uint64_t offset, uint64_t bytes)
    : name_(std::move(name)),
      key_(std::move(key)),
      descriptor_(descriptor),
      offset_(offset),
      bytes_(bytes) {}

Region::~Region() { close(descriptor_); }

void Region::check(uint64_t offset, uint64_t bytes) const {
  if (offset <= bytes_ && bytes <= bytes_ - offset) return;
  refuse(Refusal::kInvalid, "shared memory region '" + name_ + "': " + std::to_string(bytes) +
                                " bytes at offset " + std::to_string(offset) +
                                " pass its end, which is at " + std::to_string(bytes_));
}

bool Region::read(uint64_t offset, void* out, uint64_t bytes) const {
  uint8_t* to = static_cast<uint8_t*>(out);
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got = pread(descriptor_, to + done, bytes - done, off_t(offset_ + offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += uint64_t(got);
  }
  return true;
}

bool Region::write(uint64_t offset, const void* from, uint64_t bytes) const {
  struct stat now {};  // what would be written beyond its end made it longer
  if (fstat(descriptor_, &now) != 0 || uint64_t(now.st_size) < offset_ + offset + bytes)
    return false;
  const uint8_t* source = static_cast<const uint8_t*>(from);
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t put =
        pwrite(descriptor_, source + done, bytes - done, off_t(offset_ + offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += uint64_t(put);
  }
  return true;
}

void SharedRegions::add(const std::string& name, const std::string& key, uint64_t offset,
                        uint64_t bytes) {
  if (name.empty()) refuse(Refusal::kInvalid, "shared memory: a region needs a name");
  const int descriptor = shm_open(key.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0)
    refuse(Refusal::kInvalid, "shared memory region '" + name + "': '" + key +
                                  "' cannot be opened: " + strerror(errno));
  auto region = std::make_shared<Region>(name, key, descriptor, offset, bytes);
  struct stat found {};
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode) || bytes == 0 ||
      offset > uint64_t(found.st_size) || bytes > uint64_t(found.st_size) - offset)
    refuse(Refusal::kInvalid, "shared memory region '" + name + "': '" + key + "' has " +
                                  std::to_string(found.st_size) + " bytes, " +
                                  std::to_string(bytes) + " at offset " + std::to_string(offset) +
                                  " were registered");
  const std::lock_guard<std::mutex> lock(mutex_);
  if (regions_.size() >= kMaxRegions)
    refuse(Refusal::kBusy, "shared memory: " + std::to_string(kMaxRegions) +
                               " regions are registered; unregister some first");
  if (!regions_.emplace(name, region).second)
    refuse(Refusal::kInvalid,
           "shared memory region '" + name + "' is registered already; unregister it first");
}

void SharedRegions::remove(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (name.empty())
    regions_.clear();
  else
    regions_.erase(name);
}

std::shared_ptr<Region> SharedRegions::find(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = regions_.find(name);
  if (found == regions_.end())
    refuse(Refusal::kNotFound, "shared memory region '" + name + "' is not registered");
  return found->second;
}

std::vector<std::shared_ptr<Region>> SharedRegions::all() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<Region>> list;
  for (const auto& [name, region] : regions_) list.push_back(region);
  return list;
}

}  // namespace ingot::serve
