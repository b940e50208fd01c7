// SPDX-License-Identifier: Apache-2.0
// Files of some megabytes that name millions of things: what describes a checkpoint may take a
// fixed number of bytes for each of the file's (tools/files/work_budget.h). Beyond, the file is
// refused with one line before memory is taken. What is charged is compared with what a process
// really takes. Files and limits are a quarter of what a user meets: pages cost the test its time.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/checkpoint/reading_cost.h"
#include "tests/checkpoint/stored_zip.h"

namespace ingot::checkpoint {
namespace {

using host::WorkLimits;
using test::Cost;
using test::cost_of_file;
using test::little;

std::string times(size_t n, const std::string& each) {
  std::string all;
  all.reserve(n * each.size());
  for (size_t i = 0; i < n; i++) all += each;
  return all;
}
std::string torch_zip(const std::string& pickle) {
  return test::stored_zip({{"a/data.pkl", "\x80\x02" + pickle + "."}, {"a/version", "3\n"}});
}
std::string list_of(size_t n, const std::string& each) {
  return torch_zip("(" + times(n, each) + "l");
}
std::string dict_of(size_t n, const std::string& each) {
  return torch_zip("(" + times(n, each) + "d");
}
std::string gguf_array(size_t n, uint32_t type, const std::string& each) {
  const std::string key = "tokenizer.ggml.tokens";
  return "GGUF" + little(3, 4) + little(0, 8) + little(1, 8) + little(key.size(), 8) + key +
         little(9, 4) + little(type, 4) + little(n, 8) + times(n, each);
}
std::string bson_list(size_t n, const std::string& value) {
  const std::string body =
      "\x04"
      "a" +
      std::string(1, '\0') + little(n * value.size() + 5, 4) + times(n, value) +
      std::string(2, '\0');
  return little(body.size() + 4, 4) + body;
}
/// A safetensors header whose text is `inside`.
std::string header(const std::string& inside) { return little(inside.size(), 8) + inside; }

/// HDF5: a root with one link to a dataset of n texts of one byte.
std::string hdf5_texts(size_t n) {
  const auto message = [](int type, const std::string& body) {
    return little(uint64_t(type), 1) + little(body.size(), 2) + little(0, 1) + body;
  };
  const auto object = [](const std::string& messages) {
    return "OHDR" + little(2, 1) + little(2, 1) + little(messages.size(), 4) + messages +
           little(0, 4);
  };
  const uint64_t root = 48, data_at = 1024;
  const auto dataset =
      object(message(1, little(2, 1) + little(1, 1) + little(0, 2) + little(n, 8)) +
             message(3, little(0x13, 1) + little(0, 3) + little(1, 4)) +
             message(8, little(3, 1) + little(1, 1) + little(data_at, 8) + little(n, 8)));
  const std::string link = little(1, 1) + little(0, 1) + little(1, 1) + "t" + little(512, 8);
  std::string file = "\x89HDF\r\n\x1a\n" + little(2, 1) + little(8, 1) + little(8, 1) +
                     little(0, 1) + little(0, 8) + little(~uint64_t{0}, 8) +
                     little(data_at + n, 8) + little(root, 8) + little(0, 4);
  file += object(message(6, link));
  file.resize(512, '\0');
  file += dataset;
  file.resize(data_at, '\0');
  return file + std::string(n, 'x');
}

struct Kind {
  const char* name;
  const char* ending;
  size_t n;  // refused
  std::function<std::string(size_t)> file;
};
const Kind kKinds[] = {
    {"None", ".pth", 2048u << 10, [](size_t n) { return list_of(n, "N"); }},
    {"True", ".pth", 2048u << 10, [](size_t n) { return list_of(n, "\x88"); }},
    {"small numbers", ".pth", 1024u << 10, [](size_t n) { return list_of(n, "K\x07"); }},
    {"numbers", ".pth", 768u << 10, [](size_t n) { return list_of(n, "M\xff\x7f"); }},
    {"empty lists", ".pth", 2048u << 10, [](size_t n) { return list_of(n, "]"); }},
    {"empty dictionaries", ".pth", 2048u << 10, [](size_t n) { return list_of(n, "}"); }},
    {"keys of a dictionary", ".pth", 1024u << 10, [](size_t n) { return dict_of(n, "K\x01N"); }},
    {"marks", ".pth", 12288u << 10, [](size_t n) { return torch_zip(std::string(n, '(')); }},
    {"what is remembered", ".pth", 2048u << 10,
     [](size_t n) { return torch_zip("N" + std::string(n, '\x94')); }},
    {"empty texts", ".gguf", 768u << 10, [](size_t n) { return gguf_array(n, 8, little(0, 8)); }},
    {"bytes", ".gguf", 2048u << 10, [](size_t n) { return gguf_array(n, 0, "\x01"); }},
    {"nothings", ".bson", 1024u << 10,
     [](size_t n) { return bson_list(n, std::string("\x0a\0", 2)); }},
    {"texts of one byte", ".h5", 1024u << 10, hdf5_texts},
    {"empty lists", ".safetensors", 2048u << 10,
     [](size_t n) { return header("{\"a\":[" + times(n - 1, "[],") + "[]]}"); }},
};

constexpr uint64_t kSmaller = 4;
struct SmallerLimits {
  SmallerLimits() { host::WorkBudget::set_factor(1.0 / kSmaller); }
  ~SmallerLimits() { host::WorkBudget::set_factor(1); }
};
uint64_t allowed(uint64_t size) {
  return (WorkLimits::kFloorMetadata + WorkLimits::kMetadataPerByte * size) / kSmaller;
}

/// Bytes that a process of its own takes for reading the file, beyond the file itself.
uint64_t resident(const std::string& path) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    try {
      read_checkpoint(path);
    } catch (const host::Failure&) {
    }
    getrusage(RUSAGE_SELF, &after);
    const uint64_t taken = uint64_t(after.ru_maxrss - before.ru_maxrss) * 1024;
    _exit(write(ends[1], &taken, sizeof taken) == sizeof taken ? 0 : 1);
  }
  uint64_t taken = 0;
  const bool is_told = read(ends[0], &taken, sizeof taken) == sizeof taken;
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  close(ends[1]);
  REQUIRE(is_told);
  return taken;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsExact = false;  // a sanitizer's own memory is many times the program's
#elif defined(__has_feature)
constexpr bool kIsExact = !__has_feature(address_sanitizer) && !__has_feature(memory_sanitizer);
#else
constexpr bool kIsExact = true;
#endif

}  // namespace

TEST_CASE("metadata: what is charged is what is taken") {
  if (!kIsExact) return;
  const SmallerLimits limits;
  for (const Kind& kind : kKinds) {
    CAPTURE(std::string(kind.name) + kind.ending);
    const std::string bytes = kind.file(kind.n);
    const host::TemporaryPath file(kind.ending);
    std::ofstream(file.path(), std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
    const double library = std::string(kind.ending) == ".h5" ? 8 << 20 : 0;  // libhdf5's own
    // the file's own pages, the members of an archive, and what the allocator keeps
    CHECK(double(resident(file.path())) <=
          1.25 * double(allowed(bytes.size())) + 2.0 * double(bytes.size()) + library);
  }
}

TEST_CASE("metadata: millions of small things are refused with one line that names the limit") {
  const SmallerLimits limits;
  for (const Kind& kind : kKinds) {
    CAPTURE(std::string(kind.name) + kind.ending);
    const std::string bytes = kind.file(kind.n);
    const Cost cost = cost_of_file(bytes, kind.ending);
    CHECK(cost.exit == int(host::Exit::kUnavailable));
    CHECK(cost.said.find("--limit") != std::string::npos);
    CHECK(cost.said.find('\n') == std::string::npos);
  }
}

TEST_CASE("metadata: twice the file costs twice, and an eighth of what is refused is read") {
  for (const Kind& kind : kKinds) {
    CAPTURE(std::string(kind.name) + kind.ending);
    const size_t n = kind.n / (64 / kSmaller);
    const Cost once = cost_of_file(kind.file(n), kind.ending),
               twice = cost_of_file(kind.file(2 * n), kind.ending);
    if (std::string(kind.name) == "marks" || std::string(kind.ending) == ".safetensors") {
      CHECK(once.exit == 2);  // not sound, and read to the end
    } else {
      CHECK(once.said == "");
      CHECK(twice.said == "");
    }
    CHECK(once.metadata > 0);
    CHECK(double(twice.metadata) <= 2.2 * double(once.metadata));
    CHECK(double(twice.steps) <= 2.2 * double(once.steps) + 1000);
  }
}

TEST_CASE("metadata: a limit that is raised lets the same file through") {
  const SmallerLimits limits;
  const std::string bytes = list_of(512u << 10, "N");
  CHECK(cost_of_file(bytes, ".pth").exit == int(host::Exit::kUnavailable));
  host::WorkBudget::set_factor(10.0 / kSmaller);
  const Cost cost = cost_of_file(bytes, ".pth");
  CHECK(cost.said == "");
}

TEST_CASE("metadata: nothing is kept for what an object shares") {
  // One long text as the key of many values, and one list that many places hold.
  const std::string key = "X" + little(1u << 20, 4) + std::string(1u << 20, 'k') +
                          "q\x01"
                          "0";
  const Cost keys = cost_of_file(torch_zip(key + "(" +
                                           times(100000,
                                                 "(h\x01"
                                                 "Nd") +
                                           "l"),
                                 ".pth");
  CHECK(keys.exit == int(host::Exit::kUnavailable));
  const std::string list = "(" + times(1000, "N") +
                           "lq\x01"
                           "0";
  const Cost lists = cost_of_file(torch_zip(list + "(" + times(100000, "h\x01") + "l"), ".pth");
  CHECK(lists.exit == int(host::Exit::kUnavailable));
}

}  // namespace ingot::checkpoint
