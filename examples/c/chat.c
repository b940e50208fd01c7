/* SPDX-License-Identifier: Apache-2.0 */
/* chat.c - a conversation with a language model: each line is a turn, the answer comes as it is
 * made.
 *
 *   chat_c MODEL.ingot
 */
#include <ingot/cpu.h>
#include <ingot/text.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TURNS 64
#define MAX_PROMPT (1 << 16)

static int fail(const char* what, const ingot_error* error) {
  char text[512];
  ingot_error_text(error, text, sizeof text);
  fprintf(stderr, "error: %s: %s\n", what, text);
  return 1;
}

/* What is said so far; an answer grows at its end. */
static char said[1 << 18];
static size_t said_bytes;

static int32_t put(void* user, const ingot_token* token) {
  (void)user;
  if (said_bytes + token->text_bytes + 1 >= sizeof said) return 1;
  memcpy(said + said_bytes, token->text, token->text_bytes);
  said_bytes += token->text_bytes;
  fwrite(token->text, 1, token->text_bytes, stdout);
  fflush(stdout);
  return 0;
}

static int turn(const ingot_text* text, ingot_generator* generator, const ingot_message* messages,
                uint32_t message_count) {
  static char prompt[MAX_PROMPT];
  static int32_t ids[MAX_PROMPT];
  ingot_chat_options chat = INGOT_INIT(ingot_chat_options);
  ingot_encode_options encode = INGOT_INIT(ingot_encode_options);
  ingot_answer_options answer = INGOT_INIT(ingot_answer_options);
  const ingot_setting settings[] = {{"temperature", 0.7}, {"top_p", 0.95}};
  uint64_t bytes, count, reused;
  ingot_error error;
  chat.messages = messages;
  chat.message_count = message_count;
  if (ingot_text_chat(text, &chat, prompt, sizeof prompt, &bytes, &error))
    return fail("template", &error);
  encode.flags = INGOT_ENCODE_BARE | INGOT_ENCODE_CONTROL;
  if (ingot_text_encode(text, prompt, bytes, &encode, ids, MAX_PROMPT, &count, &error))
    return fail("tokenizer", &error);
  answer.settings = settings;
  answer.setting_count = 2;
  if (ingot_generator_begin(generator, ids, count, &answer, &reused, &error))
    return fail("prompt", &error);
  fprintf(stderr, "[%d tokens, %d of them in the cache]\n", (int)count, (int)reused);
  if (ingot_generator_run(generator, 0, put, NULL, NULL, &error)) return fail("answer", &error);
  printf("\n");
  return 0;
}

static int converse(const ingot_text* text, ingot_generator* generator) {
  static ingot_message messages[2 * MAX_TURNS];
  static char lines[MAX_TURNS][1024];
  for (uint32_t i = 0; i < MAX_TURNS && fgets(lines[i], sizeof lines[i], stdin); i++) {
    lines[i][strcspn(lines[i], "\n")] = 0;
    messages[2 * i].role = "user";
    messages[2 * i].content = lines[i];
    messages[2 * i + 1].role = "assistant";
    messages[2 * i + 1].content = said + said_bytes;
    if (turn(text, generator, messages, 2 * i + 1)) return 1;
    said[said_bytes++] = 0;
  }
  return 0;
}

int main(int argc, char** argv) {
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  ingot_session_options options = INGOT_INIT(ingot_session_options);
  const ingot_binding one = {"T", 1};
  ingot_model* model = NULL;
  ingot_text* text = NULL;
  ingot_session* session = NULL;
  ingot_generator* generator = NULL;
  ingot_error error;
  int failed = 1;
  if (argc != 2) {
    fprintf(stderr, "chat_c MODEL.ingot\n");
    return 1;
  }
  open.kernels = ingot_cpu_kernels(NULL);
  options.flags = INGOT_REBINDABLE; /* prompts are long runs, answers runs of one token */
  options.bindings = &one;
  options.binding_count = 1;
  if (ingot_model_open(argv[1], &open, &model, &error))
    fail(argv[1], &error);
  else if (ingot_text_open(model, NULL, &text, &error))
    fail("text", &error);
  else if (ingot_session_create(model, &options, &session, &error))
    fail("session", &error);
  else if (ingot_generator_create(session, text, NULL, &generator, &error))
    fail("generator", &error);
  else
    failed = converse(text, generator);
  ingot_generator_destroy(generator);
  ingot_session_destroy(session);
  ingot_text_close(text);
  ingot_model_destroy(model);
  return failed;
}
