// SPDX-License-Identifier: Apache-2.0
// bench/llama_peer.cpp - llama.cpp as a process that answers: bench/llm_peers.py builds it.
//
//   llama_peer MODEL.gguf THREADS CONTEXT [FIRST]
//     evaluates a prompt of FIRST tokens (16; 0: none) three times, prints one line of JSON, then
//     answers each line of stdin with one:
//     measure PROMPT GENERATE   three rounds, the first of which counts for none: tokens a second
//     logits FILE BATCH ID..    f32 logits of every token, evaluated BATCH at a time -> FILE
//   llama_peer quantize IN.gguf OUT.gguf NUMBER
//     all weights in blocks of one type, by the number of llama.h's llama_ftype
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "llama.h"

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void fail(const char* what) {
  std::printf("{\"absent\": \"%s\"}\n", what);
  std::exit(1);
}

/// The largest resident memory so far, in bytes.
long long resident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::atoll(line.c_str() + 6) * 1024;
  return 0;
}

/// Random tokens, those of `ingot bench`.
std::vector<llama_token> prompt_of(int tokens, int vocabulary) {
  std::vector<llama_token> ids;
  uint32_t state = 1;
  for (int i = 0; i < tokens; i++) {
    state = state * 1664525u + 1013904223u;
    ids.push_back(llama_token(state % uint32_t(vocabulary)));
  }
  return ids;
}

struct Peer {
  llama_model* model;
  llama_context* context;
  int vocabulary;

  void rewind() { llama_memory_clear(llama_get_memory(context), false); }
  /// Logits of the last token.
  const float* feed(llama_token* tokens, int count) {
    if (llama_decode(context, llama_batch_get_one(tokens, count))) fail("llama_decode failed");
    return llama_get_logits_ith(context, -1);
  }
  double prompt_seconds(int tokens) {
    if (tokens == 0) return 0;
    rewind();
    std::vector<llama_token> ids = prompt_of(tokens, vocabulary);
    const double began = now();
    feed(ids.data(), tokens);
    return now() - began;
  }

  void measure(int prompt, int generate) {
    std::vector<double> prompts, generations;
    for (int round = 0; round < 3; round++) {
      rewind();
      std::vector<llama_token> ids = prompt_of(prompt, vocabulary);
      double began = now();
      const float* logits = feed(ids.data(), prompt);
      const double prompt_took = now() - began;
      began = now();
      for (int i = 0; i < generate; i++) {
        llama_token token = llama_token(std::max_element(logits, logits + vocabulary) - logits);
        logits = feed(&token, 1);
      }
      if (round == 0) continue;
      prompts.push_back(prompt / prompt_took);
      generations.push_back(generate / (now() - began));
    }
    std::printf("{\"prompt_tps\": %.3f, \"generate_tps\": %.3f, \"resident\": %lld}\n",
                (prompts[0] + prompts[1]) / 2, (generations[0] + generations[1]) / 2, resident());
  }

  void write_logits(const std::string& path, size_t batch, const std::vector<llama_token>& ids) {
    rewind();
    std::ofstream file(path, std::ios::binary);
    for (size_t begin = 0; begin < ids.size(); begin += batch) {
      llama_batch part = llama_batch_init(int32_t(batch), 0, 1);
      for (size_t at = begin; at < std::min(begin + batch, ids.size()); at++) {
        const int32_t i = part.n_tokens++;
        part.token[i] = ids[at], part.pos[i] = llama_pos(at);
        part.n_seq_id[i] = 1, part.seq_id[i][0] = 0, part.logits[i] = 1;
      }
      if (llama_decode(context, part)) fail("llama_decode failed");
      for (int32_t i = 0; i < part.n_tokens; i++)
        file.write(reinterpret_cast<const char*>(llama_get_logits_ith(context, i)),
                   std::streamsize(sizeof(float)) * vocabulary);
      llama_batch_free(part);
    }
    std::printf("{\"vocabulary\": %d}\n", vocabulary);
  }
};

int quantize(const char* from, const char* to, int type) {
  llama_model_quantize_params how = llama_model_quantize_default_params();
  how.ftype = llama_ftype(type);
  how.allow_requantize = how.pure = true;
  how.nthread = 1;
  return int(llama_model_quantize(from, to, &how));
}

}  // namespace

int main(int argc, char** argv) {
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  llama_backend_init();
  if (argc == 5 && !std::strcmp(argv[1], "quantize"))
    return quantize(argv[2], argv[3], std::atoi(argv[4]));
  if (argc != 4 && argc != 5) return 2;
  const double began = now();
  Peer peer{};
  peer.model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (!peer.model) fail("the model does not load");
  llama_context_params how = llama_context_default_params();
  how.n_threads = how.n_threads_batch = std::atoi(argv[2]);
  how.n_ctx = uint32_t(std::atoi(argv[3]));
  peer.context = llama_init_from_model(peer.model, how);
  if (!peer.context) fail("no context");
  peer.vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(peer.model));
  const int tokens = argc == 5 ? std::atoi(argv[4]) : 16;
  const double load = now() - began, first = peer.prompt_seconds(tokens),
               again = std::min(peer.prompt_seconds(tokens), peer.prompt_seconds(tokens));
  std::printf("{\"load_ms\": %.3f, \"first_ms\": %.3f, \"again_ms\": %.3f, \"system\": \"%s\"}\n",
              load * 1e3, first * 1e3, again * 1e3, llama_print_system_info());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what, path;
    words >> what;
    if (what == "measure") {
      int prompt = 0, generate = 0;
      words >> prompt >> generate;
      peer.measure(prompt, generate);
    } else {
      std::vector<llama_token> ids;
      size_t batch = 0;
      words >> path >> batch;
      if (batch == 0) fail("a batch of no token");
      for (llama_token id; words >> id;) ids.push_back(id);
      peer.write_logits(path, batch, ids);
    }
    std::fflush(stdout);
  }
}
