// SPDX-License-Identifier: Apache-2.0
// Work per byte of every reader: a file four times as long costs four times the basic blocks, and
// each byte no more than so many. The readers are built with a call in every block
// (-fsanitize-coverage=trace-pc), so that nothing has to be charged by hand and no clock is read.
// A chain of aliases, a table of names or a stack that is walked for each entry fails here.
#include <doctest/doctest.h>

#include <functional>

#include "tests/checkpoint/reading_cost.h"
#include "tests/checkpoint/stored_zip.h"
#include "tests/format/small_files.h"
#include "tools/checkpoint/tensors/archive.h"

namespace {
uint64_t blocks_run = 0;
}
extern "C" void __sanitizer_cov_trace_pc() { blocks_run++; }

namespace {

using namespace ingot;
using namespace ingot::test;
using test::little;

std::string name_of(const char* stem, int i) { return stem + std::to_string(i); }
std::string text(const convert::FileSpec& file) {
  const std::vector<uint8_t> bytes = convert::write_memory(file);
  return {bytes.begin(), bytes.end()};
}

// Programs.

convert::FileSpec begin(int32_t* x, Dim extent = 16) {
  convert::FileSpec file;
  *x = file.program.add_value(input("x", {extent}));
  return file;
}
std::string finish(convert::FileSpec file, int32_t last, Dim extent = 16) {
  convert::ProgramSpec& p = file.program;
  p.add_instruction(step(ElementwiseOp::kRelu), {last}, {p.add_value(output("y", {extent}))});
  add_ports(&file);
  return text(file);
}
/// Instruction after instruction; `in_place`: each value in the storage of the one before.
std::string chain_of(int n, bool in_place) {
  int32_t last;
  convert::FileSpec file = begin(&last);
  for (int i = 0; i < n; i++) {
    const convert::ValueSpec v = activation(name_of("v", i), {16});
    const int32_t next = file.program.add_value(in_place && i > 0 ? in_place_of(v, last) : v);
    file.program.add_instruction(step(ElementwiseOp::kRelu), {last}, {next});
    last = next;
  }
  return finish(std::move(file), last);
}
std::string chain(int n) { return chain_of(n, false); }
std::string in_place(int n) { return chain_of(n, true); }
/// Views of views of x.
std::string views(int n) {
  int32_t last;
  convert::FileSpec file = begin(&last);
  const int32_t first = file.program.add_value(activation("v", {16}));
  file.program.add_instruction(step(ElementwiseOp::kRelu), {last}, {first});
  last = first;
  for (int i = 0; i < n; i++)
    last = file.program.add_value(view_of(activation(name_of("w", i), {16}), last));
  return finish(std::move(file), last);
}
/// Parts of one storage, each written by an instruction of its own.
std::string parts(int n) {
  int32_t x;
  convert::FileSpec file = begin(&x);
  const int32_t whole = file.program.add_value(output("y", {Dim(16 * n)}));
  for (int i = 0; i < n; i++)
    file.program.add_instruction(
        step(ElementwiseOp::kRelu), {x},
        {file.program.add_value(view_of(activation(name_of("p", i), {16}), whole, Dim(16 * i)))});
  add_ports(&file);
  return text(file);
}
std::string ports(int n) {
  int32_t x;
  convert::FileSpec file = begin(&x);
  for (int i = 0; i < n; i++)
    file.program.add_instruction(step(ElementwiseOp::kRelu), {x},
                                 {file.program.add_value(output(name_of("y", i), {16}))});
  add_ports(&file);
  return text(file);
}
std::string symbols(int n) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  for (int i = 0; i < n; i++) {
    const Dim dim = p.add_symbol(name_of("n", i), 1, 8);
    const int32_t x = p.add_value(input(name_of("x", i), {dim}));
    p.add_instruction(step(ElementwiseOp::kRelu), {x},
                      {p.add_value(output(name_of("y", i), {dim}))});
  }
  add_ports(&file);
  return text(file);
}
/// An expression over the one before.
std::string expressions(int n) {
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  Dim dim = p.add_symbol("N", 1, 8);
  for (int i = 0; i < n; i++)
    dim = p.add_dim_expr(i % 2 ? DimOp::kMin : DimOp::kMax, dim, Dim(i + 2));
  const int32_t x = p.add_value(input("x", {dim}));
  return finish(std::move(file), x, dim);
}
std::string constants(int n) {
  int32_t last;
  convert::FileSpec file = begin(&last);
  for (int i = 0; i < n; i++) {
    const int32_t c = file.program.add_value(constant(name_of("c", i), {16}));
    const int32_t next = file.program.add_value(activation(name_of("v", i), {16}));
    file.program.add_instruction(step(ElementwiseOp::kAdd), {last, c}, {next});
    last = next;
  }
  return finish(std::move(file), last);
}

// Checkpoints.

std::string safetensors(const std::string& header, size_t data) {
  return little(header.size(), 8) + header + std::string(data, '\0');
}
std::string tensors_of_json(int n) {
  return safetensors("{" +
                         repeated(n,
                                  [](int i) {
                                    return "\"t" + std::to_string(i) +
                                           "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[" +
                                           std::to_string(i) + "," + std::to_string(i + 1) + "]}";
                                  }) +
                         "}",
                     size_t(n));
}
std::string facts_of_json(int n) {
  return safetensors("{\"__metadata__\":{" +
                         repeated(n, [](int i) { return "\"k" + std::to_string(i) + "\":\"v\""; }) +
                         "}}",
                     0);
}
std::string gguf_text(const std::string& s) { return little(s.size(), 8) + s; }
std::string tensors_of_gguf(int n) {
  std::string head = "GGUF" + little(3, 4) + little(uint64_t(n), 8) + little(0, 8);
  for (int i = 0; i < n; i++)
    head += gguf_text(name_of("blk.", i) + ".weight") + little(1, 4) + little(8, 8) + little(0, 4) +
            little(uint64_t(i) * 32, 8);
  head.resize((head.size() + 31) / 32 * 32, '\0');
  return head + std::string(size_t(n) * 32, '\0');
}
std::string facts_of_gguf(int n) {
  std::string head = "GGUF" + little(3, 4) + little(1, 8) + little(uint64_t(n), 8);
  for (int i = 0; i < n; i++)
    head += gguf_text(name_of("key.", i)) + little(8, 4) + gguf_text("value");
  head += gguf_text("a") + little(1, 4) + little(8, 8) + little(0, 4) + little(0, 8);
  head.resize((head.size() + 31) / 32 * 32, '\0');
  return head + std::string(32, '\0');
}
std::string list_of_gguf(int n) {
  std::string head = "GGUF" + little(3, 4) + little(1, 8) + little(1, 8);
  head += gguf_text("tokens") + little(9, 4) + little(8, 4) + little(uint64_t(n), 8);
  for (int i = 0; i < n; i++) head += gguf_text(name_of("t", i));
  head += gguf_text("a") + little(1, 4) + little(8, 8) + little(0, 4) + little(0, 8);
  head.resize((head.size() + 31) / 32 * 32, '\0');
  return head + std::string(32, '\0');
}
/// A pickle of protocol 2 as torch.save's data.pkl.
std::string torch_archive(const std::string& pickle) {
  return stored_zip({{"archive/data.pkl", pickle},
                     {"archive/version", "3\n"},
                     {"archive/data/0", std::string(64, '\0')}});
}
std::string unicode(const std::string& s) { return "X" + little(s.size(), 4) + s; }
std::string tensor_of_pickle() {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + unicode("storage") + "ctorch\nFloatStorage\n" +
         unicode("0") + unicode("cpu") + "K\x10tQK" + std::string(1, '\0') +
         "(K\x02K\x02t(K\x02K\x01t\x89" + "ccollections\nOrderedDict\n)RtR";
}
std::string tensors_of_pickle(int n) {
  std::string pickle = "\x80\x02}(";
  for (int i = 0; i < n; i++) pickle += unicode(name_of("w", i)) + tensor_of_pickle();
  return torch_archive(pickle + "u.");
}
/// A dictionary in a dictionary, and so on, each remembered and asked for again.
std::string memos_of_pickle(int n) {
  std::string pickle = "\x80\x02}(";
  for (int i = 0; i < n; i++)
    pickle += unicode(name_of("k", i)) + "]r" + little(uint64_t(i), 4) + unicode(name_of("l", i)) +
              "j" + little(uint64_t(i), 4);
  return torch_archive(pickle + unicode("w") + tensor_of_pickle() + "u.");
}
std::string numbers_of_pickle(int n) {
  std::string pickle = "\x80\x02}(" + unicode("list") + "](";
  for (int i = 0; i < n; i++) pickle += "M" + little(uint64_t(i) & 0xffff, 2);
  return torch_archive(pickle + "e" + unicode("w") + tensor_of_pickle() + "u.");
}
std::string members_of_zip(int n) {
  const std::string array = "\x93NUMPY\x01" + std::string(1, '\0') + little(118, 2) +
                            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" +
                            std::string(118 - 58, ' ') + "\n" + std::string(4, '\0');
  std::vector<std::pair<std::string, std::string>> all;
  for (int i = 0; i < n; i++) all.push_back({name_of("a", i) + ".npy", array});
  return stored_zip(all);
}
std::string entries_of_bson(int n) {
  std::string body;
  for (int i = 0; i < n; i++)
    body += "\x10" + name_of("k", i) + std::string(1, '\0') + little(1, 4);
  return little(body.size() + 5, 4) + body + std::string(1, '\0');
}

/// How often the blocks of a reader ran for a file; `ends` says how reading ended.
uint64_t blocks_of(const std::string& file, const char* ending, std::string* ends) {
  if (std::string(ending) == ".ingot") {
    const std::vector<uint8_t> bytes(file.begin(), file.end());
    blocks_run = 0;
    const Opened opened = open_bytes(bytes, {true, true, {}, true});
    const uint64_t ran = blocks_run;
    *ends = opened.status.ok() ? "" : code_name(opened.status.code());
    return ran;
  }
  const host::TemporaryPath path(ending);
  std::ofstream(path.path(), std::ios::binary).write(file.data(), std::streamsize(file.size()));
  blocks_run = 0;
  try {
    (void)checkpoint::read_checkpoint(path.path());
  } catch (const host::Failure& failure) {
    *ends = failure.message();
  }
  return blocks_run;
}

struct Kind {
  const char* name;
  const char* ending;
  std::string (*make)(int n);
  int n;
};
const Kind kKinds[] = {
    {"instructions one behind the other", ".ingot", chain, 400},
    {"values in place of each other", ".ingot", in_place, 400},
    {"views of views", ".ingot", views, 400},
    {"outputs", ".ingot", ports, 400},
    {"symbols", ".ingot", symbols, 400},
    {"expressions of expressions", ".ingot", expressions, 400},
    {"constants", ".ingot", constants, 400},
    {"tensors of safetensors", ".safetensors", tensors_of_json, 2000},
    {"facts of safetensors", ".safetensors", facts_of_json, 2000},
    {"tensors of GGUF", ".gguf", tensors_of_gguf, 2000},
    {"facts of GGUF", ".gguf", facts_of_gguf, 2000},
    {"a list of GGUF", ".gguf", list_of_gguf, 4000},
    {"tensors of a pickle", ".pt", tensors_of_pickle, 1000},
    {"memos of a pickle", ".pt", memos_of_pickle, 2000},
    {"numbers of a pickle", ".pt", numbers_of_pickle, 8000},
    {"members of a zip", ".npz", members_of_zip, 1000},
    {"entries of BSON", ".bson", entries_of_bson, 2000},
};
constexpr double kMaxGrowth = 5;  // sorting has a logarithm
constexpr double kMaxBlocksAByte = 400;

}  // namespace

TEST_CASE("readers: four times the file costs four times the work") {
  for (const Kind& kind : kKinds) {
    CAPTURE(std::string(kind.name));
    std::string ends, ends_long;
    const std::string once = kind.make(kind.n), more = kind.make(4 * kind.n);
    const uint64_t few = blocks_of(once, kind.ending, &ends),
                   many = blocks_of(more, kind.ending, &ends_long);
    const double growth = double(many) / double(few);
    MESSAGE(std::string(kind.name)
            << ": " << once.size() << " bytes, " << double(few) / double(once.size())
            << " blocks a byte, " << growth << " times for four times the entries");
    CHECK(few > 100);
    CHECK(ends == "");
    CHECK(ends_long == ends);
    CHECK(growth <= kMaxGrowth);
    CHECK(double(few) / double(once.size()) <= kMaxBlocksAByte);
  }
}

TEST_CASE("readers: parts of one value are compared in pairs, within a budget") {
  std::string ends;
  CHECK(blocks_of(parts(400), ".ingot", &ends) < 10'000'000);
  CHECK(ends == "");
  CHECK(blocks_of(parts(8000), ".ingot", &ends) < 400'000'000);
  CHECK(ends == "limit_exceeded");
}
