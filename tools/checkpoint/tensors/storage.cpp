// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/tensors/storage.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/files/failure.h"
#include "tools/files/input_file.h"
#include "tools/files/mapped_pages.h"

namespace ingot::checkpoint {
namespace {

class MappedStorage : public Storage {
 public:
  MappedStorage(std::shared_ptr<const MappedFile> file, uint64_t offset, uint64_t size)
      : file_(std::move(file)), offset_(offset), size_(size) {}
  uint64_t size() const override { return size_; }
  Bytes load() const override { return {file_, file_->data() + offset_, size_}; }

 private:
  std::shared_ptr<const MappedFile> file_;
  uint64_t offset_, size_;
};

class MemoryStorage : public Storage {
 public:
  explicit MemoryStorage(std::vector<uint8_t> bytes)
      : bytes_(std::make_shared<const std::vector<uint8_t>>(std::move(bytes))) {}
  uint64_t size() const override { return bytes_->size(); }
  Bytes load() const override { return {bytes_, bytes_->data(), bytes_->size()}; }

 private:
  std::shared_ptr<const std::vector<uint8_t>> bytes_;
};

class HeldStorage : public Storage {
 public:
  explicit HeldStorage(Bytes bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size; }
  Bytes load() const override { return bytes_; }

 private:
  Bytes bytes_;
};

class PartStorage : public Storage {
 public:
  PartStorage(std::shared_ptr<const Storage> whole, uint64_t offset, uint64_t size)
      : whole_(std::move(whole)), offset_(offset), size_(size) {}
  uint64_t size() const override { return size_; }
  Bytes load() const override {
    Bytes bytes = whole_->load();
    return {std::move(bytes.owner), bytes.data + offset_, size_};
  }

 private:
  std::shared_ptr<const Storage> whole_;
  uint64_t offset_, size_;
};

}  // namespace

constexpr uint8_t kNothing = 0;

MappedFile::MappedFile() : data_(&kNothing) {}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  const auto refuse = [&]() {
    host::fail(host::Exit::kUnavailable, path + ": cannot be read: " + strerror(errno));
  };
  const int descriptor = host::open_input(path);
  if (descriptor < 0) refuse();
  struct stat found;
  void* mapping = MAP_FAILED;
  const bool known = fstat(descriptor, &found) == 0;
  if (known && found.st_size > 0)
    mapping = mmap(nullptr, size_t(found.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  close(descriptor);
  errno = error;
  if (!known || (found.st_size > 0 && mapping == MAP_FAILED)) refuse();
  std::shared_ptr<MappedFile> file(new MappedFile);
  if (found.st_size > 0) {
    file->data_ = static_cast<const uint8_t*>(mapping);
    file->size_ = uint64_t(found.st_size);
    madvise(mapping, size_t(found.st_size), MADV_SEQUENTIAL);
    host::add_mapped_file(mapping, size_t(found.st_size));
  }
  return file;
}

MappedFile::~MappedFile() {
  if (size_ > 0) host::remove_mapped_file(data_);
  if (size_ > 0) munmap(const_cast<uint8_t*>(data_), size_t(size_));
}

std::shared_ptr<const Storage> mapped_storage(std::shared_ptr<const MappedFile> file,
                                              uint64_t offset, uint64_t size) {
  return std::make_shared<MappedStorage>(std::move(file), offset, size);
}

std::shared_ptr<const Storage> memory_storage(std::vector<uint8_t> bytes) {
  return std::make_shared<MemoryStorage>(std::move(bytes));
}

std::shared_ptr<const Storage> held_storage(Bytes bytes) {
  return std::make_shared<HeldStorage>(std::move(bytes));
}

std::shared_ptr<const Storage> part_of(std::shared_ptr<const Storage> whole, uint64_t offset,
                                       uint64_t size) {
  return std::make_shared<PartStorage>(std::move(whole), offset, size);
}

}  // namespace ingot::checkpoint
