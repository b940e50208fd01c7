// SPDX-License-Identifier: Apache-2.0
// ingot chat - a conversation with a language model, a line a turn.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/text/unicode.h"
#include "tools/cli/options/chat_options.h"
#include "tools/cli/options/sampling_options.h"
#include "tools/cli/options/session_options.h"
#include "tools/cli/output/terminal.h"
#include "tools/files/output_file.h"
#include "tools/session/generation.h"
#include "tools/text/rendered_chat.h"

namespace ingot::cli {
namespace {

using host::Exit;
using Conversation = nlohmann::ordered_json;  // inputs of the template, "messages" among them

struct ChatCommand {
  std::string file, system, tokens = "0";
  std::vector<std::string> options;
  SamplingArguments sampling;
  SessionArguments session;
};

// Ctrl-C: ends the answer, or the line that is typed.
volatile std::sig_atomic_t is_interrupted = 0;
std::atomic<Generation*> answering{nullptr};

void interrupt(int) {
  is_interrupted = 1;
  if (Generation* const generation = answering.load()) generation->cancel();
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = interrupt;  // without SA_RESTART: a read is given up
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

/// Lines of standard input as they come.
class Lines {
 public:
  enum class Got { kLine, kInterrupt, kEnd };
  Got next(std::string* line) {
    for (;;) {
      if (const size_t end = waiting_.find('\n'); end != std::string::npos) {
        *line = waiting_.substr(0, end);
        waiting_.erase(0, end + 1);
        return Got::kLine;
      }
      char bytes[4096];
      const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) {
        waiting_.clear();
        return Got::kInterrupt;
      }
      if (count < 0)
        host::fail(Exit::kUnavailable,
                   std::string("standard input cannot be read: ") + strerror(errno));
      if (count == 0) {  // the last line may lack its end
        line->swap(waiting_);
        waiting_.clear();
        return line->empty() ? Got::kEnd : Got::kLine;
      }
      waiting_.append(bytes, size_t(count));
    }
  }

 private:
  std::string waiting_;
};

/// A slash and letters: no path, and no question.
bool is_command(const std::string& line) {
  return line.size() > 1 && line[0] == '/' &&
         line.find_first_not_of("abcdefghijklmnopqrstuvwxyz", 1) == std::string::npos;
}

/// Refuses a file without a template, and one whose template is refused, before memory is taken.
vocabulary::LoadedTokenizer chat_tokenizer_of(const Text& text, const std::string& file) {
  vocabulary::LoadedTokenizer tokenizer = tokenizer_of(text, file);
  const Span<const uint8_t> why = tokenizer.chat().refused;
  if (!why.empty())
    host::fail(Exit::kUnsupported, std::string(reinterpret_cast<const char*>(why.data), why.size));
  return tokenizer;
}

class Chat {
 public:
  explicit Chat(const ChatCommand& a)
      : a_(a),
        sampling_(a.sampling.sampling()),
        most_(uint32_t(parse_integer("--tokens", a.tokens, 0, 1 << 30))),
        engine_(a.file, a.session.open_settings()),
        text_(open_text(engine_)),
        tokenizer_(chat_tokenizer_of(text_, a.file)),
        conversation_(begun()),
        generation_(&engine_, a.session.session_settings(), &text_) {
    if (!a.sampling.draft.empty())
      generation_.draft_by(a.sampling.draft, a.session.open_settings(),
                           a.session.session_settings());
    generation_.check_biases(sampling_.biases);
    generation_.constrain(text_, sampling_.grammar);
  }

  /// What the line asks for. False: to end. @throws Failure; the conversation is then as before.
  bool take(const std::string& line) {
    const size_t space = line.find(' ');
    const std::string word = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (line == "/exit" || line == "/quit" || line == "/bye") return false;
    if (line == "/reset") {
      conversation_ = begun();
    } else if (line == "/help") {
      fputs(kHelp, stderr);
    } else if ((word == "/save" || word == "/load") && rest.empty()) {
      host::fail(Exit::kUsage, word + ": expected a file");
    } else if (word == "/save") {
      host::OutputFile out(rest);
      const std::string json = conversation_.dump(2) + "\n";
      out.write(json.data(), json.size());
      out.commit();
    } else if (word == "/load") {
      conversation_ = messages_in(rest);
    } else if (is_command(line)) {
      host::fail(Exit::kUsage,
                 "no command " + line + "; /help lists them, a space before it asks it");
    } else {
      say(line);
    }
    return true;
  }

  bool has_drawn() const { return turns_ > 0 && sampling_.draws() && !a_.sampling.seed; }
  uint64_t seed() const { return sampling_.options.seed; }

  static constexpr const char* kHelp =
      "/reset       the conversation begins anew\n"
      "/save FILE   the messages as JSON, which generate --messages takes, too\n"
      "/load FILE   goes on with such messages\n"
      "/exit        ends the program, as Ctrl-D; Ctrl-C ends the answer\n";

 private:
  Conversation begun() const {
    Conversation inputs = {{"messages", Conversation::array()}};
    if (!a_.system.empty())
      inputs["messages"].push_back({{"role", "system"}, {"content", a_.system}});
    inputs["add_generation_prompt"] = true;
    for (const std::string& option : a_.options) add_template_option(option, &inputs);
    return inputs;
  }

  std::string render(const Conversation& inputs) const {
    return chat::render_chat(tokenizer_.chat(), inputs, chat::local_time(), a_.file);
  }

  void say(const std::string& line) {
    if (!text::is_utf8({reinterpret_cast<const uint8_t*>(line.data()), line.size()}))
      host::fail(Exit::kMismatch, "the line is not UTF-8");
    Conversation next = conversation_;
    next["messages"].push_back({{"role", "user"}, {"content", line}});
    next["add_generation_prompt"] = true;
    const std::vector<int32_t> prompt =
        tokenizer_.encode(render(next), {.add_special = false, .parse_special = true});
    if (prompt.empty()) host::fail(Exit::kMismatch, "the prompt has no token");
    if (int64_t(prompt.size()) > generation_.context())
      host::fail(Exit::kMismatch, "the conversation has " + std::to_string(prompt.size()) +
                                      " tokens, its context room for " +
                                      std::to_string(generation_.context()) +
                                      "; /reset begins anew");
    std::string said;
    const ingot_end end = answer(prompt, &said);
    if (said.empty() && is_interrupted) return;  // as if it had not been asked
    next["messages"].push_back({{"role", "assistant"}, {"content", said}});
    conversation_ = std::move(next);
    if (end == INGOT_END_CONTEXT)
      note("the context of " + std::to_string(generation_.context()) +
           " tokens is full; /reset begins anew");
  }

  /// Prints it as it comes. INGOT_END_NONE: it was interrupted.
  ingot_end answer(const std::vector<int32_t>& prompt, std::string* said) {
    Sampling sampling = sampling_;
    sampling.options.seed += turns_++;  // no turn draws what another one drew
    AnswerSettings settings(sampling, 0);
    settings.options.tokens = most_;
    generation_.begin(prompt, settings.options);
    answering = &generation_;
    ingot_token token = INGOT_INIT(ingot_token);
    try {
      while (!is_interrupted && token.end == INGOT_END_NONE && generation_.next(&token)) {
        said->append(token.text, token.text_bytes);
        fwrite(token.text, 1, token.text_bytes, stdout);
        fflush(stdout);
      }
    } catch (...) {
      answering = nullptr;
      throw;
    }
    answering = nullptr;
    if (said->empty() || said->back() != '\n') putchar('\n');
    fflush(stdout);
    return token.end;
  }

  const ChatCommand& a_;
  const Sampling sampling_;
  const uint32_t most_;
  Engine engine_;
  const Text text_;
  const vocabulary::LoadedTokenizer tokenizer_;
  Conversation conversation_;
  Generation generation_;
  uint64_t turns_ = 0;
};

int chat(const ChatCommand& a) {
  Chat chat(a);
  const bool is_typed = isatty(STDIN_FILENO), is_seen = is_typed && isatty(STDOUT_FILENO);
  if (is_typed) {
    catch_interrupts();
    note("/help lists commands; /exit ends");
  }
  Lines lines;
  for (std::string line;;) {
    if (is_seen) fputs("> ", stdout), fflush(stdout);
    const Lines::Got got = lines.next(&line);
    if (got == Lines::Got::kEnd) break;
    is_interrupted = 0;
    if (got == Lines::Got::kInterrupt) {
      if (is_seen) putchar('\n');
      continue;
    }
    if (line.empty()) continue;
    try {
      if (!chat.take(line)) break;
    } catch (const host::Failure& failure) {
      if (!is_typed) throw;
      note(failure.message());
    }
  }
  if (is_seen) putchar('\n');
  if (chat.has_drawn()) note("drawn with --seed " + std::to_string(chat.seed()));
  return 0;
}

}  // namespace

void add_chat(CLI::App& app, Action* chosen) {
  auto a = std::make_shared<ChatCommand>();
  CLI::App* command =
      add_command(app, chosen, "chat", "Talk with a language model, a line a turn",
                  "  ingot chat smollm2.ingot\n"
                  "  ingot chat smollm2.ingot --system 'Be brief.' --temperature 0.7 --top-p 0.95\n"
                  "  ingot chat smollm2.ingot <questions.txt",
                  [a] { return chat(*a); });
  reads_file(command
                 ->add_option("FILE", a->file,
                              "the .ingot file of a language model with a chat "
                              "template")
                 ->required()
                 ->type_name(""));
  command->add_option("--system", a->system, "what the system says first")->type_name("TEXT");
  command
      ->add_option("--template-option", a->options,
                   "a value that the template asks for, as enable_thinking=false")
      ->type_name("NAME=VALUE");
  command->add_option("--tokens", a->tokens, "of an answer at most; 0: until it ends")
      ->type_name("N")
      ->capture_default_str();
  a->sampling.declare(command);
  a->session.declare(command, true);
}

}  // namespace ingot::cli
