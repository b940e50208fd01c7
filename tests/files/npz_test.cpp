// SPDX-License-Identifier: Apache-2.0
// Archives as numpy writes them are read to the value; what we write is read back and is the same
// bytes each time; the hostile ones in data/ are refused with the exit code in their name.
#include "tools/files/npz/npz.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/support/scratch.h"
#include "tools/diagnose/golden/compare.h"
#include "tools/files/failure.h"

using namespace ingot;
using namespace ingot::host;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

const fs::path kData = INGOT_NPZ_DATA;

int exit_of_reading(const std::string& path, const NpzLimits& limits = {}) {
  try {
    read_npz(path, limits);
    return 0;
  } catch (const Failure& failure) {
    CAPTURE(failure.message());
    CHECK(failure.message().find(path) == 0);                  // where
    CHECK(failure.message().find('\n') == std::string::npos);  // one line
    return int(failure.exit());
  }
}

template <class T>
Array make(const std::string& name, DType dtype, std::vector<int64_t> dims, std::vector<T> values) {
  Array a;
  a.name = name;
  a.dtype = dtype;
  a.dims = std::move(dims);
  a.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}

}  // namespace

TEST_CASE(
    "read_npz: every element type, byte order and storage order of numpy gives the same values") {
  if (!has_npz_reader()) {
    MESSAGE("[skip] built without libzip");
    return;
  }
  for (const char* file : {"sound_stored.npz", "sound_deflated.npz"}) {
    CAPTURE(file);
    const auto arrays = read_npz((kData / file).string());
    CHECK(arrays.size() == 42);
    const char* kinds[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"};
    const DType dtypes[] = {DType::kF16, DType::kF32, DType::kF64, DType::kI8,
                            DType::kI16, DType::kI32, DType::kI64, DType::kU8,
                            DType::kU16, DType::kU32, DType::kU64};
    for (int k = 0; k < 11; k++) {
      for (const std::string prefix : {"", "big_", "fortran_"}) {
        CAPTURE(prefix + kinds[k]);
        const Array* array = find_array(arrays, prefix + kinds[k]);
        REQUIRE(array);
        CHECK(array->dtype == dtypes[k]);
        CHECK(array->dims == std::vector<int64_t>{2, 3, 4});
        for (int64_t i = 0; i < 24; i++) CHECK(check::element_as_double(*array, i) == double(i));
      }
    }
    CHECK(check::element_as_double(*find_array(arrays, "big_fortran_f4"), 23) == 23);
    CHECK(check::element_as_double(*find_array(arrays, "big_fortran_f4"), 1) == 1);
    CHECK(find_array(arrays, "version2")->as<float>()[5] == 5);
    CHECK(find_array(arrays, "raw2")->dtype == DType::kBF16);
    CHECK(find_array(arrays, "raw2")->as<uint16_t>()[5] == 5);
    CHECK(find_array(arrays, "bool")->as<uint8_t>()[1] == 1);
    CHECK(find_array(arrays, "scalar")->dims.empty());
    CHECK(find_array(arrays, "scalar")->as<float>()[0] == 1.5f);
    CHECK(find_array(arrays, "empty")->dims == std::vector<int64_t>{0, 3});
    CHECK(find_array(arrays, "meta")->text == "{\"steps\": 3, \"name\": \"\xc3\xa9\xe2\x88\x9a\"}");
    CHECK(find_array(arrays, "big_text")->text == "a\xc3\xa9");
    CHECK(find_array(arrays, "in:a/b")->as<int32_t>()[0] == 7);
  }
  const auto single = read_npz((kData / "single.npy").string());
  REQUIRE(single.size() == 1);
  CHECK(single[0].name.empty());
  CHECK(single[0].as<float>()[23] == 23);
}

TEST_CASE(
    "read_npz: each hostile archive is refused with its exit code, in one line that names the "
    "file") {
  if (!has_npz_reader()) return;
  int refused = 0;
  for (const auto& entry : fs::directory_iterator(kData)) {
    const std::string name = entry.path().filename().string();
    if (name[0] != 'e') continue;
    CAPTURE(name);
    NpzLimits limits;
    if (name == "e7_deflate_bomb.npz") limits.total_bytes = 64 << 20;
    CHECK(exit_of_reading(entry.path().string(), limits) == name[1] - '0');
    refused++;
  }
  CHECK(refused == 29);
  CHECK(exit_of_reading((kData / "no_such_file.npz").string()) == 7);
  CHECK(exit_of_reading(kData.string()) == 7);
}

TEST_CASE("read_npz: the limit on unpacked bytes counts all arrays together") {
  if (!has_npz_reader()) return;
  NpzLimits limits;
  limits.total_bytes = 1000;
  CHECK(exit_of_reading((kData / "sound_deflated.npz").string(), limits) == 7);
  limits = {};
  limits.members = 3;
  CHECK(exit_of_reading((kData / "sound_deflated.npz").string(), limits) == 7);
}

TEST_CASE(
    "read_npz: no truncation and no flipped byte crashes, and a flipped payload byte is noticed") {
  if (!has_npz_reader()) return;
  const Scratch scratch;
  const std::string path = scratch / "damaged.npz";
  for (const char* file : {"sound_stored.npz", "sound_deflated.npz"}) {
    const std::string sound = read_file(kData / file);
    std::mt19937 random(7);
    int accepted = 0;
    for (int round = 0; round < 400; round++) {
      std::string bytes = sound;
      if (round % 4 == 0)
        bytes.resize(random() % bytes.size());
      else
        bytes[random() % bytes.size()] ^= char(1 + random() % 255);
      write_file(path, bytes);
      accepted += exit_of_reading(path) == 0;
    }
    CHECK(accepted < 80);  // dates, versions and attributes may change unseen
  }
}

TEST_CASE("write_npz: arrays come back as they were, and the same arrays make the same bytes") {
  const Scratch scratch;
  const std::vector<Array> arrays = {make<float>("a", DType::kF32, {2, 2}, {1, -2, 3.5f, 0}),
                                     make<int64_t>("out:x/y", DType::kI64, {}, {-5}),
                                     make<uint8_t>("flag", DType::kBool, {3}, {0, 1, 1}),
                                     make<uint16_t>("half", DType::kBF16, {1, 2}, {0x3f80, 0xc000}),
                                     make<float>("none", DType::kF32, {0, 4}, {}),
                                     make<int8_t>("n\xc3\xa9", DType::kI8, {1}, {-128})};
  write_npz(scratch / "one.npz", arrays);
  write_npz(scratch / "two.npz", arrays);
  CHECK(read_file(scratch / "one.npz") == read_file(scratch / "two.npz"));
  if (!has_npz_reader()) return;
  const auto back = read_npz(scratch / "one.npz");
  REQUIRE(back.size() == arrays.size());
  for (size_t i = 0; i < arrays.size(); i++) {
    CAPTURE(arrays[i].name);
    CHECK(back[i].name == arrays[i].name);
    CHECK(back[i].dtype == arrays[i].dtype);
    CHECK(back[i].dims == arrays[i].dims);
    CHECK(back[i].bytes == arrays[i].bytes);
  }
}

TEST_CASE("write_npz: more members than 16 bits can count need the 64-bit records, and come back") {
  if (!has_npz_reader()) return;
  const Scratch scratch;
  std::vector<Array> arrays;
  for (int i = 0; i < 65600; i++)
    arrays.push_back(make<uint8_t>("m" + std::to_string(i), DType::kU8, {1}, {uint8_t(i)}));
  write_npz(scratch / "many.npz", arrays);
  NpzLimits limits;
  limits.members = 70000;
  const auto back = read_npz(scratch / "many.npz", limits);
  REQUIRE(back.size() == arrays.size());
  CHECK(back[65599].bytes == arrays[65599].bytes);
}

TEST_CASE(
    "npy_header: long shapes and every rank give a header that is a multiple of 64 and parses") {
  for (size_t rank = 0; rank < 60; rank++) {
    Array array = make<uint8_t>("x", DType::kU8, std::vector<int64_t>(rank, 1), {9});
    const std::string bytes = npy_header(array) + '\x09';
    CHECK((bytes.size() - 1) % 64 == 0);
    size_t at = 0;
    const ByteSource source = [&](void* out, size_t count) {
      count = std::min(count, bytes.size() - at);
      memcpy(out, bytes.data() + at, count);
      at += count;
      return count;
    };
    const Array back = read_npy(source, "memory", 100);
    CHECK(back.dims == array.dims);
    CHECK(back.bytes == array.bytes);
  }
}

TEST_CASE("npy: rows come as they are asked for, and no byte more is read") {
  std::vector<float> numbers(100 * 7);
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = float(i);
  const Array whole = make<float>("", DType::kF32, {100, 7}, numbers);
  std::string file = npy_header(whole);
  const size_t header = file.size();
  file.append(reinterpret_cast<const char*>(whole.bytes.data()), whole.bytes.size());
  size_t read = 0;
  NpyReader reader(
      [&](void* out, size_t count) {
        count = std::min(count, file.size() - read);
        memcpy(out, file.data() + read, count);
        read += count;
        return count;
      },
      "x.npy");
  CHECK(reader.type().dims == std::vector<int64_t>{100, 7});
  CHECK(reader.type().bytes.empty());
  CHECK(reader.total_bytes() == 2800);
  CHECK(read == header);
  const Array three = reader.next(3), one = reader.next(1);
  CHECK(read == header + 4 * 28);
  CHECK(three.dims == std::vector<int64_t>{3, 7});
  CHECK(one.as<float>()[0] == 21);
  const Array rest = reader.rest();
  CHECK(rest.dims == std::vector<int64_t>{96, 7});
  CHECK(rest.as<float>()[96 * 7 - 1] == 699);
}

TEST_CASE("npz: members are read side by side, stored and packed, and damage is found at the end") {
  for (const char* name : {"sound_stored.npz", "sound_deflated.npz"}) {
    const std::string path = (kData / name).string();
    if (std::string(name) == "sound_deflated.npz" && !has_npz_reader()) continue;
    const std::vector<Array> expected = read_npz(path);
    std::vector<NpyReader> readers;
    for (NpzMember& member : open_npz(path))
      readers.emplace_back(std::move(member.source), member.where);
    REQUIRE(readers.size() == expected.size());
    std::vector<std::vector<uint8_t>> found(readers.size());
    size_t rows = 0;
    for (int64_t row = 0; row < 4; row++)  // a row of each in turn
      for (size_t i = 0; i < readers.size(); i++)
        if (readers[i].has_rows() && row < expected[i].dims[0]) {
          const Array part = readers[i].next(1);
          found[i].insert(found[i].end(), part.bytes.begin(), part.bytes.end());
          rows++;
        }
    CHECK(rows > readers.size());
    for (size_t i = 0; i < readers.size(); i++) {
      const Array rest = readers[i].rest();
      found[i].insert(found[i].end(), rest.bytes.begin(), rest.bytes.end());
      CAPTURE(expected[i].name);
      CHECK(found[i] == expected[i].bytes);
    }
  }
  const Scratch scratch;
  const std::string path = scratch / "flipped.npz";
  write_npz(path, {make<float>("x", DType::kF32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
  std::string bytes = read_file(path);
  bytes[bytes.find("\x93NUMPY") + 128 + 9] ^= 1;
  write_file(path, bytes);
  NpyReader reader(open_npz(path)[0].source, path);
  CHECK(reader.next(1).dims[0] == 1);
  CHECK_THROWS_AS(reader.rest(), Failure);
}
