/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - language models: text to tokens, messages to a prompt, and an answer token by token. The
 * rules at the top of ingot.h hold.
 *
 *   ingot_text_open(model, NULL, &text, &error);
 *   ingot_session_create(model, &options, &session, &error);   // INGOT_REBINDABLE, T bound to 1
 *   ingot_generator_create(session, text, NULL, &generator, &error);
 *   ingot_text_chat(text, &chat, prompt, sizeof prompt, &bytes, &error);
 *   ingot_text_encode(text, prompt, bytes, &of_chat, ids, capacity, &count, &error);
 *   ingot_generator_begin(generator, ids, count, &answer, &reused, &error);
 *   do {
 *     if (ingot_generator_next(generator, 0, &token, &error)) break;
 *     fwrite(token.text, 1, token.text_bytes, stdout);
 *   } while (token.end == INGOT_END_NONE);
 *
 * A text is immutable: any thread, any number at once, for all generators of its model. A generator
 * is used by one thread at a time, except ingot_generator_cancel(). Several sequences are several
 * sessions, each with a generator; weights are shared, state is not. Or they are the slots of one
 * session, if the file has some (`ingot convert --slots N`): a run reads the weights once for all.
 * One thread at a time uses the generators of a session. But after a step each slot that has
 * nothing left may have a thread of its own for next, logits, logprobs and summarize:
 *
 *   for (i = 0; i < slots; i++) ingot_generator_begin(ingot_generator_slot(generator, i), ...);
 *   while (one has not ended) {
 *     ingot_generator_step(generator, 0, NULL, &error);
 *     for each that has not ended, and whose summary has cached == token_count:
 *       ingot_generator_next(ingot_generator_slot(generator, i), 0, &token, &error);
 *   }
 */
#ifndef INGOT_TEXT_H_
#define INGOT_TEXT_H_

#include "ingot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------- text and tokens */

/** The tokenizer and the chat template of a model's file. The model must outlive it. */
typedef struct ingot_text ingot_text;

/** Where an object's one block comes from. */
typedef struct ingot_block_options {
  size_t size;
  const ingot_allocator* allocator; /* null: the model's. It must outlive the object */
  /* or the caller's block, 16-byte aligned; may be null */
  void* memory;
  uint64_t memory_bytes;            /* too few: INGOT_ARENA_TOO_SMALL with need and have */
} ingot_block_options;

/** Bytes of the block of ingot_text_open(): the tables, unless the file lies in the caller's memory
    (ingot_model_open_memory()), where they are used as they lie. INGOT_NOT_FOUND: the file has no
    tokenizer. */
INGOT_API ingot_code ingot_text_requirements(const ingot_model* model, uint64_t* out_bytes,
                                             ingot_error* error);
/** Reads the part, compares its hash and validates it. `options` may be null. Allocates. */
INGOT_API ingot_code ingot_text_open(const ingot_model* model, const ingot_block_options* options,
                                     ingot_text** out_text, ingot_error* error);
/** @pre no generator uses it. */
INGOT_API void ingot_text_close(ingot_text* text);

typedef struct ingot_text_summary {
  size_t size;
  uint32_t token_count;       /* of the tokenizer; a model may have logits for more */
  int32_t has_chat_template;
  /* why ingot_text_chat() cannot render it, or ""; of this many bytes, not ended by 0 */
  const char* chat_refused;
  size_t chat_refused_bytes;
} ingot_text_summary;
INGOT_API ingot_code ingot_text_summarize(const ingot_text* text, ingot_text_summary* out_summary);

/** Memory that a call works in. */
typedef struct ingot_encode_options {
  size_t size;
  uint32_t flags;             /* INGOT_ENCODE_... */
  /* 16-byte aligned; null: of the text's allocator while the call runs */
  void* memory;
  uint64_t memory_bytes;
} ingot_encode_options;
enum {
  INGOT_ENCODE_BARE = 1,      /* without the tokens that the model asks for around a text */
  /* control tokens in the text are taken for what they say: of a rendered chat, not of text that
     others wrote */
  INGOT_ENCODE_CONTROL = 2
};
/** What any text of that many bytes takes at most: work memory, and tokens. */
INGOT_API ingot_code ingot_text_encode_requirements(const ingot_text* text, uint64_t text_bytes,
                                                    uint64_t* out_memory_bytes,
                                                    uint64_t* out_tokens, ingot_error* error);
/** Tokens of a text of `bytes` bytes of UTF-8; other bytes are taken one by one. `options` may be
    null. INGOT_ARENA_TOO_SMALL: capacity or memory. Allocates without `options.memory`. */
INGOT_API ingot_code ingot_text_encode(const ingot_text* text, const char* utf8, uint64_t bytes,
                                       const ingot_encode_options* options, int32_t* out_ids,
                                       uint64_t capacity, uint64_t* out_count, ingot_error* error);
/** The text of tokens, whole characters: what never became one is U+FFFD. Not ended by 0; with
    capacity 0 only *out_bytes is set (out may be null). shows_control: control tokens too. */
INGOT_API ingot_code ingot_text_decode(const ingot_text* text, const int32_t* ids, uint64_t count,
                                       int32_t shows_control, char* out, uint64_t capacity,
                                       uint64_t* out_bytes, ingot_error* error);
/** A token's own bytes, which may be part of a character; they belong to `text`.
    *out_is_control (may be null): a token that ends an answer. INGOT_NOT_FOUND beyond the last. */
INGOT_API ingot_code ingot_text_token(const ingot_text* text, int32_t id, const char** out_bytes,
                                      size_t* out_count, int32_t* out_is_control);

/* ------------------------------------------------------------------------------ chat templates */

typedef int32_t ingot_value_kind;
enum {
  INGOT_VALUE_NONE = 1, INGOT_VALUE_BOOLEAN = 2, INGOT_VALUE_INTEGER = 3, INGOT_VALUE_FLOAT = 4,
  INGOT_VALUE_TEXT = 5, INGOT_VALUE_LIST = 6, INGOT_VALUE_DICT = 7
};
typedef union ingot_value_data {
  int64_t integer;   /* of a boolean: 0 or 1 */
  double number;
  const char* text;  /* UTF-8 */
  const struct ingot_value* items; /* of a dict: key, value, key, value ...; keys are texts */
} ingot_value_data;
/** What a template works with, as JSON has it. */
typedef struct ingot_value {
  ingot_value_kind kind;
  uint32_t count; /* bytes of a text, items of a list, pairs of a dict */
  ingot_value_data as;
} ingot_value;

typedef struct ingot_message {
  const char* role;    /* "system", "user", "assistant" */
  const char* content;
} ingot_message;

typedef struct ingot_chat_options {
  size_t size;
  const ingot_message* messages; /* null: a variable of that name has them */
  uint32_t message_count;
  /* "tools", "enable_thinking": a dict, or zeros. "add_generation_prompt" is true unless it is
     here */
  ingot_value variables;
  /* year, month, day, hour, minute, second, where the template asks; zeros: not known */
  int32_t now[6];
  /* to work in, 16-byte aligned; null: of the text's allocator while the call runs */
  void* memory;
  uint64_t memory_bytes;
} ingot_chat_options;
/** The text of a prompt, by the file's chat template; it is encoded with INGOT_ENCODE_BARE |
    INGOT_ENCODE_CONTROL. Not ended by 0. INGOT_NOT_FOUND: the file has none.
    INGOT_UNSUPPORTED_FEATURE: it is refused (ingot_text_summary). INGOT_MEANING_INVALID: it has no
    meaning for these values; error.operand is the line. INGOT_INVALID_ARGUMENT: it says so itself;
    out[0..*out_bytes) is its message. INGOT_LIMIT_EXCEEDED: steps, depth.
    Without `options.memory`: allocates; with capacity 0 only *out_bytes is set (out may be null).
    With it: out is worked in, too. INGOT_ARENA_TOO_SMALL: error.field is "memory" or "output". */
INGOT_API ingot_code ingot_text_chat(const ingot_text* text, const ingot_chat_options* options,
                                     char* out, uint64_t capacity, uint64_t* out_bytes,
                                     ingot_error* error);

/* ----------------------------------------------------------------------------------- generator */

/** The tokens in the caches of a session, and the answer that is made behind them. Session and text
    must outlive it, and the session is run through it alone. */
typedef struct ingot_generator ingot_generator;

/** Bytes of the block of ingot_generator_create(): room for any answer options.
    INGOT_NOT_FOUND, INGOT_DTYPE_MISMATCH, INGOT_SHAPE_MISMATCH: the session is of no language model
    (docs/llm.md). INGOT_WRONG_STATE: it was made without INGOT_REBINDABLE. */
INGOT_API ingot_code ingot_generator_requirements(ingot_session* session, uint64_t* out_bytes,
                                                  ingot_error* error);
/** `text` may be null: tokens alone, none of which ends an answer. `options` may be null.
    Allocates; nothing else here does. */
INGOT_API ingot_code ingot_generator_create(ingot_session* session, const ingot_text* text,
                                            const ingot_block_options* options,
                                            ingot_generator** out_generator, ingot_error* error);
/** With the generators of all slots, if it is that of slot 0; else it does nothing. */
INGOT_API void ingot_generator_destroy(ingot_generator* generator);
/** The generator of a slot of the same session; that of slot 0 is the one that was created. Null
    beyond the last. */
INGOT_API ingot_generator* ingot_generator_slot(ingot_generator* generator, uint32_t slot);

/** For all slots, from the next run on: tokens are proposed by the generator of another, smaller
    model, instead of by look-up. The answer is the same. `draft` has a session of its own, is used
    through `generator` alone and must outlive its use; its context may be smaller: beyond it
    nothing is proposed. Null: look-up. INGOT_INVALID_ARGUMENT: the vocabularies differ
    (error.operand: in this token first; without texts in the number of logits), the file of
    `generator` was converted without `--lookup`, or the draft has one. Errors of a draft's run,
    which `generator` gives, name "draft". */
INGOT_API ingot_code ingot_generator_set_draft(ingot_generator* generator, ingot_generator* draft,
                                               ingot_error* error);

typedef struct ingot_generator_summary {
  size_t size;
  uint64_t context;        /* tokens that the caches hold */
  uint64_t run_tokens;     /* of a run at most */
  uint64_t vocabulary;     /* logits */
  /* prompt and answer so far, until the next call; the first `cached` of them are in the caches */
  const int32_t* tokens;
  uint64_t token_count, cached;
  uint64_t slots;          /* of the session, each with a context of its own */
  uint64_t lookup;         /* the most that ingot_answer_options.lookup may be */
  /* of the answer, by look-up or a draft: each one that was accepted saved a run */
  uint64_t proposed, accepted;
} ingot_generator_summary;
INGOT_API ingot_code ingot_generator_summarize(const ingot_generator* generator,
                                               ingot_generator_summary* out_summary);

/** A number that shapes the choice of tokens, by name: "temperature", "top_p" (docs/llm.md). */
typedef struct ingot_setting {
  const char* name;
  double value;
} ingot_setting;
typedef struct ingot_setting_range {
  size_t size;
  const char* name;
  const char* help;
  double standard, low, high; /* standard: does nothing; temperature 0 takes the most probable */
  int32_t is_whole;
} ingot_setting_range;
/** What there is. INGOT_NOT_FOUND beyond the last. */
INGOT_API ingot_code ingot_setting_at(uint32_t index, ingot_setting_range* out_range);

typedef struct ingot_logit_bias {
  int32_t id;
  double add; /* to the logit; -infinity: never this token */
} ingot_logit_bias;

/** Which tokens a grammar allows: its state, and room to work for any grammar. The text must
    outlive it; one answer uses it at a time. */
typedef struct ingot_constraint ingot_constraint;

/** Bytes of the block of ingot_constraint_create(). */
INGOT_API ingot_code ingot_constraint_requirements(const ingot_text* text, uint64_t* out_bytes,
                                                   ingot_error* error);
/** `options` may be null. Allocates; nothing else here does. */
INGOT_API ingot_code ingot_constraint_create(const ingot_text* text,
                                             const ingot_block_options* options,
                                             ingot_constraint** out_constraint,
                                             ingot_error* error);
/** @pre no answer uses it. */
INGOT_API void ingot_constraint_destroy(ingot_constraint* constraint);
/** The grammar of answers from now on, as `ingot grammar` writes it; the bytes must outlive their
    use. All of it is validated: INGOT_NOT_INGOT, INGOT_UNSUPPORTED_VERSION, INGOT_TRUNCATED,
    INGOT_STRUCTURE_INVALID, INGOT_LIMIT_EXCEEDED. The constraint has then no grammar, or the one
    before. */
INGOT_API ingot_code ingot_constraint_set(ingot_constraint* constraint, const void* grammar,
                                          uint64_t bytes, ingot_error* error);

/** Copied by ingot_generator_begin(). */
typedef struct ingot_answer_options {
  size_t size;
  const ingot_setting* settings; /* what is not here has its standard */
  size_t setting_count;
  uint64_t seed;                 /* the same seed, the same answer, on every machine */
  const ingot_logit_bias* biases;
  size_t bias_count;             /* at most 1,024 */
  const char* const* stop_texts; /* the answer ends in front of one */
  size_t stop_text_count;        /* at most 256, 32,768 bytes together */
  uint32_t tokens;               /* at most; 0: until another end */
  uint32_t flags;                /* INGOT_ANSWER_... */
  /* of the generator's text, with a grammar; the answer uses it until it ends. May be null */
  ingot_constraint* constraint;
  /* tokens that are proposed for a run at most, by a draft, or where the last ones stood before in
     prompt and answer: with exact precision the answer is the same, in fewer runs. 0: none; -1: as
     many as the file was converted for (`ingot convert --lookup N`) */
  int32_t lookup;
} ingot_answer_options;
enum {
  INGOT_ANSWER_IGNORE_END = 1,   /* a control token does not end the answer */
  INGOT_ANSWER_SHOW_CONTROL = 2  /* control tokens are printed */
};

/** Begins an answer to a prompt: tokens [0, count) of the whole conversation. What the caches hold
    of it from its beginning is kept: *out_reused tokens (may be null). On the CPU what another slot
    holds counts as well, unless state was restored there: its rows are copied. The rest is computed
    by the next calls, this one computes nothing. `options` may be null: the most probable tokens,
    without a limit. INGOT_INVALID_ARGUMENT: no token, one outside the vocabulary, more than the
    context; an option. On failure all is as before. */
INGOT_API ingot_code ingot_generator_begin(ingot_generator* generator, const int32_t* ids,
                                           uint64_t count, const ingot_answer_options* options,
                                           uint64_t* out_reused, ingot_error* error);
/** Computes the next part of the prompt, one run; *out_left tokens (may be null) are to come. Need
    not be called: next does what is left. deadline_ns of ingot_clock_ns(), 0: none.
    INGOT_CANCELLED, INGOT_DEADLINE_EXCEEDED: the part was not computed; a later call, or another
    prompt, goes on from what was. */
INGOT_API ingot_code ingot_generator_prefill(ingot_generator* generator, uint64_t deadline_ns,
                                             uint64_t* out_left, ingot_error* error);

/** One run for all slots of the session: the next token of each answer that has not ended, and
    parts of prompts; *out_left tokens (may be null) are to come. Answers are those of a lone run,
    to the bit. Call next for each slot that has nothing left, or its last token is computed again.
    A slot that was cancelled is left out. Errors are those of prefill, for all slots. */
INGOT_API ingot_code ingot_generator_step(ingot_generator* generator, uint64_t deadline_ns,
                                          uint64_t* out_left, ingot_error* error);

typedef int32_t ingot_end;
enum {
  INGOT_END_NONE = 0,
  INGOT_END_CONTROL = 1,   /* `id` ends answers, and is no part of this one */
  INGOT_END_STOP_TEXT = 2,
  INGOT_END_LENGTH = 3,    /* options.tokens */
  INGOT_END_CONTEXT = 4,   /* the caches are full */
  INGOT_END_GRAMMAR = 5    /* the grammar allows nothing behind it */
};
typedef struct ingot_token {
  size_t size;
  int32_t id;
  ingot_end end;           /* another than INGOT_END_NONE: the last one */
  /* what the answer says with it for sure: whole characters, nothing of a stop text, maybe nothing.
     Not ended by 0; until the next call */
  const char* text;
  size_t text_bytes;
  int32_t stop_text;       /* index of the one that is complete, or -1 */
} ingot_token;
/** Computes what is left, and chooses the next token. Errors are those of prefill, and
    INGOT_WRONG_STATE: no answer is begun, or it has ended; INGOT_NOT_FOUND: no token is left, by
    the logits or, as error.field says, by the grammar; INGOT_LIMIT_EXCEEDED: the grammar nests
    deeper, or can be read in more ways, than there is room for. */
INGOT_API ingot_code ingot_generator_next(ingot_generator* generator, uint64_t deadline_ns,
                                          ingot_token* out_token, ingot_error* error);
/** Called with each token; another answer than 0 ends the call (the answer may go on). */
typedef int32_t (*ingot_token_function)(void* user, const ingot_token* token);
/** next() until the end. *out_end (may be null): INGOT_END_NONE where the function ended it. */
INGOT_API ingot_code ingot_generator_run(ingot_generator* generator, uint64_t deadline_ns,
                                         ingot_token_function function, void* user,
                                         ingot_end* out_end, ingot_error* error);
/** Any thread, a signal handler too. The call in progress and later ones are INGOT_CANCELLED until
    the next ingot_generator_begin(). Of several slots a run in progress goes on. */
INGOT_API void ingot_generator_cancel(ingot_generator* generator);

/** f32 [vocabulary]: after prefill with nothing left, what the next token is chosen from; after
    next, what it was. Until the next call. Between prefill and next they may be written: a token
    with -infinity is not chosen. INGOT_WRONG_STATE: not computed. */
INGOT_API ingot_code ingot_generator_logits(ingot_generator* generator, ingot_tensor* out_logits,
                                            ingot_error* error);
typedef struct ingot_logprob {
  int32_t id;
  float logprob; /* natural logarithm of the probability, before any setting */
} ingot_logprob;
/** Of the same logits: of token `id` into out[0], unless it is -1; then the most probable ones,
    best first, until `count` are written. */
INGOT_API ingot_code ingot_generator_logprobs(ingot_generator* generator, int32_t id,
                                              ingot_logprob* out, size_t count,
                                              ingot_error* error);

/** The tokens in the caches and their part of the session's state, as ingot_session_save_state().
    With capacity 0 only *out_bytes is set (out may be null). */
INGOT_API ingot_code ingot_generator_save(ingot_generator* generator, void* out, uint64_t capacity,
                                          uint64_t* out_bytes, ingot_error* error);
/** What a generator of the same file saved, of any slot: the next begin finds the tokens in the
    caches. An answer in the making is over. Errors are those of ingot_session_restore_state(); all
    is then as it was. */
INGOT_API ingot_code ingot_generator_restore(ingot_generator* generator, const void* saved,
                                             uint64_t bytes, ingot_error* error);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INGOT_TEXT_H_ */
