// SPDX-License-Identifier: Apache-2.0
// tools/serve/http/completion.h - an answer on its way from a slot to its connection. A slot never
// waits for a client: what is not sent yet is kept here, and beyond a limit the answer is given up.
// Threads  the slot's writes, the connection's takes.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "tools/serve/http/routes.h"
#include "tools/serve/protocol/reply_writer.h"

namespace ingot::serve {

class Completion : public AnswerTask {
 public:
  /// @param wake has take() called on the connection's thread. Any thread, often; it may not wait
  Completion(Asked asked, std::function<void()> wake) : wake_(std::move(wake)) {
    form.is_chat = asked != Asked::kText;
    form.counts_tokens = asked == Asked::kTokenCount;
    form.is_messages = form.counts_tokens || asked == Asked::kMessages;
  }
  /// Before it is submitted.
  void open(const Text* text) { reply_ = reply_writer(form, text); }

  void begin() override {
    change([&] { reply_->begin(*this, &unsent_); });
  }
  void add(const AnswerPiece& piece) override {
    change([&] {
      reply_->add(piece, &unsent_);
      if (unsent_.size() + reply_->kept_bytes() > kMaxUnsent) is_gone_ = is_too_long_ = true;
    });
  }
  void end(ingot_end why) override {
    change([&] {
      reply_->end(why, *this, &unsent_);
      has_ended_ = true;
    });
  }
  void fail(Refusal why, const std::string& text) override {
    change([&] {
      has_ended_ = has_failed_ = true;
      why_ = is_too_long_ ? Refusal::kTooLarge : why;
      error_ = is_too_long_ ? "more than 16 MiB of the answer have not left" : text;
    });
  }
  bool is_gone() const override { return is_gone_; }
  /// Its client is.
  void give_up() { is_gone_ = true; }

  struct State {
    bool has_ended = false, has_failed = false;
    Refusal why = Refusal::kInternal;
    std::string error;
  };
  /// What is to be sent, put in the place of `text`.
  State take(std::string* text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    text->clear();
    text->swap(unsent_);
    return {has_ended_, has_failed_, why_, error_};
  }

  CompletionForm form;

 private:
  template <class Change>
  void change(Change change) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      change();
      if (!has_ended_ && (!form.streams || unsent_.empty())) return;
    }
    wake_();
  }

  static constexpr size_t kMaxUnsent = size_t{16} << 20;
  const std::function<void()> wake_;
  std::mutex mutex_;  // of all below
  std::unique_ptr<ReplyWriter> reply_;
  std::string unsent_, error_;
  bool has_ended_ = false, has_failed_ = false, is_too_long_ = false;
  Refusal why_ = Refusal::kInternal;
  std::atomic<bool> is_gone_{false};
};

}  // namespace ingot::serve
