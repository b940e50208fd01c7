// SPDX-License-Identifier: Apache-2.0
// ingot embed - vectors of texts by an embedding model.
#include <charconv>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/cli/options/session_options.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/npz/npy.h"
#include "tools/files/output_file.h"
#include "tools/files/standard_streams.h"
#include "tools/files/whole_file.h"
#include "tools/session/embedding.h"
#include "tools/session/generation.h"

namespace ingot::cli {
namespace {

using host::Exit;
using Json = nlohmann::ordered_json;

struct EmbedArguments {
  std::string file, input, output, prompt, prefix;
  std::vector<std::string> texts;
  bool json = false;
  SessionArguments session;
};

/// Each line of a file is a text.
std::vector<std::string> texts_of(const EmbedArguments& a) {
  if (!a.texts.empty() && !a.input.empty())
    host::fail(Exit::kUsage, "embed: --text and --file; name one of them");
  std::vector<std::string> texts = a.texts;
  if (texts.empty()) {
    const std::string all =
        host::read_text(a.input.empty() ? host::spool_standard_input() : a.input);
    for (size_t at = 0; at < all.size();) {
      const size_t end = std::min(all.find('\n', at), all.size());
      texts.push_back(all.substr(at, end - at));
      if (!texts.back().empty() && texts.back().back() == '\r') texts.back().pop_back();
      at = end + 1;
    }
  }
  if (texts.empty()) host::fail(Exit::kMismatch, "embed: there is no text, expected one a line");
  for (size_t i = 0; i < texts.size(); i++)
    if (texts[i].empty())
      host::fail(Exit::kMismatch, "embed: text " + std::to_string(i + 1) +
                                      " is empty: it has no meaning to find; leave it out");
  return texts;
}

/// What is put before each text.
std::string prefix_of(const EmbedArguments& a, const Engine& engine) {
  if (a.prompt.empty()) return a.prefix;
  const auto text = engine.model().metadata(("ingot.prompt." + a.prompt).c_str());
  if (!text)
    host::fail(Exit::kMismatch, a.file + ": has no prompt '" + a.prompt +
                                    "' (ingot inspect shows those that it has); give the text "
                                    "itself: --prefix TEXT");
  return *text + a.prefix;
}

void print_vector(const float* values, int64_t count) {
  std::string line;
  char text[32];
  for (int64_t i = 0; i < count; i++) {
    if (i) line += ' ';
    line.append(text, std::to_chars(text, text + sizeof text, values[i]).ptr);
  }
  puts(line.c_str());
}

void write_vectors(host::OutputFile* file, const std::vector<float>& values, int64_t count,
                   int64_t width) {
  host::Array array;
  array.dtype = DType::kF32;
  array.dims = {count, width};
  const std::string header = host::npy_header(array);
  file->write(header.data(), header.size());
  file->write(values.data(), values.size() * sizeof(float));
  file->commit();
}

int embed(const EmbedArguments& a) {
  const std::vector<std::string> texts = texts_of(a);
  Engine engine(a.file, a.session.open_settings());
  Embedding embedding(&engine, a.session.session_settings());
  const Text tables = open_text(engine);
  const vocabulary::LoadedTokenizer tokenizer = tokenizer_of(tables, a.file);
  const std::string prefix = prefix_of(a, engine);
  std::optional<host::OutputFile> output;  // which may be refused: before anything is computed
  if (!a.output.empty()) output.emplace(a.output);
  const int64_t width = embedding.width();
  std::vector<float> values(texts.size() * size_t(width));
  Json list = Json::array();
  size_t cut_texts = 0, longest = 0;
  Progress progress("embed");
  const uint64_t began = ingot_clock_ns();
  for (size_t i = 0; i < texts.size(); i++) {
    std::vector<int32_t> ids = tokenizer.encode(prefix + texts[i]);
    const size_t tokens = ids.size();
    const bool is_cut = cut(tokenizer.tables(), embedding.context(), &ids);
    cut_texts += is_cut;
    longest = std::max(longest, tokens);
    if (ids.empty())
      host::fail(Exit::kMismatch, "embed: text " + std::to_string(i + 1) + " has no token");
    float* const vector = values.data() + i * size_t(width);
    if (!embedding.run(ids, vector)) host::fail(Exit::kUnavailable, "embed: was cancelled");
    progress.show(std::to_string(i + 1) + " of " + counted(texts.size(), "text"),
                  double(i + 1) / double(texts.size()));
    if (a.json)
      list.push_back({{"tokens", tokens},
                      {"cut", is_cut},
                      {"embedding", std::vector<float>(vector, vector + width)}});
  }
  const double seconds = double(ingot_clock_ns() - began) / 1e9;
  progress.clear();
  if (output) write_vectors(&*output, values, int64_t(texts.size()), width);
  if (a.json)
    puts(json_text({{"width", width},
                    {"context", embedding.context()},
                    {"texts", list},
                    {"seconds", seconds}})
             .c_str());
  else if (!a.output.empty())
    printf("%s of %s\n", counted(texts.size(), "vector").c_str(),
           counted(uint64_t(width), "number").c_str());
  else
    for (size_t i = 0; i < texts.size(); i++) print_vector(values.data() + i * width, width);
  if (cut_texts)
    note(std::to_string(cut_texts) + " of " + counted(texts.size(), "text") +
         " had more than the " + std::to_string(embedding.context()) + " tokens of the context (" +
         std::to_string(longest) + ") and were cut; convert with a larger --context");
  return 0;
}

}  // namespace

void add_embed(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<EmbedArguments>();
  CLI::App* command = add_command(app, chosen, "embed", "Turn texts into vectors",
                                  "  ingot embed minilm.ingot --text 'a cat on a mat'\n"
                                  "  ingot embed minilm.ingot --file lines.txt -o vectors.npy\n"
                                  "  ingot embed e5.ingot --prefix 'query: ' --json <questions.txt",
                                  [a] { return embed(*a); });
  reads_file(
      command
          ->add_option("FILE", a->file, "the .ingot file of an embedding model with its tokenizer")
          ->required()
          ->type_name(""));
  command->add_option("--text", a->texts, "a text; may be given again")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  reads_file(command
                 ->add_option("--file", a->input,
                              "a file whose lines are texts; without it and --text, standard input")
                 ->type_name("FILE"));
  command->add_option("--prompt", a->prompt, "put this prompt of the model before each text")
      ->type_name("NAME");
  command->add_option("--prefix", a->prefix, "put this before each text")->type_name("TEXT");
  writes_file(
      command->add_option("-o,--output", a->output, "write the vectors as an array of numpy")
          ->type_name("FILE.npy"));
  command->add_flag("--json", a->json, "print vectors and tokens for scripts");
  a->session.declare(command, true);
}

}  // namespace ingot::cli
