// SPDX-License-Identifier: Apache-2.0
// Files on disk: beyond 4 GiB, missing, of the wrong kind, and writing where there is no room.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "runtime/base/byte_order.h"
#include "tests/format/refuse_table.h"
#include "tests/support/scratch.h"
#include "tools/files/failure.h"

using namespace ingot;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

void write_at(int fd, uint64_t offset, const uint8_t* bytes, size_t count) {
  REQUIRE(pwrite(fd, bytes, count, off_t(offset)) == ssize_t(count));
}

}  // namespace

TEST_CASE("file: weights and golden beyond 4 GiB are found, in a sparse file") {
  // 4.5 GiB and a bit
  constexpr uint64_t kWeightBytes = uint64_t{5} << 30, kFar = (uint64_t{9} << 29) + 64;
  convert::FileSpec spec = one_instruction(
      step(ElementwiseOp::kAdd), {input("x", {2, 4}), constant("w", {4})}, {output("y", {2, 4})});
  spec.goldens.push_back({{{"x", DType::kF32, {2, 4}, std::vector<uint8_t>(32, 7)}}, {}, 0, 0});
  Bytes bytes = convert::write_memory(spec);
  const size_t weights = kHeaderFixedBytes + 2 * kPartEntryBytes,
               golden = weights + kPartEntryBytes;
  const uint64_t start = load_little<uint64_t>(bytes.data() + weights + 8),
                 old = load_little<uint64_t>(bytes.data() + golden + 8);
  const uint64_t golden_bytes = load_little<uint64_t>(bytes.data() + golden + 16);
  set_value_field(&bytes, 1, ValueField::kSegmentOffset, kFar);
  rehash(&bytes);
  store_little<uint64_t>(bytes.data() + weights + 16, kWeightBytes);
  store_little<uint64_t>(bytes.data() + golden + 8, start + kWeightBytes);
  store_little<uint64_t>(bytes.data() + 16, start + kWeightBytes + golden_bytes);
  Bytes head(bytes.begin(), bytes.begin() + long(start));
  rehash(&head);  // the parts that lie outside keep their hashes
  const Scratch scratch;
  const fs::path path = scratch.folder / "large.ingot";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(fd >= 0);
  const uint8_t mark[4] = {1, 2, 3, 4};
  write_at(fd, 0, head.data(), head.size());
  write_at(fd, start + kFar, mark, sizeof mark);
  write_at(fd, start + kWeightBytes, bytes.data() + old, golden_bytes);
  close(fd);

  Source source;
  ErrorDetail detail;
  REQUIRE(source_from_path(path.c_str(), &source, &detail).ok());
  CHECK(source.bytes > uint64_t{1} << 32);
  const Opened opened = open_source(source);
  CAPTURE(opened.detail.field);
  REQUIRE(opened.status.ok());
  CHECK(opened.program.values[1].segment_offset == kFar);
  const PartEntry part = weight_part(opened.file, 0);
  CHECK(part.bytes == kWeightBytes);
  uint8_t found[4] = {};
  REQUIRE(read_source(source, part.offset + kFar, found, sizeof found, &detail).ok());
  CHECK(memcmp(found, mark, sizeof mark) == 0);
  const uint64_t page = os::page_bytes(), at = (part.offset + kFar) / page * page;
  const uint8_t* mapped = nullptr;
  REQUIRE(os::map_file(source.file, at, page, nullptr, &mapped, &detail).ok());
  CHECK(memcmp(mapped + (part.offset + kFar - at), mark, sizeof mark) == 0);
  os::unmap_file(mapped, page);
  const PartEntry far_golden = file_part(opened.file, uint32_t(opened.file.golden_part));
  Bytes back(far_golden.bytes);
  CHECK(read_part(source, opened.file, uint32_t(opened.file.golden_part),
                  {back.data(), back.size()}, &detail)
            .ok());
  close_source(&source);
}

TEST_CASE("file: what is no regular file is refused by name of the reason") {
  const Scratch scratch;
  Source source;
  ErrorDetail detail;
  CHECK(source_from_path((scratch.folder / "none").c_str(), &source, &detail).code() ==
        Code::kFileOpen);
  CHECK(detail.have == ENOENT);
  CHECK(source_from_path(scratch.folder.c_str(), &source, &detail).code() == Code::kFileOpen);
  CHECK(detail.have == EISDIR);
  REQUIRE(mkfifo((scratch.folder / "fifo").c_str(), 0600) == 0);
  CHECK(source_from_path((scratch.folder / "fifo").c_str(), &source, &detail).code() ==
        Code::kFileOpen);
  alignas(16) uint8_t memory[64] = {};
  CHECK(source_from_memory(memory + 4, 32, &source, &detail).code() == Code::kMisaligned);
  CHECK(source_from_memory(nullptr, 32, &source, &detail).code() == Code::kInvalidArgument);
  CHECK(source_from_reader(32, nullptr, nullptr, &source, &detail).code() ==
        Code::kInvalidArgument);
}

TEST_CASE("file: a reader that fails is an error of reading") {
  Source source;
  ErrorDetail detail;
  const auto refuse = [](void*, uint64_t, void*, uint64_t) { return false; };
  REQUIRE(source_from_reader(4096, refuse, nullptr, &source, &detail).ok());
  CHECK(open_source(source).status.code() == Code::kFileRead);
}

TEST_CASE("write: the file on disk is the file in memory, and replaces an older one") {
  const Scratch scratch;
  const fs::path path = scratch.folder / "model.ingot";
  const convert::FileSpec spec = small_network();
  const Bytes bytes = convert::write_memory(spec);
  for (int round = 0; round < 2; round++) {
    const convert::WrittenFile written = convert::write_file(spec, path.string());
    CHECK(written.file_bytes == bytes.size());
    CHECK(written.shared_bytes == 16 * 16 * 4);
    CHECK(fs::file_size(path) == bytes.size());
    CHECK(scratch.count() == 1);
  }
  Source source;
  ErrorDetail detail;
  REQUIRE(source_from_path(path.c_str(), &source, &detail).ok());
  Bytes back(bytes.size());
  REQUIRE(read_source(source, 0, back.data(), back.size(), &detail).ok());
  CHECK(back == bytes);
  close_source(&source);
}

TEST_CASE("write: no room, no folder, a folder as name: exit code 7 and nothing left behind") {
  const Scratch scratch;
  convert::FileSpec spec =
      one_instruction(step(ElementwiseOp::kAdd), {input("x", {2, 4096}), constant("w", {4096})},
                      {output("y", {2, 4096})});
  const auto exit_code = [&](const fs::path& path) {
    try {
      convert::write_file(spec, path.string());
    } catch (const host::Failure& failure) {
      return int(failure.exit());
    }
    return 0;
  };
  CHECK(exit_code(scratch.folder / "none" / "model.ingot") == 7);
  CHECK(exit_code(scratch.folder) == 7);
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before, small;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  small = before;
  small.rlim_cur = 8192;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const int code = exit_code(scratch.folder / "model.ingot");
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(code == 7);
  CHECK(scratch.count() == 0);
  CHECK(exit_code(scratch.folder / "model.ingot") == 0);
}
