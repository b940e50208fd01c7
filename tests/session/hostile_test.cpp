// SPDX-License-Identifier: Apache-2.0
// Files whose program was damaged and whose hashes were brought up to date: opened, bound, planned,
// resolved and run. Most are refused; what is not must run to its end. Meant for ASan and UBSan;
// the seed is fixed.
#include <doctest/doctest.h>

#include <random>

#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct Tally {
  int refused = 0, sessions = 0, runs = 0;
};

void damage(std::vector<uint8_t>* bytes, std::mt19937* random) {
  uint64_t offset, size;  // of the program: the first entry of the part table
  std::memcpy(&offset, bytes->data() + kHeaderFixedBytes + 8, 8);
  std::memcpy(&size, bytes->data() + kHeaderFixedBytes + 16, 8);
  for (uint32_t changes = 1 + (*random)() % 3; changes > 0; changes--) {
    uint8_t& byte = (*bytes)[offset + (*random)() % size];
    switch ((*random)() % 3) {
      case 0: byte ^= uint8_t(1u << ((*random)() % 8)); break;
      case 1: byte = uint8_t((*random)()); break;
      default: byte = uint8_t(byte + ((*random)() % 2 ? 1 : 255)); break;
    }
  }
  rehash(bytes);
}

void use(const Model& model, std::mt19937* random, Tally* tally) {
  const ingot_model_summary summary = model.summary();
  std::vector<ingot_binding> bindings;
  for (uint32_t i = 0; i < summary.symbol_count; i++) {
    ingot_symbol symbol;
    ingot_model_symbol(model.get(), i, &symbol);
    bindings.push_back({symbol.name, symbol.low > INT64_MAX - 4
                                         ? symbol.low
                                         : symbol.low + int64_t((*random)() % 4)});
  }
  ingot_session_options options = session_options();
  options.threads = int32_t(1 + (*random)() % 2);
  options.bindings = bindings.data();
  options.binding_count = bindings.size();
  options.flags = (*random)() % 3 ? 0 : INGOT_KEEP_VALUES;
  options.arena_bytes = 64u << 20;
  auto session = model.session(options);
  if (!session) return;
  tally->sessions++;
  for (uint32_t i = 0; i < summary.input_count; i++)
    std::memset(session->input(i)->data, 0, session->input(i)->bytes);
  tally->runs += session->run().ok();
  char text[64];
  for (uint32_t i = 0; i < summary.value_count; i++) {
    ingot_tensor tensor;
    (void)ingot_session_value(session->get(), i, &tensor, nullptr);
    ingot_model_dim_text(model.get(), i, 0, text, sizeof text);
  }
}

}  // namespace

TEST_CASE("hostile: damaged programs with right hashes are refused, or run to their end") {
  std::mt19937 random(20);
  const std::pair<const char*, convert::FileSpec> specs[] = {
      {"small", small_network()},
      {"branching", branching_network()},
      {"counting", counting_network(true)},
      {"aliased outputs", in_place_ports_network()}};
  for (const auto& [name, spec] : specs) {
    const std::vector<uint8_t> whole = convert::write_memory(spec);
    Tally tally;
    for (int i = 0; i < 400; i++) {
      std::vector<uint8_t> bytes = whole;
      damage(&bytes, &random);
      AlignedBlock block(bytes.size(), 64);
      std::memcpy(block.data(), bytes.data(), bytes.size());
      const auto model = Model::open(block.data(), bytes.size(), open_options(oracle_table()));
      if (model.ok())
        use(model.value(), &random, &tally);
      else
        tally.refused++;
    }
    MESSAGE(std::string(name) << ": " << tally.refused << " refused, " << tally.sessions
                              << " sessions, " << tally.runs << " runs");
    CHECK(tally.refused > 100);
    CHECK(tally.runs > 0);
  }
}
