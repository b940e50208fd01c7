// SPDX-License-Identifier: Apache-2.0
// Slots of a language model: each answer is that of a lone run, whatever its slot computed before,
// and none is lost.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "tests/cli/command_line.h"
#include "tools/serve/core/served_model.h"

using namespace ingot;
using namespace ingot::serve;

namespace {

/// The model of small_chat_model.h; `words`: its context, and slots that share runs.
struct ChatFile {
  cli_test::Folder folder;
  std::string file = folder / "chat.ingot";
  explicit ChatFile(const std::string& words = "") {
    REQUIRE(std::system((INGOT_WRITE_CHAT_MODEL " " + file + words).c_str()) == 0);
  }
  std::unique_ptr<ServedModel> serve(uint32_t slots, size_t queued = 1000, int threads = 1) const {
    ModelSettings settings;
    settings.session.threads = threads;
    settings.slots.large_vocabulary = 0;  // with threads, tokens are chosen on some
    settings.slots.count = slots;
    settings.slots.max_queued = queued;
    return std::make_unique<ServedModel>("chat", "1", file, settings);
  }
};

/// Keeps what it is told; a slot that begins it waits as long as the gate is closed.
class Told : public AnswerTask {
 public:
  Told(std::vector<int32_t> prompt, uint64_t seed) {
    request.prompt = std::move(prompt);
    request.seed = seed;
    request.settings = {{"temperature", 1}};
    request.tokens = 12;
  }
  void begin() override {
    std::unique_lock<std::mutex> lock(mutex_);
    has_begun = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open; });
  }
  void add(const AnswerPiece& piece) override {
    ids.push_back(piece.id);
    if (ids.size() == late_after) deadline_ns = 1;
  }
  void end(ingot_end) override { finish(Refusal::kInternal, "ended"); }
  void fail(Refusal refusal, const std::string& text) override { finish(refusal, text); }
  bool is_gone() const override { return gone; }

  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_open = true;
    changed_.notify_all();
  }
  void await_begin() {
    await([&] { return has_begun; });
  }
  const std::string& await_end() {
    await([&] { return !result.empty(); });
    return result;
  }

  std::vector<int32_t> ids;
  size_t late_after = 0;  // its time is over behind so many tokens
  std::atomic<bool> gone{false};
  bool is_open = true, has_begun = false;
  Refusal why = Refusal::kInternal;
  std::string result;

 private:
  template <class What>
  void await(What what) {
    std::unique_lock<std::mutex> lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(20), what));
  }
  void finish(Refusal refusal, const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    why = refusal;
    result = text;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
};

std::shared_ptr<Told> told(int i) {
  std::vector<int32_t> prompt = {4};
  for (int n = 0; n <= i % 20; n++) prompt.push_back(6 + (i * 7 + n) % 26);
  return std::make_shared<Told>(prompt, uint64_t(i));
}

}  // namespace

TEST_CASE("slots: 400 answers of 4 slots are those of lone runs") {
  const ChatFile chat;
  const auto alone = chat.serve(1);
  const auto model = chat.serve(4);
  std::vector<std::shared_ptr<Told>> tasks;
  for (int i = 0; i < 400; i++) model->language()->submit(tasks.emplace_back(told(i)));
  for (int i = 0; i < 400; i++) {
    CHECK(tasks[size_t(i)]->await_end() == "ended");
    const auto lone = told(i);
    alone->language()->submit(lone);
    CHECK(lone->await_end() == "ended");
    CHECK(lone->ids == tasks[size_t(i)]->ids);
  }
  const AnswerStatistics s = model->language()->statistics();
  CHECK(s.ok == 400);
  CHECK(s.queued + s.invalid + s.refused + s.failed + s.cancelled + s.late == 0);
  CHECK(s.first_tokens.count == 400);
  CHECK(s.cache_capacity == 4 * 48);
  CHECK(s.cache_tokens > 0);
  CHECK(s.bytes == 4 * alone->language()->statistics().bytes);
}

TEST_CASE("slots: 200 answers of 3 slots that share runs are those of lone runs") {
  const ChatFile chat, slots(" 48 3");
  const auto alone = chat.serve(1);
  const auto model = slots.serve(1, 1000, 3);
  LanguageModel& language = *model->language();
  CHECK(language.statistics().slots == 3);  // of the one session
  CHECK(slots.serve(4)->language()->statistics().slots == 6);
  std::vector<std::shared_ptr<Told>> tasks;
  for (int i = 0; i < 200; i++) {
    tasks.push_back(told(i));
    if (i % 50 == 7) tasks.back()->gone = true;
    language.submit(tasks.back());
  }
  for (int i = 0; i < 200; i++) {
    const bool is_gone = tasks[size_t(i)]->gone;
    CHECK(tasks[size_t(i)]->await_end() == (is_gone ? "the client has gone" : "ended"));
    if (is_gone) continue;
    const auto lone = told(i);
    alone->language()->submit(lone);
    CHECK(lone->await_end() == "ended");
    CHECK(lone->ids == tasks[size_t(i)]->ids);
  }
  const AnswerStatistics s = language.statistics();
  CHECK(s.ok == 196);
  CHECK(s.cancelled == 4);
  CHECK(s.queued + s.invalid + s.refused + s.failed + s.late == 0);
  CHECK(s.cache_capacity == 3 * 48);
}

TEST_CASE("slots: answers with look-up and with a draft beside the file are those of lone runs") {
  const ChatFile chat, looks_up(" 48 lookup"), drafted(" 48 lookup");
  std::filesystem::copy_file(chat.file, drafted.folder / "draft.ingot");
  const auto alone = chat.serve(1);
  for (const ChatFile* file : {&looks_up, &drafted}) {
    const auto model = file->serve(1);
    for (int i = 0; i < 20; i++) {
      const auto lone = told(i), one = told(i);
      one->request.ignores_end = lone->request.ignores_end = true;
      model->language()->submit(one);
      alone->language()->submit(lone);
      CHECK(lone->await_end() == "ended");
      CHECK(one->await_end() == "ended");
      CHECK(one->ids == lone->ids);
    }
    const AnswerStatistics s = model->language()->statistics();
    CHECK(s.proposed_tokens > 10);
    if (file != &drafted) continue;
    CHECK(s.accepted_tokens == s.proposed_tokens);
    CHECK(s.generated_tokens > 2 * (s.generated_tokens - s.accepted_tokens));
    CHECK(s.bytes > looks_up.serve(1)->language()->statistics().bytes);
  }
  CHECK(alone->language()->statistics().proposed_tokens == 0);
  std::filesystem::copy_file(chat.file, chat.folder / "draft.ingot");
  CHECK_THROWS_WITH_AS((void)chat.serve(1), doctest::Contains("--lookup"), ServeError);
}

TEST_CASE("slots: an answer that fails or is late leaves the others of its run alone") {
  const ChatFile slots(" 48 3");
  const auto model = slots.serve(3, 1000, 2);
  LanguageModel& language = *model->language();
  const auto late = told(3), invalid = told(4), sound = told(5);
  late->late_after = 3;
  late->request.ignores_end = true;
  for (int32_t id = 0; id < 289; id++) invalid->request.biases.push_back({id, -INFINITY});
  language.submit(late);
  language.submit(invalid);
  language.submit(sound);
  CHECK(sound->await_end() == "ended");
  CHECK(invalid->await_end() == "no token is left: the logit of each is -infinity");
  CHECK(invalid->why == Refusal::kInvalid);
  CHECK(late->await_end() == "the answer took longer than ingot serve --max-answer-seconds");
  CHECK(late->why == Refusal::kDeadline);
  CHECK(late->ids.size() == 3);
  CHECK(language.statistics().late == 1);
  const auto next = told(5);  // in a slot of one that failed, or not: the same answer
  language.submit(next);
  CHECK(next->await_end() == "ended");
  CHECK(next->ids == sound->ids);
}

TEST_CASE("slots: a prompt goes to the idle slot whose caches hold most of it") {
  const ChatFile chat;
  const auto model = chat.serve(2);
  const auto first = std::make_shared<Told>(std::vector<int32_t>{4, 6, 7, 8, 9}, 1);
  const auto second = std::make_shared<Told>(std::vector<int32_t>{4, 16, 17, 18, 19}, 1);
  first->is_open = false;
  model->language()->submit(first);
  first->await_begin();
  model->language()->submit(second);
  CHECK(second->await_end() == "ended");
  first->open();
  CHECK(first->await_end() == "ended");
  for (const auto& [prompt, cached] : {std::pair{std::vector<int32_t>{4, 16, 17, 18, 20}, 4},
                                       std::pair{std::vector<int32_t>{4, 6, 7, 8, 20}, 4}}) {
    while (model->language()->statistics().running) sched_yield();
    const auto next = std::make_shared<Told>(prompt, 1);
    model->language()->submit(next);
    CHECK(next->await_end() == "ended");
    CHECK(next->counts.cached == uint64_t(cached));
  }
}

TEST_CASE("slots: a prompt takes what another slot has, and a conversation stays") {
  const ChatFile slots(" 48 3");
  const auto model = slots.serve(1);
  const auto ask = [&](std::vector<int32_t> prompt) {
    while (model->language()->statistics().running) sched_yield();
    const auto task = std::make_shared<Told>(prompt, 1);
    task->request.ignores_end = true;
    model->language()->submit(task);
    CHECK(task->await_end() == "ended");
    prompt.insert(prompt.end(), task->ids.begin(), task->ids.end());
    return std::pair(task->counts.cached, prompt);
  };
  auto [none, conversation] = ask({4, 6, 7, 8, 9});
  CHECK(none == 0);
  CHECK(ask({4, 6, 7, 8, 10}).first == 4);  // in a slot that is empty
  CHECK(ask({4, 6, 7, 8, 11, 12}).first == 4);
  conversation.push_back(20);  // all of it is there, but for the last token of the answer
  CHECK(ask(conversation).first == conversation.size() - 2);
}

TEST_CASE("slots: a full queue refuses, and who has gone leaves it") {
  const ChatFile chat;
  const auto model = chat.serve(1, 2);
  LanguageModel& language = *model->language();
  const auto runs = told(0), waits = told(1), goes = told(2), extra = told(3);
  runs->is_open = false;
  language.submit(runs);
  runs->await_begin();
  language.submit(waits);
  language.submit(goes);
  try {
    language.submit(extra);
    FAIL("taken");
  } catch (const ServeError& error) {
    CHECK(error.why() == Refusal::kBusy);
    CHECK(error.text() == "model 'chat': 2 requests wait for a slot already; try again later");
  }
  goes->gone = true;
  CHECK(goes->await_end() == "the client has gone");
  language.submit(extra);
  runs->gone = true;
  while (language.statistics().cancelled < 1) sched_yield();
  usleep(50000);  // until the watch has looked at the slot, too
  runs->open();
  runs->await_end();
  CHECK(runs->why == Refusal::kCancelled);
  CHECK(waits->await_end() == "ended");
  CHECK(extra->await_end() == "ended");
  CHECK(language.statistics().cancelled == 2);
}

TEST_CASE("slots: a model has no sessions beside them unless they are asked for") {
  const ChatFile chat;
  const auto model = chat.serve(1);
  CHECK_FALSE(model->has_instances());
  CHECK(model->arena_bytes() == 0);
  Job job;
  try {
    model->submit(&job);
    FAIL("taken");
  } catch (const ServeError& error) {
    CHECK(error.why() == Refusal::kUnsupported);
    CHECK(error.text().find("has slots alone") != std::string::npos);
  }
  CHECK(chat.serve(0)->arena_bytes() > 0);
  ModelSettings settings;
  settings.slots.count = settings.instances = 1;
  CHECK(ServedModel("chat", "1", chat.file, settings).arena_bytes() > 0);
  settings.instances = 0;
  settings.session.max_steps = 1;  // of the slots, too
  CHECK_THROWS_AS(ServedModel("chat", "1", chat.file, settings), ServeError);
}
