// SPDX-License-Identifier: Apache-2.0
// Chat templates that an attacker made: every byte changed, each rule of the code broken by name,
// random code that is taken runs within its budgets.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "ingot_schema/text_generated.h"
#include "tests/text/small_chats.h"

using namespace ingot;
using namespace ingot::test;
using Op = TemplateOperation;

namespace {

std::vector<uint8_t> part_of(const chat::CompiledTemplate& program,
                             uint8_t version = kTemplateVersion) {
  flatbuffers::FlatBufferBuilder to;
  std::vector<uint32_t> starts = {0};
  std::vector<uint8_t> bytes;
  for (const std::string& text : program.texts) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    starts.push_back(uint32_t(bytes.size()));
  }
  std::vector<fb::TemplateFunction> functions;
  for (const TemplateFunctionRow& f : program.functions)
    functions.emplace_back(f.entry, f.slots, f.stack, f.arguments, f.names);
  fb::FinishTextBuffer(
      to, fb::CreateText(to, 0,
                         fb::CreateChatTemplate(
                             to, version, 0, program.inputs, to.CreateVector(starts),
                             to.CreateVector(bytes), to.CreateVector(program.code),
                             to.CreateVector(program.lines), to.CreateVectorOfStructs(functions))));
  return {to.GetBufferPointer(), to.GetBufferPointer() + to.GetSize()};
}

struct OpenedChat {
  vocabulary::AlignedBytes bytes;
  TemplateView view;
  ErrorDetail detail;
  Status status;
};

OpenedChat open_chat(const std::vector<uint8_t>& part) {
  OpenedChat o{vocabulary::aligned_bytes(part.size()), {}, {}, {}};
  if (!part.empty()) std::memcpy(o.bytes.get(), part.data(), part.size());
  o.status = open_template({o.bytes.get(), part.size()}, &o.view, &o.detail);
  return o;
}

const ChatJson kInputs = {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}, {"x", "y"}};

/// Whatever it does, it ends within its memory.
Code use(const TemplateView& view) {
  ErrorDetail detail;
  const Code code = render_raw(view, kInputs, 20000, 1 << 14, 1 << 12, &detail);
  CHECK(code != Code::kInternal);
  return code;
}

}  // namespace

TEST_CASE("template part: every byte changed in turn is refused, or renders within its bounds") {
  size_t refused = 0, taken = 0, rendered = 0;
  for (const char* source : {kChatMl, kAllOfIt}) {
    const std::vector<uint8_t> sound = part_of(chat::compile_template(source, "test"));
    REQUIRE(open_chat(sound).status.ok());
    REQUIRE(use(open_chat(sound).view) == Code::kOk);
    for (size_t at = 0; at < sound.size(); at++)
      for (const uint8_t change : {0x01, 0x02, 0x80, 0xff}) {
        std::vector<uint8_t> part = sound;
        part[at] ^= change;
        const OpenedChat o = open_chat(part);
        if (o.status.ok()) rendered += use(o.view) == Code::kOk;
        (o.status.ok() ? taken : refused)++;
      }
    for (size_t size = 0; size < sound.size(); size++)
      CHECK_FALSE(open_chat({sound.begin(), sound.begin() + std::ptrdiff_t(size)}).status.ok());
  }
  CHECK(refused > 1000);
  CHECK(taken > 1000);
  CHECK(rendered > 300);
}

TEST_CASE("template part: what contradicts itself is refused by its field") {
  const chat::CompiledTemplate sound = chat::compile_template(kAllOfIt, "test");
  const auto refuse = [&](const char* field, const auto& change) {
    chat::CompiledTemplate program = sound;
    change(&program);
    const OpenedChat o = open_chat(part_of(program));
    INFO(std::string(field), " found ", std::string(o.detail.field));
    CHECK_FALSE(o.status.ok());
    CHECK(std::string(o.detail.field).find(field) != std::string::npos);
  };
  const auto find = [](const chat::CompiledTemplate& p, Op operation) {
    for (size_t i = 0; i < p.code.size(); i++)
      if (unpack_instruction(p.code[i]).operation == operation) return i;
    FAIL("no such instruction");
    return size_t{0};
  };
  /// Another a or b in the first instruction of that kind.
  const auto operand = [&](const char* field, Op operation, unsigned a, unsigned b) {
    refuse(field, [&](chat::CompiledTemplate* p) {
      p->code[find(*p, operation)] = pack_instruction(operation, a, b);
    });
  };
  operand("b: text", Op::kPrintText, 0, 60000);
  operand("b: text", Op::kText, 0, 60000);
  operand("b: text", Op::kAttribute, 0, 60000);
  operand("b: text", Op::kSetAttribute, 0, 60000);
  operand("a: value", Op::kSimple, 9, 0);
  operand("a: operator", Op::kUnary, 9, 0);
  operand("a: operator", Op::kBinary, 99, 0);
  operand("b: function", Op::kMacro, 0, 9);
  operand("b: slot", Op::kLoad, 0, 6000);
  operand("b: slot", Op::kStore, 0, 6000);
  operand("b: outer slot", Op::kLoadOuter, 0, 6000);
  operand("a: argument", Op::kJumpIfGiven, 9, 0);
  operand("b: method", Op::kMethod, 0, 999);
  operand("b: built-in", Op::kBuiltIn, 1, 999);
  operand("b: filter", Op::kFilter, 0, 999);
  operand("a: arguments", Op::kFilter, 9, 0);
  operand("b: filter", Op::kMap, 0, 999);
  operand("b: test", Op::kTest, 0, 999);
  operand("a: arguments", Op::kTest, 9, 0);
  operand("b: test", Op::kSelect, 0, 999);
  operand("a: selection", Op::kSelect, 99, 0);
  operand("b: jump", Op::kJump, 0, 60000);
  operand("jump to a label", Op::kJump, 0, 0);
  operand("b: jump", Op::kNext, 0, 60000);
  operand("values on the stack", Op::kConcatenate, 0, 999);
  operand("values on the stack", Op::kCall, 200, 0);
  operand("label", Op::kLabel, 0, 77);
  refuse("operation", [&](auto* p) { p->code[0] = 0xff; });
  refuse("lines", [&](auto* p) { p->lines.pop_back(); });
  refuse("functions: the first", [&](auto* p) { p->functions.clear(); });
  refuse("functions: the first", [&](auto* p) { p->functions[0].entry = 1; });
  refuse("entry ascends", [&](auto* p) { p->functions[1].entry = 0; });
  refuse("functions[].entry", [&](auto* p) { p->functions[1].entry = 60000; });
  refuse("functions[].stack", [&](auto* p) { p->functions[0].stack = 5000; });
  refuse("functions[].stack", [&](auto* p) { p->functions[0].stack = 1; });
  refuse("functions[].stack", [&](auto* p) { p->functions[0].slots = 5000; });
  refuse("functions[].arguments", [&](auto* p) { p->functions[1].arguments = 50; });
  refuse("functions[].arguments", [&](auto* p) { p->functions[1].names = 60000; });
  refuse("a slot for each input", [&](auto* p) { p->functions[0].slots = 0; });
  refuse("inputs are texts", [&](auto* p) { p->inputs = 60000; });
  refuse("a function ends", [&](auto* p) { p->code.pop_back(), p->lines.pop_back(); });
  refuse("a label behind a jump", [&](auto* p) {
    p->code.push_back(pack_instruction(Op::kCapture, 0, 0));
    p->lines.push_back(1);
  });
  refuse("leaves one value",
         [&](auto* p) { p->code[p->code.size() - 2] = pack_instruction(Op::kCopy, 0, 0); });
}

TEST_CASE("template part: random code that is taken ends within its budgets") {
  std::mt19937 random(7);
  const chat::CompiledTemplate sound = chat::compile_template(kAllOfIt, "test");
  size_t taken = 0;
  for (int round = 0; round < 20000; round++) {
    chat::CompiledTemplate program = sound;
    for (unsigned i = 0; i < 1 + random() % 3; i++) {
      const size_t at = random() % program.code.size();
      const TemplateInstruction old = unpack_instruction(program.code[at]);
      const auto operation = Op(random() % unsigned(Op::kEnd));
      program.code[at] = random() % 2 ? pack_instruction(operation, random() % 4, random() % 40)
                                      : pack_instruction(old.operation, random() % 4, old.b);
    }
    const OpenedChat o = open_chat(part_of(program));
    if (!o.status.ok()) continue;
    taken++;
    (void)use(o.view);
  }
  CHECK(taken > 300);
}

TEST_CASE("template part: one of a later version, and none") {
  Vocabulary v = byte_vocabulary({});
  CHECK_THROWS_AS((void)loaded(v).chat(), host::Failure);
  const OpenedChat later =
      open_chat(part_of(chat::compile_template(kChatMl, "test"), kTemplateVersion + 1));
  CHECK(later.status.code() == Code::kUnsupportedFeature);
  v.chat = chat::chat_template_of("{{ x | frob }}", "model.gguf");
  try {
    (void)chat::render_chat(loaded(v).chat(), ChatJson::object(), {}, "file");
    FAIL("rendered");
  } catch (const host::Failure& failure) {
    CHECK(failure.exit() == host::Exit::kUnsupported);
    CHECK(failure.message() == "model.gguf: chat template, line 1: not known: the filter 'frob'");
  }
}
