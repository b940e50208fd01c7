// SPDX-License-Identifier: Apache-2.0
// A disk that is full, on a real small file system (a tmpfs of 128 KiB in this process's own mount
// namespace, so only for root): one line, exit 7, what was there before untouched, nothing half
// written left. RLIMIT_FSIZE and /dev/full are tried in bad_input_test.
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "tests/cli/command_line.h"

using namespace cli_test;
namespace fs = std::filesystem;

namespace {

/// Mounted for the object's life.
class SmallDisk {
 public:
  SmallDisk() : place_(folder_ / "disk") {
    fs::create_directory(place_);
    mounted_ = unshare(CLONE_NEWNS) == 0 &&
               mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount("small", place_.c_str(), "tmpfs", 0, "size=128k,mode=0755") == 0;
    if (!mounted_)
      std::cout << "[skip] full disk: a small file system cannot be mounted here: "
                << strerror(errno) << "\n";
  }
  ~SmallDisk() {
    if (mounted_) umount(place_.c_str());
  }
  bool mounted() const { return mounted_; }
  std::string operator/(const std::string& name) const { return place_ + "/" + name; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(place_))
      names.push_back(entry.path().filename().string());
    return names;
  }
  /// Leaves that many bytes free (whole pages).
  void fill(uint64_t leave) const {
    fs::remove(*this / "filler");
    const uint64_t room = fs::space(place_).available;
    spill(*this / "filler", std::string(room > leave ? room - leave : 0, 'f'));
  }

 private:
  Folder folder_;
  std::string place_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("full disk: every command that writes says so in one line and leaves what was there") {
  const SmallDisk disk;
  if (!disk.mounted()) return;
  const Folder folder;
  const std::string model = converted(folder, "linear"), source = data("linear.onnx"),
                    arrays = data("linear.npz");
  const auto refused = [&](const std::vector<std::string>& arguments,
                           const RunOptions& options = {}) {
    std::string line;
    for (const std::string& word : arguments) line += word + " ";
    CAPTURE(line);
    const auto before = disk.names();
    const Ran ran = run(arguments, options);
    CAPTURE(ran.err);
    CHECK(ran.signal == 0);
    CHECK(ran.exit == 7);
    CHECK(is_one_error_line(ran.err));
    CHECK(ran.err.find("No space left") != std::string::npos);
    CHECK(ran.err.find("make room") != std::string::npos);
    CHECK(disk.names() == before);
  };
  // nothing fits, some pages do
  for (const uint64_t leave : {uint64_t{0}, uint64_t{4096}, uint64_t{40960}}) {
    CAPTURE(leave);
    disk.fill(leave);
    refused({"convert", source, "-o", disk / "o.ingot"});
    refused({"convert", source, "-o", disk / "o.ingot", "--check", "--golden", arrays});
    if (leave < 4096) {
      refused({"run", model, "--inputs", arrays, "--outputs", disk / "o.npz"});
      refused({"run", model, "--inputs", arrays, "--outputs", folder / "o.npz", "--profile",
               disk / "o.json"});
      refused({"kernels", model, "-o", disk / "o.cpp"});
    }
    refused({"check", source, "--golden", arrays}, {{{"TMPDIR", disk / ""}}, {}});
  }
  // A file that is there already keeps its bytes until the new one is whole.
  fs::remove(disk / "filler");
  spill(disk / "o.ingot", "what was there");
  disk.fill(16384);
  refused({"convert", source, "-o", disk / "o.ingot"});
  CHECK(slurp(disk / "o.ingot") == "what was there");
  fs::remove(disk / "filler");
  CHECK(run({"convert", source, "-o", disk / "o.ingot"}).exit == 0);
  CHECK(slurp(disk / "o.ingot") == slurp(model));
}

TEST_CASE("a place that cannot be written: a file system mounted read-only") {
  const SmallDisk disk;
  if (!disk.mounted()) return;
  const Folder folder;
  const std::string there = converted(folder, "linear");
  spill(disk / "o.ingot", slurp(there));
  const std::string place = fs::path(disk / "o.ingot").parent_path().string();
  if (mount("small", place.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
    std::cout << "[skip] full disk: a file system cannot be made read-only here\n";
    return;
  }
  const Ran ran = run({"convert", data("linear.onnx"), "-o", disk / "o.ingot"});
  CHECK(ran.exit == 7);
  CHECK(is_one_error_line(ran.err));
  CHECK(ran.err.find("Read-only") != std::string::npos);
  CHECK(run({"verify", disk / "o.ingot"}).exit == 0);  // reading needs no room
}

TEST_CASE("outputs never fall onto what is read, nor onto each other") {
  const Folder folder;
  const std::string model = converted(folder, "linear"), inputs = folder / "in.npz";
  spill(inputs, slurp(data("linear.npz")));
  const auto refused = [&](const std::vector<std::string>& arguments) {
    CAPTURE(arguments.back());
    const Ran ran = run(arguments);
    CAPTURE(ran.err);
    CHECK(ran.exit == 1);
    CHECK(is_one_error_line(ran.err));
    CHECK(slurp(inputs) == slurp(data("linear.npz")));
    CHECK(run({"verify", model}).exit == 0);
  };
  fs::create_hard_link(inputs, folder / "same.npz");
  refused({"run", model, "--inputs", inputs, "--outputs", inputs});
  refused({"run", model, "--inputs", inputs, "--outputs", folder / "same.npz"});
  refused({"run", model, "--inputs", inputs, "--outputs", model});
  refused({"run", model, "--inputs", inputs, "--outputs", folder / "o.npz", "--profile", model});
  refused({"run", model, "--inputs", inputs, "--outputs", folder / "o.npz", "--profile",
           folder / "o.npz"});
  refused({"convert", data("linear.onnx"), "--golden", inputs, "-o", inputs});
  refused({"kernels", model, "-o", model});
  refused({"why", model, "--seconds", "0", "--html", model});
  refused({"compare", data("linear.onnx"), model, "--html", model});
  CHECK(run({"run", model, "--inputs", inputs, "--outputs", "/dev/null", "--profile", "/dev/null"})
            .exit == 0);
}

TEST_CASE("a pipe is no file: named at once, not waited for") {
  const Folder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0666) == 0);
  for (const char* command : {"inspect", "verify", "bench"}) {
    const Ran ran = run({command, pipe});
    CAPTURE(ran.err);
    CHECK(ran.exit == 7);
    CHECK(ran.err.find("is a pipe") != std::string::npos);
  }
}
