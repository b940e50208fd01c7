// SPDX-License-Identifier: Apache-2.0
// Any bytes as the body of a request to a language model, the first of them which path it is of: a
// request, or a refusal, never anything else. What an answer to it is written as is JSON, whatever
// its text has: here the stop texts of the request.
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/generate/small_chat_model.h"
#include "tools/serve/protocol/completion_reply.h"
#include "tools/serve/protocol/embeddings.h"
#include "tools/serve/protocol/messages_reply.h"

using namespace ingot;
using namespace ingot::serve;

namespace {

const Repository& repository() {
  static Repository* const made = [] {
    const test::Scratch folder;
    for (const char* name : {"chat", "embed"}) {
      test::gguf::Source source = test::chat_source();
      const bool is_embed = *name == 'e';
      if (is_embed) source.metadata["llama.pooling_type"] = test::gguf::whole(3);
      std::filesystem::create_directories(folder / name + "/1");
      convert::write_file(test::chat_model(source), folder / name + "/1/model.ingot");
    }
    ModelSettings settings;
    settings.slots.count = 1;
    settings.session.threads = 1;
    settings.session.device = "cpu";
    settings.map = INGOT_MAP_COPY;  // the files go
    auto* all = new Repository(folder.folder.string(), "", settings);
    all->load_all("", 60);
    if (!all->find("chat", "")->language() || !all->find("embed", "")->embedding()) abort();
    return all;
  }();
  return *made;
}

class Answer : public AnswerTask {
  void begin() override {}
  void add(const AnswerPiece&) override {}
  void end(ingot_end) override {}
  void fail(Refusal, const std::string&) override {}
  bool is_gone() const override { return false; }
};

void check_json(std::string_view text) {
  if (!nlohmann::json::accept(text)) abort();
}

/// Lines "event: KIND" and "data: JSON", each event behind an empty line.
void check_events(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) abort();
    const std::string_view line = text.substr(0, end);
    if (line.substr(0, 6) == "data: " && line != "data: [DONE]")
      check_json(line.substr(6));
    else if (!line.empty() && line.substr(0, 7) != "event: " && line != "data: [DONE]")
      abort();
    text.remove_prefix(end + 1);
  }
}

void write_answer(const CompletionForm& form, const Text& text, Answer* answer) {
  const AnswerRequest& request = answer->request;
  std::string said;
  for (const std::string& stop : request.stop_texts) said += stop;
  const std::vector<ingot_logprob> logprobs(size_t(request.top_logprobs + 1), {7, -INFINITY});
  answer->counts = {request.prompt.size(), 0, said.size()};
  answer->stop_text = request.stop_texts.empty() ? -1 : 0;
  const auto writer = reply_writer(form, &text);
  std::string out;
  writer->begin(*answer, &out);
  for (size_t at = 0; at < said.size(); at += 5) {
    AnswerPiece piece;
    piece.id = int32_t(uint8_t(said[at]));
    piece.text = std::string_view(said).substr(at, 5);  // also parts of a character
    piece.logprobs = logprobs;
    writer->add(piece, &out);
  }
  writer->end(said.size() % 2 ? INGOT_END_LENGTH : INGOT_END_STOP_TEXT, *answer, &out);
  if (form.streams)
    check_events(out + error_event(form, 500, said));
  else
    check_json(out);
}

void embed(std::string_view body) {
  Embeddings request = read_embeddings(repository(), body);
  const std::vector<float> vector(request.model->embedding()->width(), 0.5f);
  for (const auto& ids : request.inputs) {
    if (ids.empty() || ids.size() > request.model->embedding()->context()) abort();
    add_embedding(vector.data(), &request);
  }
  end_embeddings(&request);
  check_json(request.reply);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const unsigned path = data[0] % 5;
  try {
    if (path == 4) {
      embed(body);
      return 0;
    }
    CompletionForm form;
    form.is_chat = path != 0;
    form.is_messages = path >= 2;
    form.counts_tokens = path == 3;
    Answer answer;
    const auto model = read_completion(repository(), body, &form, &answer.request);
    for (const int32_t id : answer.request.prompt)
      if (id < 0 || uint64_t(id) >= model->language()->vocabulary()) abort();
    write_answer(form, model->language()->text(), &answer);
  } catch (const ServeError& error) {
    check_json(openai_error(400, error.text(), error.field(), error.code()));
    check_json(anthropic_error(400, error.text()));
  }
  return 0;
}
