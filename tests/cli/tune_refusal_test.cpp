// SPDX-License-Identifier: Apache-2.0
// What a file may say that does not fit, what may be missing, what may fail: passed over and
// reported, or an error that leaves the file as it was.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/tune_cases.h"

using namespace cli_test;

TEST_CASE(
    "tune: a record that names what there is not is passed over, and said so; the answer is the "
    "model's") {
  const Folder folder;
  const std::string net = make_network(folder, kFast);
  tune(net, {{"FAKE_CUDA_TIMES", "product_tf32_rows_32x128=200000"}});
  const std::vector<convert::TuningSpec> sound = tunings_of(net);
  const std::string untuned = make_network(folder, kFast);
  const Answer expected = answer(folder, untuned, "cuda");
  const struct {
    const char* what;
    void (*change)(convert::TuningSpec*);
    const char* source;
    const char* why;
  } rows[] = {
      {"an unknown name", [](convert::TuningSpec* t) { t->instructions[1].variant = "512x512"; },
       "ignored", "there is none"},
      {"a name of the exact rows",
       [](convert::TuningSpec* t) { t->instructions[1].variant = "128x32"; }, "ignored",
       "there is none"},
      {"no name", [](convert::TuningSpec* t) { t->instructions[1].variant = ""; }, "ignored",
       "there is none"},
      {"more parts than there may be",
       [](convert::TuningSpec* t) { t->instructions[1].parts = 4096; }, "ignored", "there is none"},
      {"parts past 16 bits", [](convert::TuningSpec* t) { t->instructions[1].parts = 65537; },
       "ignored", "there is none"},
      {"no parts", [](convert::TuningSpec* t) { t->instructions[1].parts = 0; }, "ignored",
       "there is none"},
      {"an instruction left out", [](convert::TuningSpec* t) { t->instructions.pop_back(); },
       "ignored", "leaves this instruction out"},
      {"an instruction past the last",
       [](convert::TuningSpec* t) { t->instructions[1].instruction = 0xffffffffu; }, "ignored",
       "leaves this instruction out"},
      {"more dimensions than are open", [](convert::TuningSpec* t) { t->dims = {6}; }, "model",
       "other dimensions"},
      {"another precision", [](convert::TuningSpec* t) { t->precision = 2; }, "model",
       "another GPU"},
      {"another number of multiprocessors", [](convert::TuningSpec* t) { t->multiprocessors++; },
       "model", "another GPU"},
      {"another capability", [](convert::TuningSpec* t) { t->compute_capability = 87; }, "model",
       "another GPU"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    std::vector<convert::TuningSpec> changed = sound;
    row.change(&changed[0]);
    rewrite(untuned, convert::encode_tunings(changed));
    const Json variant = variants(untuned)[1];
    CHECK(variant["source"] == row.source);
    CHECK(has(variant["why"], row.why));
    const Answer got = answer(folder, untuned, "cuda");
    CHECK(got.outputs[1] == expected.outputs[1]);
    if (variant["source"] == "ignored")
      CHECK(has(must({"place", untuned, "--device", "cuda"}).out, "cannot be used"));
  }
}

TEST_CASE("tune: a damaged part is an error where it is read, and none where it is not") {
  const Folder folder;
  const std::string net = make_network(folder, kExact);
  tune(net, kNarrowIsQuick);
  const std::vector<uint8_t> sound = cli::FileParts(net).read(PartKind::kTunings);
  const std::string whole = slurp(net);
  std::string flipped = whole;
  flipped[flipped.size() - 3] ^= 1;  // the part is the last of the file
  spill(net, flipped);
  CHECK(run_on({"bench", net, "--device", "cuda", "--seconds", "0"}).exit == 2);
  CHECK(run_on({"bench", net, "--device", "cpu", "--seconds", "0"}).exit == 0);
  const Ran refused = run_on({"place", net, "--device", "cuda"});
  CHECK(refused.exit == 2);
  CHECK(is_one_error_line(refused.err));
  CHECK(run_on({"place", net, "--device", "cpu"}).exit == 0);
  CHECK(run_on({"inspect", net}).exit == 2);
  CHECK(run_on({"tune", net}).exit == 2);
  // Right hashes around anything at all: an error, or a tuning that is passed over, and never more.
  spill(net, whole);
  for (size_t at = 0; at < sound.size(); at += 13) {
    CAPTURE(at);
    std::vector<uint8_t> changed = sound;
    changed[at] ^= uint8_t(1 + at * 7);
    rewrite(net, changed);
    const Ran ran = run_on({"place", net, "--device", "cuda", "--json"});
    CHECK(ran.signal == 0);
    CHECK((ran.exit == 0 || ran.exit == 2));
  }
  for (const std::vector<uint8_t>& none :
       {std::vector<uint8_t>{}, std::vector<uint8_t>(7, 0xff), std::vector<uint8_t>(4096, 0)}) {
    rewrite(net, none);
    CHECK(run_on({"place", net, "--device", "cuda"}).exit == 2);
    CHECK(run_on({"place", net, "--device", "cpu"}).exit == 0);
  }
  // Descending instructions would not be found again.
  spill(net, whole);
  std::vector<convert::TuningSpec> records = tunings_of(net);
  std::swap(records[0].instructions[0], records[0].instructions[1]);
  rewrite(net, convert::encode_tunings(records));
  CHECK(has(run_on({"place", net, "--device", "cuda"}).err, "ascend"));
}

TEST_CASE("tune: upgrade keeps the record; a file that says minor 0 may not have one") {
  const Folder folder;
  const std::string net = make_network(folder, kExact);
  tune(net, kNarrowIsQuick);
  must({"upgrade", net, "-o", folder / "up.ingot"});
  CHECK(tunings_of(folder / "up.ingot").size() == 1);
  std::string bytes = slurp(net);
  bytes[10] = 0;
  std::vector<uint8_t> image(bytes.begin(), bytes.end());
  test::rehash(&image);
  spill(net, std::string(image.begin(), image.end()));
  const Ran ran = run_on({"inspect", net});
  CHECK(ran.exit == 2);
  CHECK(has(ran.err, "parts[].kind"));
}

TEST_CASE("tune: what cannot be done is reported in one line, and the file stays") {
  const Folder folder;
  const std::string net = make_network(folder, kExact), plain = make_chain(folder),
                    before = slurp(net);
  const struct {
    std::vector<std::string> words;
    Environment environment;
    int exit;
    std::string says;
  } rows[] = {
      {{net, "--device", "cpu"}, {}, 1, "nothing is tuned for the CPU"},
      {{net, "--device", "fake:0"}, {}, 1, "a GPU is tuned for"},
      {{net, "--device", "auto"}, {}, 1, "a GPU is tuned for"},
      {{net, "--device", "cuda:9"}, {}, 7, "cuda:9"},
      {{net, "--time", "soon"}, {}, 1, "--time"},
      {{net, "--time", "-1"}, {}, 1, "--time"},
      {{net, "--dim", "N=3"}, {}, 5, "N"},
      {{net}, {{"FAKE_CUDA_DEVICES", "0"}}, 7, "finds no device"},
      {{net}, {{"FAKE_CUDA_MIB", "0"}}, 7, "memory"},
      {{net, "-o", folder / "none" + "/x.ingot"}, {}, 7, "cannot be written"},
      {{net, "-o", folder.path()}, {}, 7, "cannot be written"},
      {{net, "-o", "/dev/null"}, {}, 1, "no regular file"},
      {{plain}, {}, 5, "nothing to tune"},
      {{folder / "missing.ingot"}, {}, 7, "missing.ingot"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> words = {"tune"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = run_on(words, row.environment);
    CAPTURE(ran.err);
    CHECK(ran.exit == row.exit);
    CHECK(has(ran.err, row.says));
    CHECK(is_one_error_line(ran.err));
    CHECK(slurp(net) == before);
  }
  const Ran without = run({"tune", net}, {{{"INGOT_CUDA_DRIVER", "/nonexistent"}}, {}});
  CHECK(without.exit == 7);
  CHECK(is_one_error_line(without.err));
  CHECK(folder.names() == std::vector<std::string>{"net.ingot", "plain.ingot"});
  chmod(net.c_str(), 0444);
  if (!nobody_can_run()) return;
  const Ran locked = run({"tune", net}, {{{"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA}}, become_nobody});
  CHECK(locked.exit == 7);
  CHECK(has(locked.err, "cannot be written"));
  CHECK(slurp(net) == before);
}

TEST_CASE(
    "tune: any call of the driver may fail: a named error, the file as it was, nothing beside it") {
  const Folder folder;
  const std::string net = make_network(folder, kFast), before = slurp(net);
  const Environment counted = {{"FAKE_CUDA_REPORT", folder / "report"}};
  tune(net, counted, {"--dry-run"});
  std::istringstream report(slurp(folder / "report"));
  std::string word;
  int calls = 0;
  report >> word >> calls;
  REQUIRE(word == "calls");
  REQUIRE(calls > 200);
  int refused = 0, code = 700;
  for (int n = 1; n < calls + calls / 2; n += n < 40 ? 7 : 1 + calls / 9) {
    code = code == 2 ? 700 : 2;  // out of memory, and a device that is lost
    CAPTURE(n);
    CAPTURE(code);
    const Ran ran = run_on({"tune", net, "--time", "0"},
                           {{"FAKE_CUDA_FAIL", std::to_string(n) + ":" + std::to_string(code)},
                            {"FAKE_CUDA_REPORT", folder / "report"}});
    CHECK(ran.signal == 0);
    CHECK(!has(ran.err, "fake CUDA driver"));  // no misuse
    // a call whose failure does no harm, such as one that gives back
    if (ran.exit == 0) {
      spill(net, before);
      continue;
    }
    refused++;
    CAPTURE(ran.err);
    CHECK(ran.exit == 7);
    CHECK(is_one_error_line(ran.err));
    CHECK(slurp(net) == before);
    CHECK(folder.names() == std::vector<std::string>{"net.ingot", "report"});
    const std::string counts = slurp(folder / "report");
    if (code == 2) CHECK(has(counts, "allocations 0\n"));
  }
  CHECK(refused > 12);
}
