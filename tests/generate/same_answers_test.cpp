// SPDX-License-Identifier: Apache-2.0
// The same seeds give the same answers on every processor and number of threads: a model of random
// weights, committed as it was converted, answers by a schema. Made by
//   write_chat_model chat.ingot 200
//   ingot grammar --json-schema '{"type": "object", "required": ["name", "age", "tags"],
//     "properties": {"name": {"type": "string", "pattern": "^[a-z]{1,9}$"},
//     "age": {"type": "integer", "minimum": 0, "maximum": 120}, "tags": {"type": "array",
//     "items": {"enum": ["red", "green", 7, null, true]}, "maxItems": 3}}}' -o person.grammar
#include <doctest/doctest.h>
#include <ingot/cpu.h>

#include <fstream>
#include <iterator>
#include <set>

#include "ingot/text.hpp"

using namespace ingot;

namespace {

std::string answers(const ingot_kernel_table* kernels, int threads, uint64_t seeds) {
  auto model = Model::open(INGOT_ANSWER "/chat.ingot", kernels);
  REQUIRE(model.ok());
  ingot_session_options options = session_options();
  const ingot_binding one = {"T", 1};
  options.threads = threads, options.flags = INGOT_REBINDABLE;
  options.bindings = &one, options.binding_count = 1;
  auto session = model->session(options);
  REQUIRE(session.ok());
  auto text = Text::open(*model);
  REQUIRE(text.ok());
  auto generator = Generator::create(*session, &*text);
  REQUIRE(generator.ok());
  std::ifstream file(INGOT_ANSWER "/person.grammar", std::ios::binary);
  const std::string grammar(std::istreambuf_iterator<char>(file), {});
  auto constraint = Constraint::create(*text);
  REQUIRE(constraint.ok());
  REQUIRE(constraint->set(grammar.data(), grammar.size()).ok());
  const ingot_setting setting = {"temperature", 1.3};
  ingot_answer_options answer = answer_options();
  answer.settings = &setting, answer.setting_count = 1;
  answer.constraint = constraint->get();
  std::string all;
  for (answer.seed = 0; answer.seed < seeds; answer.seed++) {
    REQUIRE(generator->begin(*text->encode("who is it"), answer).ok());
    const auto end =
        generator->run([&](const ingot_token& token) { all.append(token.text, token.text_bytes); });
    REQUIRE(end.ok());
    CHECK(*end == INGOT_END_GRAMMAR);
    all += '\n';
  }
  return all;
}

}  // namespace

TEST_CASE("answers: the same for the same seeds, on every processor and number of threads") {
  constexpr uint64_t kSeeds = 24;
  const std::string all = answers(ingot_cpu_kernels(nullptr), 1, kSeeds);
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : all) hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  CAPTURE(all);
  CHECK(hash == 0xe77b0af5bae1153f);
  CHECK(answers(ingot_cpu_kernels(nullptr), 4, kSeeds) == all);
  CHECK(answers(ingot_cpu_kernels("scalar"), 1, kSeeds) == all);
  std::set<std::string> different;
  for (size_t at = 0, end; (end = all.find('\n', at)) != std::string::npos; at = end + 1)
    different.insert(all.substr(at, end - at));
  CHECK(different.size() > kSeeds / 2);
}
