#include "tools/files/output_folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tools/files/failure.h"

namespace ingot::host {

namespace fs = std::filesystem;

OutputFolder::OutputFolder(const std::string& path) {
  fs::path own = fs::path(path).lexically_normal();
  if (own.filename().empty()) own = own.parent_path();
  path_ = own.string();
  std::error_code error;
  if (fs::exists(own, error))
    fail(Exit::kUsage, path + ": is there already; name a folder that is not, or remove it");
  temporary_ = (own.parent_path() / ("." + own.filename().string() + ".writing")).string();
  fs::remove_all(temporary_, error);
  if (!fs::create_directories(temporary_, error)) fail_with(error.message());
}

OutputFolder::~OutputFolder() {
  std::error_code error;
  if (!committed_) fs::remove_all(temporary_, error);
}

void OutputFolder::fail_with(const std::string& why) const {
  fail(Exit::kUnavailable, path_ + ": cannot be written: " + why);
}

void OutputFolder::add(const std::string& name, const std::string& text) {
  const fs::path at = fs::path(temporary_) / name;
  std::error_code error;
  fs::create_directories(at.parent_path(), error);
  std::ofstream out(at, std::ios::binary);
  out.write(text.data(), std::streamsize(text.size()));
  out.close();
  if (!out) fail_with(name + ": " + std::strerror(errno));
  count_++;
}

size_t OutputFolder::commit() {
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) fail_with(error.message());
  committed_ = true;
  return count_;
}

}  // namespace ingot::host
