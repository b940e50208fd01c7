// SPDX-License-Identifier: Apache-2.0
// text.hpp - thin C++17 over text.h, as ingot.hpp is over ingot.h: throws nothing; allocates for
// texts and tokens that it returns.
//
//   auto text = ingot::Text::open(model);
//   auto generator = ingot::Generator::create(session, &*text);
//   auto prompt = text->chat({{"user", "Why is the sky blue?"}});
//   auto ids = text->encode(*prompt, INGOT_ENCODE_BARE | INGOT_ENCODE_CONTROL);
//   generator->begin(*ids).value();
//   generator->run([](const ingot_token& t) { fwrite(t.text, 1, t.text_bytes, stdout); }).value();
#ifndef INGOT_TEXT_HPP_
#define INGOT_TEXT_HPP_

#include <initializer_list>

#include "ingot.hpp"
#include "text.h"

namespace ingot {

inline ingot_answer_options answer_options() { return INGOT_INIT(ingot_answer_options); }
inline ingot_chat_options chat_options() { return INGOT_INIT(ingot_chat_options); }

/// The tokenizer and the chat template of a model's file.
class Text : public Owner<ingot_text, ingot_text_close> {
 public:
  using Owner::Owner;
  static Result<Text> open(const Model& model) {
    Error error;
    ingot_text* text = nullptr;
    if (ingot_text_open(model.get(), nullptr, &text, &error)) return error;
    return Text(text);
  }
  ingot_text_summary summary() const {
    ingot_text_summary summary = INGOT_INIT(ingot_text_summary);
    ingot_text_summarize(object_, &summary);
    return summary;
  }
  Result<std::vector<int32_t>> encode(const std::string& utf8, uint32_t flags = 0) const {
    Error error;
    uint64_t memory = 0, tokens = 0, count = 0;
    ingot_encode_options options = INGOT_INIT(ingot_encode_options);
    options.flags = flags;
    if (ingot_text_encode_requirements(object_, utf8.size(), &memory, &tokens, &error))
      return error;
    std::vector<int32_t> ids(static_cast<size_t>(tokens));
    if (ingot_text_encode(object_, utf8.data(), utf8.size(), &options, ids.data(), tokens, &count,
                          &error))
      return error;
    ids.resize(static_cast<size_t>(count));
    return ids;
  }
  Result<std::string> decode(const std::vector<int32_t>& ids, bool shows_control = false) const {
    return written([&](char* out, uint64_t capacity, uint64_t* bytes, ingot_error* error) {
      return ingot_text_decode(object_, ids.data(), ids.size(), shows_control, out, capacity, bytes,
                               error);
    });
  }
  /// The text of a prompt by the file's chat template.
  Result<std::string> chat(const ingot_chat_options& options) const {
    return written([&](char* out, uint64_t capacity, uint64_t* bytes, ingot_error* error) {
      return ingot_text_chat(object_, &options, out, capacity, bytes, error);
    });
  }
  Result<std::string> chat(std::initializer_list<ingot_message> messages) const {
    ingot_chat_options options = chat_options();
    options.messages = messages.begin();
    options.message_count = static_cast<uint32_t>(messages.size());
    return chat(options);
  }

 private:
  template <class Write>
  static Result<std::string> written(Write write) {
    Error error;
    uint64_t bytes = 0;
    if (write(nullptr, 0, &bytes, &error)) return error;
    std::string text(static_cast<size_t>(bytes), '\0');
    if (bytes && write(&text[0], bytes, &bytes, &error)) return error;
    return text;
  }
};

/// Which tokens a grammar allows; answer_options().constraint takes it. The text must outlive it.
class Constraint : public Owner<ingot_constraint, ingot_constraint_destroy> {
 public:
  using Owner::Owner;
  static Result<Constraint> create(const Text& text) {
    Error error;
    ingot_constraint* constraint = nullptr;
    if (ingot_constraint_create(text.get(), nullptr, &constraint, &error)) return error;
    return Constraint(constraint);
  }
  /// As `ingot grammar` writes it; the bytes must outlive their use.
  Result<void> set(const void* grammar, uint64_t bytes) {
    return checked(
        [&](ingot_error* e) { return ingot_constraint_set(object_, grammar, bytes, e); });
  }
};

/// What a generator does; Self has get().
template <class Self>
class GeneratorCalls {
 public:
  ingot_generator_summary summary() const {
    ingot_generator_summary summary = INGOT_INIT(ingot_generator_summary);
    ingot_generator_summarize(object(), &summary);
    return summary;
  }
  /// Gives the tokens of the prompt that are in the caches already.
  Result<uint64_t> begin(const std::vector<int32_t>& ids,
                         const ingot_answer_options& options = answer_options()) {
    Error error;
    uint64_t reused = 0;
    if (ingot_generator_begin(object(), ids.data(), ids.size(), &options, &reused, &error))
      return error;
    return reused;
  }
  /// One run of the prompt; gives how many tokens are to come.
  Result<uint64_t> prefill(uint64_t deadline_ns = 0) {
    Error error;
    uint64_t left = 0;
    if (ingot_generator_prefill(object(), deadline_ns, &left, &error)) return error;
    return left;
  }
  Result<ingot_token> next(uint64_t deadline_ns = 0) {
    Error error;
    ingot_token token = INGOT_INIT(ingot_token);
    if (ingot_generator_next(object(), deadline_ns, &token, &error)) return error;
    return token;
  }
  /// take(const ingot_token&) for each token, until the end of the answer, which is given.
  template <class Take>
  Result<ingot_end> run(Take&& take, uint64_t deadline_ns = 0) {
    for (;;) {
      const Result<ingot_token> token = next(deadline_ns);
      if (!token) return token.error();
      take(*token);
      if (token->end != INGOT_END_NONE) return token->end;
    }
  }
  /// Any thread.
  void cancel() { ingot_generator_cancel(object()); }
  Result<Elements<float>> logits() {
    Error error;
    ingot_tensor tensor;
    if (ingot_generator_logits(object(), &tensor, &error)) return error;
    return Elements<float>{static_cast<float*>(tensor.data), static_cast<size_t>(tensor.dims[0])};
  }
  Result<std::vector<uint8_t>> save() {
    Error error;
    uint64_t bytes = 0;
    std::vector<uint8_t> saved;
    if (ingot_generator_save(object(), nullptr, 0, &bytes, &error)) return error;
    saved.resize(static_cast<size_t>(bytes));
    if (ingot_generator_save(object(), saved.data(), bytes, &bytes, &error)) return error;
    return saved;
  }
  Result<void> restore(const void* saved, uint64_t bytes) {
    return checked(
        [&](ingot_error* e) { return ingot_generator_restore(object(), saved, bytes, e); });
  }

 private:
  ingot_generator* object() const { return static_cast<const Self*>(this)->get(); }
};

/// The generator of a slot, which belongs to that of slot 0.
class SlotGenerator : public GeneratorCalls<SlotGenerator> {
 public:
  explicit SlotGenerator(ingot_generator* generator) : object_(generator) {}
  ingot_generator* get() const { return object_; }

 private:
  ingot_generator* object_;
};

/// Tokens in the caches of a session, and the answer behind them. Session and text must outlive it.
class Generator : public Owner<ingot_generator, ingot_generator_destroy>,
                  public GeneratorCalls<Generator> {
 public:
  using Owner::Owner;
  /// @param text  null: tokens alone
  static Result<Generator> create(const Session& session, const Text* text) {
    Error error;
    ingot_generator* generator = nullptr;
    if (ingot_generator_create(session.get(), text ? text->get() : nullptr, nullptr, &generator,
                               &error))
      return error;
    return Generator(generator);
  }
  /// Null: look-up. The draft must outlive its use.
  Result<void> set_draft(Generator* draft) {
    return checked([&](ingot_error* e) {
      return ingot_generator_set_draft(object_, draft ? draft->get() : nullptr, e);
    });
  }
  /// @pre index < summary().slots
  SlotGenerator slot(uint32_t index) const {
    return SlotGenerator(ingot_generator_slot(object_, index));
  }
  /// One run for all slots; gives how many of their tokens are to come.
  Result<uint64_t> step(uint64_t deadline_ns = 0) {
    Error error;
    uint64_t left = 0;
    if (ingot_generator_step(object_, deadline_ns, &left, &error)) return error;
    return left;
  }
};

}  // namespace ingot

#endif  // INGOT_TEXT_HPP_
