// SPDX-License-Identifier: Apache-2.0
// Views and their validation, safetensors both ways, legacy torch files made here.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "tests/checkpoint/support.h"
#include "tools/checkpoint/flat/safetensors.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"
#include "tools/files/work_budget.h"

using namespace ingot;
using namespace ingot::checkpoint;
using namespace ingot::test;

namespace {

constexpr auto le = little_endian;

Tensor view(std::vector<float> values, std::vector<int64_t> dims, std::vector<int64_t> strides,
            uint64_t offset = 0) {
  std::vector<uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  Tensor t;
  t.path = {"w"};
  t.dims = std::move(dims);
  t.strides = std::move(strides);
  t.offset = offset;
  t.storage = memory_storage(std::move(bytes));
  return t;
}

std::string safetensors(const std::string& header, const std::string& data) {
  return le(header.size(), 8) + header + data;
}

/// A legacy file with one tensor of four floats; `view_text` is its offset, size and stride.
std::string legacy_of(const std::string& object, const std::string& keys_and_data) {
  const std::string magic("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.", 15);
  const std::string version("\x80\x02M\xe9\x03.", 6), system = "(S'little_endian'\nI01\nd.";
  return magic + version + system + object + keys_and_data;
}

std::string legacy(const std::string& view_text, uint64_t count, const std::string& data) {
  const std::string object =
      "ccollections\nOrderedDict\n)R(S'w'\nctorch._utils\n_rebuild_tensor_v2\n((S'storage'"
      "\nctorch\nFloatStorage\nS'17'"
      "\n"
      "S'cuda:1'\nI4\nNtQ" +
      view_text + "I00\nNtRu.";
  return legacy_of(object, "(lS'17'\na." + le(count, 8) + data);
}

/// A tensor of a device without storages of torch's own: an array, the tensor's type, the device.
std::string moved(const std::string& function, const std::string& bytes, const std::string& type) {
  std::string escaped;
  for (const char c : bytes) {
    char hex[5];
    snprintf(hex, sizeof hex, "\\x%02x", unsigned(uint8_t(c)));
    escaped += hex;
  }
  const std::string array =
      "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n("
      "I2\ntcnumpy\ndtype\n(S'f4'"
      "\nI0\nI1\ntR(I3"
      "\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\nS'" +
      escaped + "'\ntb";
  return legacy_of("ccollections\nOrderedDict\n)R(S'w'\nctorch._utils\n" + function + "\n(" +
                       array + "ctorch\n" + type + "\nS'xla:0'\nI00\ntRu.",
                   "(l.");
}

}  // namespace

TEST_CASE("views are read in the order of their elements") {
  const std::vector<float> six = {0, 1, 2, 3, 4, 5};
  CHECK(values_of<float>(view(six, {2, 3}, {3, 1})) == six);
  CHECK(values_of<float>(view(six, {3, 2}, {1, 3})) == std::vector<float>{0, 3, 1, 4, 2, 5});
  CHECK(values_of<float>(view(six, {2, 2}, {3, 1}, 1)) == std::vector<float>{1, 2, 4, 5});
  CHECK(values_of<float>(view(six, {2, 3}, {0, 1}, 3)) == std::vector<float>{3, 4, 5, 3, 4, 5});
  CHECK(values_of<float>(view(six, {}, {}, 4)) == std::vector<float>{4});
  CHECK(values_of<float>(view(six, {0, 3}, {3, 1})).empty());
  Tensor negated = view(six, {6}, {1});
  negated.negated = true;
  CHECK(values_of<float>(negated)[5] == -5);
  Tensor swapped = view({1}, {1}, {1});
  swapped.swapped = true;
  uint32_t bits;
  const std::vector<uint8_t> bytes = tensor_bytes(swapped);
  std::memcpy(&bits, bytes.data(), 4);
  CHECK(bits == 0x0000803f);
}

TEST_CASE("a view outside its storage is refused before it is read") {
  const std::vector<float> four(4);
  const ReadLimits limits;
  const auto outcome = [&](const Tensor& t) {
    return exit_of([&] { validate_view(t, limits, "t"); });
  };
  CHECK(outcome(view(four, {2, 2}, {2, 1})) == host::Exit::kOk);
  CHECK(outcome(view(four, {0}, {1}, 4)) == host::Exit::kOk);
  CHECK(outcome(view(four, {2, 2}, {2, 1}, 1)) == host::Exit::kCorrupt);
  CHECK(outcome(view(four, {5}, {1})) == host::Exit::kCorrupt);
  CHECK(outcome(view(four, {-1}, {1})) == host::Exit::kCorrupt);
  CHECK(outcome(view(four, {2}, {-1}, 2)) == host::Exit::kCorrupt);
  CHECK(outcome(view(four, {2, 2}, {1})) == host::Exit::kCorrupt);
  CHECK(outcome(view(four, {int64_t(1) << 40, int64_t(1) << 40}, {0, 0})) == host::Exit::kCorrupt);
  CHECK(outcome(view(four, {3}, {int64_t(1) << 62})) == host::Exit::kCorrupt);
  CHECK(outcome(view(four, {int64_t(1) << 40}, {0})) == host::Exit::kCorrupt);
  CHECK(outcome(view(four, {1000}, {0})) == host::Exit::kOk);
  CHECK(outcome(view(four, {0}, {1}, 5)) == host::Exit::kCorrupt);
}

TEST_CASE("safetensors are written as they are read") {
  const host::TemporaryPath file(".safetensors");
  const Tensor a = view({1, 2, 3, 4}, {2, 2}, {1, 2}), b = view({7}, {}, {});
  write_safetensors(file.path(), {{"a.weight", &a}, {"b", &b}}, {{"epoch", "3"}});
  const Checkpoint back = read_checkpoint(file.path());
  REQUIRE(back.tensors.size() == 2);
  CHECK(back.format == "safetensors");
  CHECK(back.tensors[0].path == Path{"a.weight"});
  CHECK(values_of<float>(back.tensors[0]) == std::vector<float>{1, 3, 2, 4});
  CHECK(back.tensors[1].dims.empty());
  REQUIRE(back.facts.size() == 1);
  CHECK(std::get<std::string>(back.facts[0].value) == "3");
  CHECK(exit_of([&] {
          write_safetensors(file.path(), {{"a", &a}, {"a", &b}}, {});
        }) == host::Exit::kMismatch);
  CHECK(read_file(file.path()).size() > 20);  // what was there stays
}

TEST_CASE("safetensors whose header lies are refused") {
  const host::TemporaryPath file(".safetensors");
  const auto opening = [&](const std::string& bytes) {
    write_file(file.path(), bytes);
    return exit_of([&] { (void)read_safetensors(file.path(), {}); });
  };
  const std::string eight(8, '\1');
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK(opening(safetensors(good, eight)) == host::Exit::kOk);
  for (
      const char* header :
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9]}})",
       R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
       R"({"a":{"dtype":"X","shape":[2],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", R"([1])", R"({"a":)",
       R"({"a":{},"a":{}})", "",
       R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}})"}) {
    CAPTURE(header);
    CHECK(opening(safetensors(header, eight)) == host::Exit::kCorrupt);
  }
  CHECK(opening(safetensors(good, eight + "x")) == host::Exit::kCorrupt);
  CHECK(opening(le(1, 3)) == host::Exit::kCorrupt);
  CHECK(opening(le(~uint64_t{0}, 8)) == host::Exit::kCorrupt);
}

TEST_CASE("a legacy torch file, wherever it was trained") {
  const host::TemporaryPath file(".pth");
  std::string data;
  for (const float x : {1.f, 2.f, 3.f, 4.f}) data.append(reinterpret_cast<const char*>(&x), 4);
  write_file(file.path(), legacy("I0\n(I2\nI2\nt(I1\nI2\nt", 4, data));
  const Checkpoint c = read_checkpoint(file.path());
  CHECK(c.format == "torch legacy");
  REQUIRE(c.tensors.size() == 1);
  CHECK(c.tensors[0].location == "cuda:1");
  CHECK(values_of<float>(c.tensors[0]) == std::vector<float>{1, 3, 2, 4});
  for (size_t cut = 15; cut < 20; cut++) {
    const std::string whole = legacy("I0\n(I4\nt(I1\nt", 4, data);
    write_file(file.path(), whole.substr(0, whole.size() - cut));
    CHECK(exit_of([&] { (void)read_checkpoint(file.path()); }) == host::Exit::kCorrupt);
  }
  write_file(file.path(), legacy("I1\n(I4\nt(I1\nt", 4, data));
  CHECK(exit_of([&] { (void)read_checkpoint(file.path()); }) == host::Exit::kCorrupt);
  write_file(file.path(), legacy("I0\n(I4\nt(I1\nt", ~uint64_t{0}, data));
  CHECK(exit_of([&] { (void)read_checkpoint(file.path()); }) == host::Exit::kCorrupt);
}

TEST_CASE(
    "a few bytes that name millions of values by sharing are refused before they take the memory") {
  const host::TemporaryPath file(".pth");
  const auto list = [](const std::string& item, int count, char memo) {
    std::string text = "(";
    for (int i = 0; i < count; i++) text += item;
    return text + "lq" + memo;
  };
  // A list of a list of a list: the inner two are put aside with POP and met again by their memo.
  const std::string object =
      list("N", 150, 1) + "0" + list("h\x01", 150, 2) + "0" + list("h\x02", 150, 3);
  write_file(file.path(), legacy_of(object + ".", "(l."));
  const host::WorkBudget budget("outside", 0);
  std::string said;
  try {
    (void)read_checkpoint(file.path());
  } catch (const host::Failure& failure) {
    CHECK(failure.exit() == host::Exit::kUnavailable);
    said = failure.message();
  }
  CHECK(said.find(file.path()) == 0);
  CHECK(said.find("bytes of memory") != std::string::npos);
  CHECK(budget.bytes() < uint64_t{300} << 20);
}

TEST_CASE("a tensor of a device without storages of its own is read where it was copied to") {
  const host::TemporaryPath file(".pth");
  const std::string wide("\x00\x00\x80\x3f\x00\x00\x20\xc0", 8);  // 1, -2.5
  for (const char* function : {"_rebuild_device_tensor_from_numpy", "_rebuild_xla_tensor"}) {
    write_file(file.path(), moved(function, wide, "float32"));
    const Checkpoint c = read_checkpoint(file.path());
    REQUIRE(c.tensors.size() == 1);
    CHECK(c.tensors[0].location == "xla:0");
    CHECK(values_of<float>(c.tensors[0]) == std::vector<float>{1, -2.5f});
  }
  // numpy has no bfloat16: the array is f32, the tensor is not.
  write_file(file.path(), moved("_rebuild_device_tensor_from_numpy", wide, "bfloat16"));
  const Checkpoint brain = read_checkpoint(file.path());
  REQUIRE(brain.tensors.size() == 1);
  CHECK(brain.tensors[0].type == ElementType::kBf16);
  CHECK(tensor_bytes(brain.tensors[0]) == std::vector<uint8_t>{0x80, 0x3f, 0x20, 0xc0});
  const auto reading = [&] { return exit_of([&] { (void)read_checkpoint(file.path()); }); };
  write_file(file.path(), moved("_rebuild_device_tensor_from_numpy",
                                std::string("\x01\x00\x80\x3f\x00\x00\x20\xc0", 8), "bfloat16"));
  CHECK(reading() == host::Exit::kCorrupt);  // was never bfloat16
  write_file(file.path(), moved("_rebuild_device_tensor_from_numpy", wide, "float16"));
  CHECK(reading() == host::Exit::kCorrupt);
  write_file(file.path(), moved("_rebuild_device_tensor_from_numpy", wide.substr(1), "float32"));
  CHECK(reading() == host::Exit::kCorrupt);
  write_file(file.path(),
             legacy_of("ccollections\nOrderedDict\n)R(S'w'\nctorch._utils\n_rebuild_xla_tensor\n("
                       "I7\nctorch\nfloat32\nS'xla:0'\nI00\ntRu.",
                       "(l."));
  CHECK(reading() == host::Exit::kCorrupt);
}

TEST_CASE("an index that names itself ends, as do two that name each other") {
  const host::TemporaryPath a(".json"), b(".json");
  const auto name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  const auto index = [](const std::string& shard) {
    return "{\"weight_map\": {\"w\": \"" + shard + "\"}}";
  };
  const auto reading = [&] { return exit_of([&] { (void)read_checkpoint(a.path()); }); };
  write_file(a.path(), index(name(a.path())));
  CHECK(reading() == host::Exit::kUnsafe);
  write_file(a.path(), index(name(b.path())));
  write_file(b.path(), index(name(a.path())));
  CHECK(reading() == host::Exit::kUnsafe);
  write_file(a.path(), index(std::string(300, 'x')));  // longer than a name may be
  CHECK(reading() == host::Exit::kUnavailable);
}

TEST_CASE("every cut and every changed byte of a small file ends in data or in a refusal") {
  const host::TemporaryPath file(".pth");
  const std::string whole = legacy("I0\n(I2\nI2\nt(I1\nI2\nt", 4, std::string(16, '\0'));
  size_t refused = 0, accepted = 0;
  const auto attempt = [&](const std::string& bytes) {
    write_file(file.path(), bytes);
    const host::Exit exit = exit_of([&] {
      const Checkpoint c = read_checkpoint(file.path());
      for (const Tensor& t : c.tensors) (void)tensor_bytes(t);
    });
    CHECK(exit != host::Exit::kInternal);
    (exit == host::Exit::kOk ? accepted : refused)++;
  };
  for (size_t cut = 1; cut < whole.size(); cut++) attempt(whole.substr(0, cut));
  for (size_t i = 0; i < whole.size(); i++) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = whole;
      changed[i] = char(changed[i] ^ (1 << bit));
      attempt(changed);
    }
  }
  CHECK(refused > 300);
  CHECK(accepted > 10);
}
