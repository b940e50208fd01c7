// SPDX-License-Identifier: Apache-2.0
// tools/serve/core/shared_regions.h - POSIX shared memory that clients register by name, to leave
// tensors in and have results written to. It is read and written through its descriptor and never
// mapped: a client that cuts it short gets an error, and not the server a signal.
// Threads  any.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ingot::serve {

/// Stays open while a request uses it, also when it is unregistered meanwhile.
class Region {
 public:
  Region(std::string name, std::string key, int descriptor, uint64_t offset, uint64_t bytes);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const std::string& name() const { return name_; }
  const std::string& key() const { return key_; }
  uint64_t offset() const { return offset_; }
  uint64_t bytes() const { return bytes_; }
  /// @throws ServeError kInvalid beyond the region's end
  void check(uint64_t offset, uint64_t bytes) const;
  /// Whether all bytes were there. @pre check()
  bool read(uint64_t offset, void* out, uint64_t bytes) const;
  bool write(uint64_t offset, const void* from, uint64_t bytes) const;

 private:
  std::string name_, key_;
  int descriptor_;
  uint64_t offset_, bytes_;
};

class SharedRegions {
 public:
  /// @throws ServeError: no such object, too short, the name is taken, too many
  void add(const std::string& name, const std::string& key, uint64_t offset, uint64_t bytes);
  /// Every region where `name` is empty. A name that is not there is no error, as in Triton.
  void remove(const std::string& name);
  /// @throws ServeError kNotFound
  std::shared_ptr<Region> find(const std::string& name) const;
  std::vector<std::shared_ptr<Region>> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Region>> regions_;
};

}  // namespace ingot::serve
