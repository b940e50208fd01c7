// SPDX-License-Identifier: Apache-2.0
// ingot tokenize - the ids of a text by the tokenizer of a file, or the text of ids.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/cli/options/command.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/file_kind.h"
#include "tools/files/standard_streams.h"
#include "tools/files/whole_file.h"
#include "tools/session/engine.h"
#include "tools/session/file_parts.h"
#include "tools/text/loaded_tokenizer.h"

namespace ingot::cli {
namespace {

using host::Exit;
using vocabulary::LoadedTokenizer;
using Json = nlohmann::ordered_json;
using Ids = std::vector<int32_t>;

struct TokenizeArguments {
  std::string file, input;
  std::vector<std::string> words;
  bool ids = false, decode = false, json = false, special = false, no_ends = false, batch = false;
};

LoadedTokenizer open_tokenizer(const std::string& path) {
  if (host::file_kind(path) != host::FileKind::kIngot) return LoadedTokenizer::from_source(path);
  const Engine engine(path);  // every field of the file is sound
  FileParts parts(path);
  if (!parts.has(PartKind::kText))
    host::fail(Exit::kMismatch,
               path +
                   ": has no tokenizer; convert a model with one, or name its GGUF file or "
                   "tokenizer.json");
  return LoadedTokenizer(parts.read(PartKind::kText), path);
}

std::string read_input(const TokenizeArguments& a) {
  if (!a.words.empty()) {
    std::string text;
    for (const std::string& word : a.words) text += (text.empty() ? "" : " ") + word;
    return text;
  }
  return host::read_text(a.input.empty() ? host::spool_standard_input() : a.input);
}

/// Numbers with anything of blanks, commas and brackets between them.
Ids read_ids(const std::string& text) {
  Ids ids;
  for (size_t i = 0; i < text.size();) {
    if (text.find_first_of(" ,[]\t\r\n", i) == i) {
      i++;
      continue;
    }
    const size_t end = std::min(text.find_first_of(" ,[]\t\r\n", i), text.size());
    const std::string word = text.substr(i, end - i);
    if (word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos)
      host::fail(Exit::kUsage, "tokenize: '" + word + "' is no id; --decode takes numbers");
    ids.push_back(std::stoi(word));
    i = end;
  }
  return ids;
}

std::string joined(const Ids& ids) {
  std::string text;
  for (const int32_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

std::string piece_text(const TokenizerView& t, int32_t id) {
  const Span<const uint8_t> bytes = t.piece(uint32_t(id));
  return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

/// To the byte, but for what a terminal obeys where it is one.
void print_exact(const std::string& text) {
  if (isatty(STDOUT_FILENO)) {
    fwrite(text.data(), 1, text.size(), stdout);
    putchar('\n');
    return;
  }
  fflush(stdout);
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (n <= 0)
      host::fail(Exit::kUnavailable,
                 std::string("standard output: cannot be written: ") + strerror(errno));
    at += size_t(n);
  }
}

text::EncodeOptions options_of(const TokenizeArguments& a) {
  text::EncodeOptions options;
  options.add_special = !a.no_ends;
  options.parse_special = a.special;
  return options;
}

/// A JSON list of texts, or of lists of ids: an answer for each.
int tokenize_batch(const TokenizeArguments& a, const LoadedTokenizer& tokenizer) {
  const std::string where = a.input.empty() ? "--batch" : a.input;
  const nlohmann::json items = checkpoint::parse_sorted_json(read_input(a), where);
  Json answers = Json::array();
  try {
    for (const auto& item : items) {
      if (a.decode)
        answers.push_back(tokenizer.decode(item.get<Ids>(), a.special));
      else
        answers.push_back(tokenizer.encode(item.get<std::string>(), options_of(a)));
    }
  } catch (const nlohmann::json::exception& error) {
    host::fail(Exit::kMismatch, where + ": --batch takes a JSON list of " +
                                    (a.decode ? "lists of ids: " : "texts: ") + error.what());
  }
  print_exact(answers.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return 0;
}

int tokenize(const TokenizeArguments& a) {
  if (!a.words.empty() && !a.input.empty())
    host::fail(Exit::kUsage, "tokenize: a text and --file; name one of them");
  const LoadedTokenizer tokenizer = open_tokenizer(a.file);
  if (a.batch) return tokenize_batch(a, tokenizer);
  const std::string input = read_input(a);
  if (a.decode) {
    const std::string text = tokenizer.decode(read_ids(input), a.special);
    if (a.json)
      puts(json_text({{"text", text}}).c_str());
    else
      print_exact(text);
    return 0;
  }
  const Ids ids = tokenizer.encode(input, options_of(a));
  if (a.ids) {
    puts(joined(ids).c_str());
    return 0;
  }
  Json pieces = Json::array();
  Table table({">id", "piece"});
  for (const int32_t id : ids) {
    const std::string piece = piece_text(tokenizer.tables(), id);
    pieces.push_back(piece);
    table.row(
        {std::to_string(id), Json(piece).dump(-1, ' ', false, Json::error_handler_t::replace)});
  }
  if (a.json)
    puts(json_text({{"tokens", ids.size()}, {"ids", ids}, {"pieces", pieces}}).c_str());
  else if (!ids.empty())
    fputs(table.text().c_str(), stdout);
  return 0;
}

}  // namespace

void add_tokenize(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<TokenizeArguments>();
  CLI::App* command =
      add_command(app, chosen, "tokenize", "Print the ids of a text, or the text of ids",
                  "  ingot tokenize model.gguf 'Hello, world!'\n"
                  "  ingot tokenize tokenizer.json --file README.md --ids\n"
                  "  echo 9906 11 1917 0 | ingot tokenize model.ingot --decode",
                  [a] { return tokenize(*a); });
  reads_file(command
                 ->add_option("FILE", a->file,
                              "an .ingot file with a tokenizer, a GGUF file, or a tokenizer.json")
                 ->required()
                 ->type_name(""));
  command->add_option("TEXT", a->words, "the text; without it and --file, standard input")
      ->type_name("");
  reads_file(command->add_option("--file", a->input, "a file with the text")->type_name("TEXT"));
  command->add_flag("--ids", a->ids, "print the ids alone, on one line");
  command->add_flag("--decode", a->decode, "the text is ids: print what they say");
  command->add_flag("--special", a->special,
                    "take control tokens in the text for what they say, and print those of ids");
  command->add_flag("--no-ends", a->no_ends,
                    "without the ids that the model wants before and behind a text");
  command->add_flag("--batch", a->batch,
                    "the text is a JSON list of texts (or of lists of ids): print a JSON list");
  command->add_flag("--json", a->json, "print a report for scripts");
}

}  // namespace ingot::cli
