// SPDX-License-Identifier: Apache-2.0
// ingot firmware --generate: what it writes of a language model, and what it refuses before
// anything is written. Its answers on boards: tests/firmware/story.py.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/cli/command_line.h"
#include "tests/import/decoder/gguf_source.h"

using namespace cli_test;

namespace {

/// Of 10 tokens, without a tokenizer; `width` of 8 or a multiple.
std::string decoder(const Folder& folder, uint32_t width = 8) {
  namespace gguf = ingot::test::gguf;
  gguf::Source source = gguf::llama();
  source.is_random = true;
  source.metadata["llama.embedding_length"] = gguf::whole(width);
  source.metadata["llama.feed_forward_length"] = gguf::whole(12 * width / 8);
  for (auto& [name, dims] : source.tensors)
    for (uint64_t& dim : dims) dim = dim == 10 ? 10 : dim * width / 8;
  const std::string path = folder / "decoder.gguf";
  spill(path, source.bytes());
  return path;
}

void refuses(const Folder& folder, std::vector<std::string> arguments, int exit,
             const std::vector<std::string>& says) {
  const std::string project = folder / "refused";
  arguments.insert(arguments.begin(), "firmware");
  arguments.insert(arguments.end(), {"-o", project});
  const Ran ran = run(arguments);
  CAPTURE(ran.err);
  CHECK(ran.exit == exit);
  CHECK(is_one_error_line(ran.err));
  for (const std::string& part : says) CHECK_MESSAGE(has(ran.err, part), part);
  CHECK_FALSE(std::filesystem::exists(project));
}

}  // namespace

TEST_CASE("firmware --generate: prompt, answer and ports of a language model are in the project") {
  const Folder folder;
  const std::string model = decoder(folder), project = folder / "project";
  const Ran ran = run({"firmware", model, "-o", project, "--context", "16", "--generate", "5",
                       "--prompt-ids", "3,1,4"});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  const std::string source = slurp(project + "/models/decoder.c");
  CHECK(has(source, "decoder_prompt[3] = {\n    3, 1, 4,\n};"));
  CHECK(has(source, "int32_t decoder_ids[5] = {"));
  CHECK(has(source, "    3, 5, 0, 5, 0, 0, 0, 0,\n"));  // counts; no pieces
  CHECK_FALSE(has(source, "decoder_inputs"));
  CHECK(has(slurp(project + "/models.h"), "#define FIRMWARE_ANSWERS 1"));
  CHECK(has(slurp(project + "/models/list.c"), ", &decoder_answer}"));
  CHECK(has(slurp(project + "/answer.c"), "find_largest"));
  CHECK(has(slurp(project + "/kernels.cpp"), "read_ScatterNd_attributes"));
  CHECK_FALSE(std::filesystem::exists(project + "/models/decoder_pieces.c"));
  // without the option it is a model with state as others are, and nothing of an answer is there
  const std::string plain = folder / "plain";
  REQUIRE(run({"firmware", model, "-o", plain, "--context", "16", "--dim", "T=1"}).exit == 0);
  CHECK(has(slurp(plain + "/models/list.c"), "decoder_outputs, 8, "));
  CHECK_FALSE(has(slurp(plain + "/models.h"), "answer"));
  CHECK_FALSE(std::filesystem::exists(plain + "/answer.c"));
}

TEST_CASE(
    "firmware --generate: a context of the prompt and the answer is enough, one less is not") {
  const Folder folder;
  const std::string model = decoder(folder);
  const auto with = [&](const std::string& context) {
    return std::vector<std::string>{model, "--context",    context, "--generate",
                                    "5",   "--prompt-ids", "3,1,4"};
  };
  refuses(folder, with("7"), 5, {"a context of 7 tokens", "expected 8", "larger --context"});
  std::vector<std::string> fits = with("8");
  fits.insert(fits.begin(), "firmware");
  fits.insert(fits.end(), {"-o", folder / "fits"});
  CHECK(run(fits).exit == 0);
  // and is what it has if none is given
  CHECK(run({"firmware", model, "--generate", "5", "--prompt-ids", "3,1,4", "-o", folder / "own"})
            .exit == 0);
  CHECK(slurp(folder / "own/models/decoder.c") == slurp(folder / "fits/models/decoder.c"));
  refuses(folder, {model, "--generate", "1000000", "--prompt-ids", "3,1,4"}, 4,
          {"a microcontroller's core cannot run it", "a smaller --generate or --context"});
}

TEST_CASE("firmware --generate: what cannot be answered is refused by name") {
  const Folder folder;
  const std::string model = decoder(folder), linear = converted(folder, "linear");
  const auto asked = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {model, "--context", "16"});
    return words;
  };
  refuses(folder, {linear, "--generate", "5", "--prompt-ids", "1"}, 5,
          {"is no language model", "no input 'tokens'"});
  refuses(folder, asked({"--generate", "5", "--prompt-ids", "3,10"}), 5,
          {"--prompt-ids", "tokens below 10", "found 10"});
  refuses(folder, asked({"--generate", "5", "--prompt", "the"}), 5,
          {"decoder.gguf", "has no tokenizer", "--prompt-ids 1,2,3"});
  refuses(folder, asked({"--generate", "5"}), 5, {"has no tokenizer"});
  for (const char* ids : {"", "1,", ",1", "1,-2", "1 2", "x", "99999999999"}) {
    CAPTURE(ids);
    refuses(folder, asked({"--generate", "5", "--prompt-ids", ids}), 1, {"--prompt-ids: expected"});
  }
  for (const char* tokens : {"0", "-1", "x", "99999999"}) {
    CAPTURE(tokens);
    refuses(folder, asked({"--generate", tokens, "--prompt-ids", "1"}), 1,
            {"--generate: expected a whole number"});
  }
  refuses(folder, asked({"--generate", "5", "--prompt", "a", "--prompt-ids", "1"}), 1,
          {"--prompt and --prompt-ids", "one of them"});
  refuses(folder, asked({"--prompt-ids", "1"}), 1, {"--prompt-ids", "--generate N"});
  refuses(folder, asked({linear, "--generate", "5", "--prompt-ids", "1"}), 1,
          {"--generate", "expected one model, found 2"});
  refuses(
      folder,
      asked({"--generate", "5", "--prompt-ids", "1", "--board", "microbit", "--stack", "16384"}), 7,
      {"--board microbit", "RAM: expected", "found 16384", "a smaller --context"});
}

TEST_CASE("firmware --generate: a file of convert, whose layout is for hosts, names its source") {
  const Folder folder;
  const std::string model = folder / "decoder.ingot";
  REQUIRE(run({"convert", decoder(folder), "-o", model, "--target", "mcu", "--dim", "T=1",
               "--context", "16"})
              .exit == 0);
  refuses(folder, {model, "--generate", "5", "--prompt-ids", "1"}, 4,
          {"cannot run it", "parts with gaps", "name the source instead"});
}

TEST_CASE("firmware: models that the first flash has no room for lie in the second") {
  const Folder folder;
  const auto write = [&](uint32_t width, const std::string& project) {
    return std::vector<std::string>{"firmware",     decoder(folder, width),
                                    "-o",           project,
                                    "--board",      "mps3-an547",
                                    "--context",    "16",
                                    "--generate",   "2",
                                    "--prompt-ids", "1"};
  };
  REQUIRE(run(write(8, folder / "small")).exit == 0);
  CHECK(has(slurp(folder / "small/memory.ld"), "REGION_ALIAS(\"MODELS\", FLASH)"));
  CHECK(has(slurp(folder / "small/image.ld"), "*(.models*)"));
  CHECK(has(slurp(folder / "small/models/decoder.c"), "section(\".models\")"));
  REQUIRE(run(write(96, folder / "large")).exit == 0);
  CHECK(has(slurp(folder / "large/memory.ld"), "MODELS (r) : ORIGIN = 0x38000000"));
  const Ran ran = run(write(384, folder / "huge"));
  CHECK(ran.exit == 7);
  CHECK(has(ran.err, "second flash: expected "));
  CHECK(has(ran.err, "found 8388608"));
}
