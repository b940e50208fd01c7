// SPDX-License-Identifier: Apache-2.0
// ingot perplexity - how well a language model expects a text.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli/options/session_options.h"
#include "tools/cli/output/json_text.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/whole_file.h"
#include "tools/session/generation.h"

namespace ingot::cli {
namespace {

using host::Exit;
using Ids = std::vector<int32_t>;

struct PerplexityArguments {
  std::string file, input, window = "0", stride = "0", tokens = "0";
  bool json = false;
  SessionArguments session;
};

struct Score {
  double sum = 0;  // of -ln p
  int64_t tokens = 0, windows = 0;
};

/// Windows begin `stride` tokens behind each other; each scores the tokens that none before it did.
Score score(Generation* generation, const Ids& ids, int64_t window, int64_t stride) {
  Score s;
  Progress progress("perplexity");
  const int64_t count = int64_t(ids.size());
  for (int64_t begin = 0, scored = 1; scored < count; begin += stride, s.windows++) {
    const int64_t end = std::min(begin + window, count);
    for (; scored < end; scored++) {
      // the first run of a window computes all in front of the token, later ones a token
      generation->begin({ids.data() + begin, size_t(scored - begin)}, answer_options());
      if (!generation->prefill()) host::fail(Exit::kUnavailable, "perplexity: was cancelled");
      const double logprob = generation->logprob(ids[size_t(scored)]);
      if (!std::isfinite(logprob))
        host::fail(Exit::kMismatch, "perplexity: the probability of token " +
                                        std::to_string(scored) +
                                        " of the text is no number above 0; the model or its "
                                        "weights are damaged");
      s.sum -= logprob;
      s.tokens++;
      progress.show(std::to_string(scored) + " of " + std::to_string(count) + " tokens",
                    double(scored) / double(count));
    }
  }
  return s;
}

int perplexity(const PerplexityArguments& a) {
  const int64_t most = parse_integer("--tokens", a.tokens, 0, INT32_MAX);
  int64_t window = parse_integer("--window", a.window, 0, INT32_MAX);
  int64_t stride = parse_integer("--stride", a.stride, 0, INT32_MAX);
  Engine engine(a.file, a.session.open_settings());
  const Text tables = open_text(engine);
  const vocabulary::LoadedTokenizer tokenizer = tokenizer_of(tables, a.file);
  const std::string text = host::read_text(a.input);
  Ids ids = tokenizer.encode(text);
  if (most && int64_t(ids.size()) > most) ids.resize(size_t(most));
  if (ids.size() < 2)
    host::fail(Exit::kMismatch, a.input + ": " + counted(ids.size(), "token") +
                                    ", expected 2 at least: the first one is not scored");
  Generation generation(&engine, a.session.session_settings(), &tables);
  if (!window) window = generation.context();
  if (window < 2 || window > generation.context())
    host::fail(Exit::kUsage, "--window: expected 2 to the context, " +
                                 std::to_string(generation.context()) + ", found " +
                                 std::to_string(window));
  if (!stride) stride = window / 2;
  if (stride >= window)
    host::fail(Exit::kUsage, "--stride: expected 1 to " + std::to_string(window - 1) +
                                 ", less than the window, found " + std::to_string(stride));
  const uint64_t began = ingot_clock_ns();
  const Score s = score(&generation, ids, window, stride);
  const double mean = s.sum / double(s.tokens);
  const std::string scored_text = tokenizer.decode({ids.begin() + 1, ids.end()}, true);
  const double bits = s.sum / std::log(2.0) / double(std::max<size_t>(scored_text.size(), 1));
  const nlohmann::ordered_json report = {{"perplexity", std::exp(mean)},
                                         {"nll", mean},
                                         {"bits_per_byte", bits},
                                         {"tokens", s.tokens},
                                         {"bytes", scored_text.size()},
                                         {"windows", s.windows},
                                         {"window", window},
                                         {"stride", stride},
                                         {"seconds", double(ingot_clock_ns() - began) / 1e9}};
  if (a.json)
    puts(json_text(report).c_str());
  else
    printf("perplexity %s, %s bits a byte: %s in %s of %s, stride %s\n",
           number(std::exp(mean), 6).c_str(), number(bits, 4).c_str(),
           counted(uint64_t(s.tokens), "token").c_str(),
           counted(uint64_t(s.windows), "window").c_str(), std::to_string(window).c_str(),
           std::to_string(stride).c_str());
  return 0;
}

}  // namespace

void add_perplexity(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<PerplexityArguments>();
  CLI::App* command = add_command(
      app, chosen, "perplexity", "Score a text by a language model",
      "  ingot perplexity smollm2.ingot --text book.txt\n"
      "  ingot perplexity smollm2.ingot --text - --window 512 --stride 256 --json <book.txt\n\n"
      "exp(-(sum of ln p) / N), over the N tokens behind the first, as `ingot tokenize` gives "
      "them.\n"
      "p is the probability of a token behind those of its window in front of it. Windows begin\n"
      "--stride tokens behind each other. A token is scored once, in the first window that has "
      "it:\n"
      "behind the first window each token has at least window - stride in front of it.",
      [a] { return perplexity(*a); });
  reads_file(
      command->add_option("FILE", a->file, "the .ingot file of a language model with its tokenizer")
          ->required()
          ->type_name(""));
  reads_file(command->add_option("--text", a->input, "a file with the text; -: standard input")
                 ->required()
                 ->type_name("FILE"));
  command->add_option("--window", a->window, "tokens of a window; 0: the context")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--stride", a->stride,
                   "tokens from one window to the next, less than a window; 0: half of one")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--tokens", a->tokens, "of the text at most; 0: all")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--json", a->json, "print a report for scripts");
  a->session.declare(command, true);
}

}  // namespace ingot::cli
