// SPDX-License-Identifier: Apache-2.0
// ingot convert --dtype int8 through the real binary: what it says, and what it refuses.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "tests/cli/command_line.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using ingot::DType;
using ingot::host::Array;

namespace {

std::string digits() { return std::string(INGOT_MODELS) + "/../../examples/digits/digits.onnx"; }

Array array_of(const std::string& name, const std::vector<int64_t>& dims,
               const std::vector<float>& numbers) {
  Array array;
  array.name = name;
  array.dtype = DType::kF32;
  array.dims = dims;
  array.bytes.resize(numbers.size() * 4);
  // An empty vector's data() may be null, which memcpy must not be given.
  if (!numbers.empty()) std::memcpy(array.bytes.data(), numbers.data(), array.bytes.size());
  return array;
}
std::vector<float> numbers(size_t count, unsigned seed = 1) {
  std::vector<float> all;
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525 + 1013904223;
    all.push_back(float(seed >> 8) / float(1 << 24) * 16);
  }
  return all;
}

const std::vector<int64_t> kSamples = {6, 1, 28, 28};
constexpr size_t kNumbers = 6 * 28 * 28;

/// A folder with calibration data for the digits, and the words of their conversion.
struct Digits {
  Folder folder;
  std::string data = folder / "data.npz";
  explicit Digits(std::vector<float> all = numbers(kNumbers), std::vector<int64_t> dims = kSamples,
                  const std::string& name = "image") {
    ingot::host::write_npz(data, {array_of(name, dims, all)});
  }
  Ran convert(std::vector<std::string> more = {}) const { return convert_with(data, more); }
  Ran convert_with(const std::string& from, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"convert", digits(), "-o",          folder / "m.ingot",
                                      "--dim",   "n=1",    "--calibrate", from};
    if (std::find(more.begin(), more.end(), "--dtype") == more.end())
      more.insert(more.end(), {"--dtype", "int8"});
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  bool wrote() const { return std::filesystem::exists(folder / "m.ingot"); }
};

/// One line that says `part`, with that exit code, and no file.
void check_refused(const Digits& digits, const Ran& ran, int exit, const std::string& part) {
  CAPTURE(part);
  CHECK_MESSAGE(ran.exit == exit, ran.err);
  CHECK_MESSAGE(is_one_error_line(ran.err), ran.err);
  CHECK_MESSAGE(has(ran.err, part), ran.err);
  CHECK(!digits.wrote());
}

}  // namespace

TEST_CASE("digits as int8: the report, the table, the page, and a file that is sound") {
  const Digits d;
  const Ran ran = d.convert({"--sensitivity", "--sensitivity-html", d.folder / "page.html"});
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  CHECK_MESSAGE(has(ran.err, "3 of 3 layers as int8, calibrated on 6 samples (m"), ran.err);
  CHECK(has(ran.err, "output 'digit'"));
  CHECK(has(ran.out, "Gemm"));
  CHECK(run({"verify", d.folder / "m.ingot"}).exit == 0);
  CHECK(has(run({"inspect", d.folder / "m.ingot", "--json"}).out, "3 of 3 layers as int8"));
  const std::string page = slurp(d.folder / "page.html");
  CHECK(has(page, "<svg"));
  CHECK(has(page, "Gemm"));
  CHECK(d.folder.names() == std::vector<std::string>{"data.npz", "m.ingot", "page.html"});
  // The same data, the same file.
  const std::string first = slurp(d.folder / "m.ingot");
  CHECK(d.convert().exit == 0);
  CHECK(slurp(d.folder / "m.ingot") == first);
  std::string other[2];
  for (const int i : {0, 1}) {
    CHECK(d.convert({"--calibrate-method", i ? "mse" : "minmax"}).exit == 0);
    other[i] = slurp(d.folder / "m.ingot");
  }
  CHECK(other[0] != other[1]);
}

TEST_CASE("a folder of files, one sample or several each, gives what one file does") {
  const Digits d;
  std::filesystem::create_directory(d.folder / "many");
  const std::vector<float> all = numbers(kNumbers);
  const auto part = [&](size_t from, size_t to) {
    return std::vector<float>(all.begin() + int64_t(from) * 784, all.begin() + int64_t(to) * 784);
  };
  ingot::host::write_npz(d.folder / "many/a.npz",
                         {array_of("in:image", {1, 1, 28, 28}, part(0, 1))});
  ingot::host::write_npz(d.folder / "many/b.npz",
                         {array_of("image", {4, 1, 1, 28, 28}, part(1, 5))});
  ingot::host::write_npz(d.folder / "many/c.npz", {array_of("image", {1, 1, 28, 28}, part(5, 6))});
  spill(d.folder / "many/notes.txt", "not data");
  REQUIRE(d.convert().exit == 0);
  const std::string whole = slurp(d.folder / "m.ingot");
  const Ran ran = d.convert_with(d.folder / "many");
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  CHECK(has(ran.err, "6 samples"));
  CHECK(slurp(d.folder / "m.ingot") == whole);
  const Ran few = d.convert({"--calibrate-samples", "2"});
  CHECK(has(few.err, "2 samples"));
  const Ran fast = d.convert({"--calibrate-samples", "2", "--precision", "fast"});
  CHECK_MESSAGE(fast.exit == 0, fast.err);  // its loss is that on the samples
  CHECK(has(run({"inspect", d.folder / "m.ingot", "--json"}).out, "\"samples\""));
}

TEST_CASE("layers stay in f32 by name, or by the budget of what outputs lose") {
  const Digits d;
  const Ran kept = d.convert({"--keep-fp32", "*"});
  CHECK(kept.exit == 4);
  const Ran table = d.convert({"--sensitivity"});
  REQUIRE(table.exit == 0);
  const std::string worst = table.out.substr(table.out.find('\n') + 1);
  const std::string name = worst.substr(0, worst.find(' '));
  CHECK(has(d.convert({"--keep-fp32", name}).err, "2 of 3 layers as int8"));
  CHECK(has(d.convert({"--budget", "1dB"}).err, "3 of 3 layers as int8"));
  const Ran strict = d.convert({"--budget", "90dB"});
  CHECK((strict.exit == 6 || has(strict.err, "1 of 3 layers") || has(strict.err, "2 of 3 layers")));
  // The number is the file's size: one in f32 is larger, by more than 1 %.
  const Ran metric = d.convert({"--budget", "90%", "--metric", "stat -L -c %s {}"});
  CHECK_MESSAGE(metric.exit == 0, metric.err);
  CHECK(has(metric.err, "metric: "));
  const Digits other;
  check_refused(other, other.convert({"--budget", "1%", "--metric", "echo no number for"}), 6,
                "expected one number");
}

TEST_CASE("every kind of source becomes int8 on its own golden's inputs") {
  const std::string tests = std::string(INGOT_MODELS) + "/../";
  const Folder folder;
  struct Source {
    std::string path, data;
  };
  const Source sources[] = {
      {tests + "import/pt2/data/picture.pt2", tests + "import/pt2/data/picture.npz"},
      {tests + "import/keras/samples/sequential.keras",
       tests + "import/keras/samples/sequential.npz"},
      {tests + "import/flux/samples/picture.bson", tests + "import/flux/samples/picture.npz"},
      {tests + "import/flux/samples/two_dense.jld2", tests + "import/flux/samples/two_dense.npz"}};
  for (const Source& source : sources) {
    CAPTURE(source.path);
    std::vector<Array> arrays = ingot::host::read_npz(source.data);
    for (Array& array : arrays)
      if (array.name == "in0") array.name = "in:x";
    std::erase_if(arrays, [](const Array& array) { return array.name.rfind("in:", 0) != 0; });
    ingot::host::write_npz(folder / "data.npz", arrays);
    const Ran ran = run({"convert", source.path, "-o", folder / "m.ingot", "--dtype", "int8",
                         "--calibrate", folder / "data.npz", "--check"});
    REQUIRE_MESSAGE(ran.exit == 0, ran.err);
    CHECK_MESSAGE(has(ran.err, "layers as int8"), ran.err);
    CHECK(run({"verify", folder / "m.ingot"}).exit == 0);
  }
}

TEST_CASE("options that do not belong together") {
  const Digits d;
  const std::vector<std::string> plain = {"convert", digits(), "-o", d.folder / "m.ingot",
                                          "--dim",   "n=1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), plain.begin(), plain.end());
    return run(more);
  };
  check_refused(d, with({"--calibrate", d.data}), 1, "--dtype int8");
  check_refused(d, with({"--dtype", "int8", "--sensitivity"}), 1, "--calibrate FOLDER");
  check_refused(d, with({"--dtype", "fp16", "--calibrate", d.data}), 1, "--dtype int8");
  check_refused(d, with({"--sensitivity"}), 1, "--dtype int8");
  check_refused(d, with({"--budget", "30dB"}), 1, "--dtype int8");
  check_refused(d, d.convert({"--metric", "true"}), 1, "--budget");
  check_refused(d, d.convert({"--budget", "30"}), 1, "30dB");
  check_refused(d, d.convert({"--budget", "x%"}), 1, "0.5%");
  check_refused(d, d.convert({"--budget", "30dB", "--metric", "true"}), 1, "percent");
  check_refused(d, d.convert({"--calibrate-method", "entropy"}), 1, "minmax");
  check_refused(d, d.convert({"--calibrate-method", "percentile=3"}), 1, "50 to 100");
  check_refused(d, d.convert({"--calibrate-samples", "0"}), 1, "--calibrate-samples");
  check_refused(d, d.convert({"--bias-correction", "maybe"}), 1, "--bias-correction");
  check_refused(d, d.convert({"--keep-fp32", "no such layer"}), 5, "no such layer");
  check_refused(d, d.convert({"--linear", "columns"}), 1, "--linear");
  check_refused(d, with({"--dtype", "int8", "--linear", "rows"}), 1, "--calibrate FOLDER");
}

TEST_CASE("without data linear layers quantize their inputs in each run") {
  const Digits d;
  const std::string made = d.folder / "int8.ingot", plain = d.folder / "f32.ingot",
                    refused = d.folder / "m.ingot";
  const auto convert = [&](const std::string& out, std::vector<std::string> more) {
    std::vector<std::string> words = {"convert", digits(), "-o", out, "--dim", "n=6"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  const Ran ran = convert(made, {"--dtype", "int8"});
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  CHECK_MESSAGE(has(ran.err, "layers as int8, inputs quantized in each run"), ran.err);
  const Ran listed = run({"inspect", made});
  CHECK(has(listed.out, "dynamic_quantize"));
  CHECK(has(listed.out, "quantized_linear"));
  REQUIRE(convert(plain, {}).exit == 0);
  const std::string a = d.folder / "a.npz", b = d.folder / "b.npz";
  REQUIRE(run({"run", made, "-q", "--inputs", d.data, "--outputs", a}).exit == 0);
  REQUIRE(run({"run", plain, "-q", "--inputs", d.data, "--outputs", b}).exit == 0);
  const std::vector<Array> found = ingot::host::read_npz(a), want = ingot::host::read_npz(b);
  REQUIRE(found.size() == want.size());
  REQUIRE(found[0].bytes.size() == want[0].bytes.size());
  const auto* x = reinterpret_cast<const float*>(found[0].bytes.data());
  const auto* y = reinterpret_cast<const float*>(want[0].bytes.data());
  double noise = 0, signal = 0;
  for (size_t i = 0; i < want[0].bytes.size() / 4; i++)
    noise += std::pow(double(x[i] - y[i]), 2), signal += std::pow(double(y[i]), 2);
  CHECK(noise > 0);
  CHECK(noise < 0.05 * signal);  // probabilities of noise, which large scores make steep
  check_refused(d, convert(refused, {"--dtype", "int8", "--keep-fp32", "none"}), 5, "none");
  check_refused(d, convert(refused, {"--dtype", "int8", "--keep-fp32", "*"}), 4, "--calibrate");
}

TEST_CASE("calibration data that is none is refused by its name") {
  const Digits d;
  std::filesystem::create_directory(d.folder / "empty");
  check_refused(d, d.convert_with(d.folder / "empty"), 5, "has no calibration data");
  check_refused(d, d.convert_with(d.folder / "nowhere"), 7, "nowhere");
  spill(d.folder / "text.npz", "this is no archive");
  const Ran text = d.convert_with(d.folder / "text.npz");
  CHECK(text.exit == 2);
  CHECK(is_one_error_line(text.err));
  ingot::host::write_npz(d.folder / "none.npz", {});
  check_refused(d, d.convert_with(d.folder / "none.npz"), 5, "image");
  spill(d.folder / "short.npz", slurp(d.data).substr(0, 3000));
  const Ran cut = d.convert_with(d.folder / "short.npz");
  CHECK(cut.exit == 2);
  CHECK(!d.wrote());
  if (geteuid() != 0) {
    std::filesystem::permissions(d.data, std::filesystem::perms::none);
    check_refused(d, d.convert(), 7, "permission");
  }
}

TEST_CASE("calibration data that does not fit, or has no range") {
  const Digits wrong_name(numbers(kNumbers), kSamples, "picture");
  check_refused(wrong_name, wrong_name.convert(), 5, "'image'");
  const Digits wrong_shape(numbers(6 * 28 * 28), {6, 1, 14, 56});
  check_refused(wrong_shape, wrong_shape.convert(), 5, "[6,1,14,56]");
  const Digits no_samples({}, {0, 1, 28, 28});
  check_refused(no_samples, no_samples.convert(), 5, "has no samples");
  const Digits zeros(std::vector<float>(kNumbers, 0.0f));
  check_refused(zeros, zeros.convert(), 5, "zero in all 6 samples");
  for (const float odd : {NAN, INFINITY}) {
    std::vector<float> all = numbers(kNumbers);
    all[3 * 784 + 5] = odd;
    const Digits not_finite(all);
    check_refused(not_finite, not_finite.convert(), 5, "sample 3");
  }
  const Digits integers;
  Array array = array_of("image", kSamples, numbers(kNumbers));
  array.dtype = DType::kI32;
  ingot::host::write_npz(integers.data, {array});
  check_refused(integers, integers.convert(), 5, "i32");
}

TEST_CASE("an error leaves the file that was there") {
  const Digits d;
  spill(d.folder / "m.ingot", "before");
  const Ran ran = d.convert_with(d.folder / "nowhere");
  CHECK(ran.exit == 7);
  CHECK(slurp(d.folder / "m.ingot") == "before");
}
