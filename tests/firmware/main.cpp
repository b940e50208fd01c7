// SPDX-License-Identifier: Apache-2.0
// main.cpp - a network in flash, its arena a static array, no heap, no operating system: reads one
// image and compares the answer.
#include <ingot/ingot.h>

#include <cstdint>

extern "C" {
void board_print(const char* text);
extern const uint8_t model_begin[], model_end[], input_begin[], input_end[], expected_begin[],
    expected_end[];
extern const ingot_kernel_table* ingot_model_kernels(void);
}

namespace {

alignas(64) uint8_t model_memory[INGOT_MODEL_MEMORY];
alignas(64) uint8_t arena[INGOT_ARENA];

void print_number(const char* label, uint64_t n) {
  char text[24];
  int at = 23;
  text[at] = 0;
  text[--at] = '\n';
  do text[--at] = static_cast<char>('0' + n % 10);
  while ((n /= 10) != 0);
  board_print(label);
  board_print(text + at);
}

int fail(const char* what, const ingot_error& error) {
  board_print(what);
  board_print(": ");
  board_print(ingot_code_name(error.code));
  board_print(error.field && *error.field ? " " : "\n");
  if (error.field && *error.field) board_print(error.field), board_print("\n");
  print_number("  need ", error.need);
  print_number("  have ", error.have);
  return 1;
}

}  // namespace

int main() {
  ingot_error error{};
  ingot_open_options open{};
  open.size = sizeof open;
  open.kernels = ingot_model_kernels();
  open.memory = model_memory, open.memory_bytes = sizeof model_memory;
  ingot_model* model = nullptr;
  if (ingot_model_open_memory(model_begin, static_cast<uint64_t>(model_end - model_begin), &open,
                              &model, &error))
    return fail("open", error);
  ingot_session_options options{};
  options.size = sizeof options;
  options.threads = 1;
  options.arena_kind = INGOT_ARENA_CALLER;
  options.arena = arena, options.arena_bytes = sizeof arena;
  ingot_binding bindings[4];
  ingot_model_summary summary{};
  summary.size = sizeof summary;
  ingot_model_summarize(model, &summary);
  for (uint32_t i = 0; i < summary.symbol_count && i < 4; i++) {
    ingot_symbol symbol{};
    ingot_model_symbol(model, i, &symbol);
    bindings[i] = {symbol.name, 1};
    options.binding_count = i + 1;
  }
  options.bindings = bindings;
  ingot_requirements need{};
  need.size = sizeof need;
  if (ingot_model_requirements(model, &options, &need, &error)) return fail("requirements", error);
  ingot_session* session = nullptr;
  if (ingot_session_create(model, &options, &session, &error)) return fail("create", error);
  ingot_tensor input{}, output{};
  if (ingot_session_input(session, 0, &input) ||
      input.bytes != static_cast<uint64_t>(input_end - input_begin))
    return board_print("input size\n"), 1;
  for (uint64_t i = 0; i < input.bytes; i++) static_cast<uint8_t*>(input.data)[i] = input_begin[i];
  if (ingot_session_run(session, &error)) return fail("run", error);
  ingot_session_output(session, 0, &output);
  const auto* got = static_cast<const float*>(output.data);
  const auto* want = reinterpret_cast<const float*>(expected_begin);
  const uint64_t count = static_cast<uint64_t>(expected_end - expected_begin) / sizeof(float);
  if (output.bytes != count * sizeof(float)) return board_print("output size\n"), 1;
  float largest = 0, top = 0;
  uint64_t best = 0;
  for (uint64_t i = 0; i < count; i++) {
    const float difference = got[i] > want[i] ? got[i] - want[i] : want[i] - got[i];
    const float magnitude = want[i] < 0 ? -want[i] : want[i];
    if (!(difference <= largest)) largest = difference;
    if (magnitude > top) top = magnitude;
    if (got[i] > got[best]) best = i;
  }
  print_number("the image shows ", best);
  print_number("arena bytes ", need.arena_bytes);
  print_number("model memory bytes ", summary.model_bytes);
  print_number("largest error, parts per million of the largest output ",
               static_cast<uint64_t>(largest / top * 1e6f));
  const bool good = largest <= 1e-4f * top;
  board_print(good ? "firmware: 1 passed, 0 failed\n" : "firmware: 0 passed, 1 failed\n");
  return good ? 0 : 1;
}
