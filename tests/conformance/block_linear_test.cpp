// SPDX-License-Identifier: Apache-2.0
// BlockQuantize, BlockLinear, BlockGather: every type of block, rows, tails, long rows, epilogues,
// numbers that are none; that rows do not change each other's bits; that packing keeps GGUF's bits.
// GroupedLinear: groups, of weights in blocks and of f32.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/simd/half.inl"
#include "runtime/base/checked_math.h"
#include "runtime/op/grouped_linear.h"
#include "runtime/op/linear.h"
#include "tests/conformance/runner.h"
#include "tools/compile/lower/block_packing.h"
#include "tools/compile/lower/packing.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;
constexpr BlockType kTypes[] = {
    BlockType::kQ4_0,   BlockType::kQ4_1,   BlockType::kQ5_0,  BlockType::kQ5_1, BlockType::kQ8_0,
    BlockType::kQ4_K,   BlockType::kQ5_K,   BlockType::kQ6_K,  BlockType::kQ2_K, BlockType::kQ3_K,
    BlockType::kIQ4_NL, BlockType::kIQ4_XS, BlockType::kMXFP4, BlockType::kF16,  BlockType::kBF16};
static_assert(std::size(kTypes) == kBlockTypes);

/// Rows of blocks as a GGUF has them: any codes, scales that give numbers of about one over k.
std::vector<uint8_t> random_rows(BlockType type, int64_t outputs, int64_t k, uint32_t seed) {
  const BlockFormat f = block_format(type);
  std::vector<uint8_t> rows(size_t(outputs * block_weights::weight_row_bytes(f, k)));
  uint32_t state = seed * 2654435761u + 1;
  for (uint8_t& byte : rows) state = state * 1664525u + 1013904223u, byte = uint8_t(state >> 24);
  if (f.is_float()) {
    for (size_t at = 0; at < rows.size(); at += 2) {
      const float weight = float(int(rows[at]) - 128) / 128;
      const uint16_t bits =
          type == BlockType::kF16 ? cpu::f32_to_f16(weight) : cpu::f32_to_bf16(weight);
      std::memcpy(&rows[at], &bits, 2);
    }
    return rows;
  }
  if (type == BlockType::kMXFP4) {
    for (size_t at = 0; at < rows.size(); at += size_t(f.bytes)) rows[at] = 118 + rows[at] % 8;
    return rows;
  }
  const int d = type == BlockType::kQ6_K   ? 208
                : type == BlockType::kQ2_K ? 80
                : type == BlockType::kQ3_K ? 108
                                           : 0;
  for (size_t at = 0; at < rows.size(); at += size_t(f.bytes)) {
    const float size = float(1 + rows[at + size_t(d)] % 8) / float(f.is_super() ? 20000 : 400);
    const uint16_t halves[2] = {cpu::f32_to_f16(rows[at + size_t(d)] & 1 ? -size : size),
                                cpu::f32_to_f16(size * 5)};
    std::memcpy(&rows[at + size_t(d)], &halves[0], 2);
    if (f.has_min) std::memcpy(&rows[at + size_t(d) + 2], &halves[1], 2);
  }
  return rows;
}
Tensor packed_weights(BlockType type, int64_t outputs, int64_t k, uint32_t seed) {
  const std::vector<uint8_t> rows = random_rows(type, outputs, k, seed);
  const int64_t row = block_weights::weight_row_bytes(block_format(type), k);
  const std::vector<uint8_t> panels = pack_blocks32(type, rows, outputs, row);
  Tensor w(DType::kU8, {outputs, row}, 0, Packing::kBlocks32);
  if (!panels.empty()) std::memcpy(w.view().data, panels.data(), panels.size());
  return w;
}

/// One call of the named table's kernel.
void run_once(const KernelTable& table, OpCode op, const void* attributes,
              const std::vector<TensorView>& inputs, TensorView output) {
  const OpArguments a = {attributes, inputs.data(), &output, uint16_t(inputs.size()), 1};
  const KernelEntry* const kernel = find_kernel(table, op, a);
  REQUIRE(kernel != nullptr);
  std::vector<double> scratch(
      kernel->contract->scratch ? kernel->contract->scratch(a, 1).per_thread_bytes / 8 + 8 : 8);
  Team team;
  team.scratch = scratch.data();
  REQUIRE(kernel->run(a, team).ok());
}
Tensor quantized(BlockType type, const Tensor& x) {
  if (block_format(type).is_float()) return x;
  Dims dims;
  for (int i = 0; i < x.view().rank; i++) dims.push_back(x.view().dims[i]);
  dims.back() = block_weights::quantized_row_bytes(block_format(type), dims.back());
  Tensor y(DType::kU8, dims);
  const BlockQuantizeAttributes t = {type};
  run_once(*oracle_kernels(), OpCode::kBlockQuantize, &t, {x.view()}, y.view());
  return y;
}

struct Product {
  const char* name;
  Dims rows;
  int64_t units, outputs;
  bool bias = false, residual = false;
  int64_t padding = 0;
};

}  // namespace

TEST_CASE("block_linear: types, rows, tails, epilogues") {
  const Product products[] = {
      {"one row", {1}, 3, 64},
      {"one row, a tail", {1}, 2, 37, true},
      {"one output", {1, 1}, 1, 1, false, true},
      {"two rows", {2}, 2, 33, true, true},
      {"rows of a tile and more", {9}, 3, 70, false, true, 5},
      {"tokens", {2, 7}, 1, 32, true},
      {"no rows", {0}, 2, 32},
      {"no outputs", {3}, 2, 0},
      {"no units", {3}, 0, 5, true, true},
      {"no units, one row", {1}, 0, 40},
  };
  uint32_t seed = 3;
  for (const BlockType type : kTypes)
    for (const Product& p : products) {
      const BlockFormat f = block_format(type);
      const BlockLinearAttributes t = {type};
      Dims x = p.rows, y = p.rows;
      x.push_back(p.units * f.unit), y.push_back(p.outputs);
      const std::string name = std::string(p.name) + ", type " + std::to_string(int(type));
      Case c{name, OpCode::kBlockLinear, &t, {}, {}, {2e-5, 2e-5}};
      c.inputs = {quantized(type, Tensor(DType::kF32, x).random(++seed)),
                  packed_weights(type, p.outputs, x.back(), seed),
                  p.bias ? Tensor(DType::kF32, {p.outputs}).random(seed) : Tensor(),
                  p.residual ? Tensor(DType::kF32, y, p.padding).random(seed + 1) : Tensor()};
      c.outputs = {Tensor(DType::kF32, y, p.padding)};
      run_case(c);
    }
}

TEST_CASE("block_linear: rows beyond a slice and a chunk") {
  for (const BlockType type : kTypes) {
    if (is_left_out()) continue;
    const BlockLinearAttributes t = {type};
    const int64_t k = block_weights::kSliceK + 512, rows = block_weights::kChunkRows + 9;
    Case c{
        "long, type " + std::to_string(int(type)), OpCode::kBlockLinear, &t, {}, {}, {5e-5, 2e-4}};
    c.inputs = {quantized(type, Tensor(DType::kF32, {rows, k}).random(5)),
                packed_weights(type, 34, k, 6)};
    c.outputs = {Tensor(DType::kF32, {rows, 34})};
    run_case(c);
  }
}

TEST_CASE("block_linear: a row has the same bits alone, among others, and on every set") {
  for (const BlockType type : kTypes) {
    const BlockLinearAttributes t = {type};
    const int64_t k = 2 * block_weights::kSliceK, rows = 11, outputs = 40;
    const Tensor x = Tensor(DType::kF32, {rows, k}).random(8);
    const Tensor w = packed_weights(type, outputs, k, 9);
    Tensor all(DType::kF32, {rows, outputs});
    run_once(*cpu_kernels("scalar"), OpCode::kBlockLinear, &t,
             {quantized(type, x).view(), w.view()}, all.view());
    for (const char* isa :
         {"avx2", "avxvnni", "avx512", "avx512vnni", "neon", "neondot", "neoni8mm", "rvv"}) {
      const KernelTable* const table = cpu_kernels(isa);
      if (!table) continue;
      CAPTURE(isa);
      CAPTURE(int(type));
      for (int64_t some = 2; some < rows; some++) {
        Tensor first(DType::kF32, {some, k}), y(DType::kF32, {some, outputs});
        for (int64_t i = 0; i < some * k; i++) first.set(i, x.at(i));
        run_once(*table, OpCode::kBlockLinear, &t, {quantized(type, first).view(), w.view()},
                 y.view());
        int64_t differ = 0;
        for (int64_t i = 0; i < some * outputs; i++) differ += y.at(i) != all.at(i);
        CAPTURE(some);
        CHECK(differ == 0);
      }
      for (int64_t row = 0; row < rows; row++) {
        Tensor one(DType::kF32, {1, k}), y(DType::kF32, {1, outputs});
        for (int64_t i = 0; i < k; i++) one.set(i, x.at(row * k + i));
        run_once(*table, OpCode::kBlockLinear, &t, {quantized(type, one).view(), w.view()},
                 y.view());
        int64_t differ = 0;
        for (int64_t o = 0; o < outputs; o++) differ += y.at(o) != all.at(row * outputs + o);
        CHECK(differ == 0);
      }
    }
  }
}

TEST_CASE("block_quantize: numbers, zeros, tiny ones, and those that are none") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const BlockType type : kTypes) {
    const BlockFormat f = block_format(type);
    if (f.is_float()) continue;
    const BlockQuantizeAttributes t = {type};
    for (const int64_t rows : {0, 1, 5}) {
      const int64_t units = 6;
      Tensor x = Tensor(DType::kF32, {rows, units * f.unit}, 3).random(uint32_t(rows) + 4);
      const double firsts[] = {1e30, -1e-37, 0, kInfinity, NAN, -0.0};
      for (int64_t row = 0; row < rows; row++)
        for (int64_t unit = 0; unit < units; unit++)
          for (int64_t i = 0; i < f.unit; i++) {
            const int64_t at = (row * units + unit) * f.unit + i;
            if (row == 0) x.set(at, unit == 1 ? x.at(at) * 1e-38 : unit == 2 ? 0 : x.at(at));
            if (row == 0 && i == 7) x.set(at, firsts[unit]);
            if (row == 2) x.set(at, double(int(i % 255) - 127) / 2);  // ties
          }
      Case c{"quantize, type " + std::to_string(int(type)),
             OpCode::kBlockQuantize,
             &t,
             {x},
             {Tensor(DType::kU8, {rows, block_weights::quantized_row_bytes(f, units * f.unit)})},
             {0, 0}};
      run_case(c);
    }
  }
}

TEST_CASE("block_gather: rows of weights, and indices beyond them") {
  for (const BlockType type : kTypes) {
    const BlockFormat f = block_format(type);
    const BlockGatherAttributes t = {type};
    const int64_t k = 2 * f.unit, outputs = 45;
    const Tensor w = packed_weights(type, outputs, k, 21);
    for (const DType dtype : {DType::kI32, DType::kI64}) {
      Tensor indices = Tensor(dtype, {2, 3}).values({0, 44, -1, 31, 32, -45});
      Case c{
          "gather",    OpCode::kBlockGather, &t, {w, indices}, {Tensor(DType::kF32, {2, 3, k}, 5)},
          {1e-6, 1e-7}};
      run_case(c);
      for (const double bad : {45.0, -46.0}) {
        c.inputs[1] = Tensor(dtype, {2, 3}).values({0, 1, bad, 3, 4, 5});
        run_failing_case(c, Code::kBadIndexValue);
      }
    }
  }
}

namespace {

/// f32 [outputs, k] as panels.
Tensor f32_panels(int64_t outputs, int64_t k, uint32_t seed) {
  const Tensor dense = Tensor(DType::kF32, {outputs, k}).random(seed);
  std::vector<float> numbers;
  for (int64_t i = 0; i < outputs * k; i++) numbers.push_back(float(dense.at(i)));
  const std::vector<float> panels = pack_panels16(numbers, outputs, k);
  Tensor w(DType::kF32, {outputs, k}, 0, Packing::kPanels16);
  if (!panels.empty()) std::memcpy(w.view().data, panels.data(), panels.size() * sizeof(float));
  return w;
}

struct Groups {
  const char* name;
  int64_t rows, k, outputs;  // k in units where weights are in blocks
  std::vector<double> ends;
  int64_t padding = 0;
};
const Groups kGroups[] = {
    {"empty experts at both ends and between", 9, 3, 37, {0, 4, 4, 9, 9}},
    {"all rows in one", 17, 2, 64, {0, 17, 17}, 5},
    {"one row", 1, 2, 33, {0, 0, 1, 1}},
    {"a row each", 3, 1, 16, {1, 2, 3}},
    {"rows of none", 8, 2, 20, {3, 3, 6}, 3},
    {"none has rows", 4, 1, 5, {0, 0}},
    {"many rows, an odd split", 131, 1, 50, {70, 71, 130, 131}},
    {"long rows", 5, 11, 40, {2, 5}},
    {"one expert", 6, 2, 32, {6}},
    {"no experts", 3, 2, 0, {}},
    {"no rows", 0, 2, 18, {0, 0, 0}},
    {"no outputs", 3, 2, 0, {1, 3}},
    {"k of zero", 3, 0, 18, {1, 3}},
};

}  // namespace

TEST_CASE("grouped_linear: groups of f32 and of every type of block") {
  uint32_t seed = 11;
  for (const Groups& g : kGroups)
    for (int type = -1; type < kBlockTypes; type++) {
      GroupedLinearAttributes t;
      const bool blocks = type >= 0;
      if (blocks) t.type = BlockType(type);
      const int64_t k = g.k * (blocks ? block_format(t.type).unit : 65),
                    experts = int64_t(g.ends.size()),
                    all = experts * round_up(g.outputs, blocks ? 32 : 16);
      Tensor x = Tensor(DType::kF32, {g.rows, k}, blocks ? 0 : g.padding).random(++seed);
      const DType dtype = seed % 2 ? DType::kI32 : DType::kI64;
      Case c{std::string(g.name) + ", type " + std::to_string(type),
             OpCode::kGroupedLinear,
             &t,
             {blocks ? quantized(t.type, x) : x,
              blocks ? packed_weights(t.type, all, k, seed) : f32_panels(all, k, seed),
              Tensor(dtype, {experts}).values(g.ends)},
             {Tensor(DType::kF32, {g.rows, g.outputs}, g.padding)},
             {5e-5, 2e-4}};
      run_case(c);
    }
}

TEST_CASE("grouped_linear: a group has the bits of Linear and of BlockLinear") {
  const int64_t rows = 7, outputs = 48;
  for (const bool blocks : {false, true}) {
    const BlockType type = BlockType::kQ4_1;
    const int64_t k = 128;
    const Tensor x = Tensor(DType::kF32, {rows, k}).random(4), q = quantized(type, x),
                 w = blocks ? packed_weights(type, 128, k, 5) : f32_panels(96, k, 5);
    Tensor y(DType::kF32, {rows, outputs}), second(DType::kF32, {rows, outputs});
    const GroupedLinearAttributes t = {type};
    run_once(*cpu_kernels("scalar"), OpCode::kGroupedLinear, &t,
             {(blocks ? q : x).view(), w.view(), Tensor(DType::kI32, {2}).values({0, 7}).view()},
             y.view());
    // the panels of the second expert alone
    TensorView own = w.view();
    own.dims[0] = outputs;
    own.data = own.as<char>() + (blocks ? 64 * w.view().dims[1] : 48 * k * 4);
    const BlockLinearAttributes b = {type};
    const LinearAttributes l;
    run_once(*cpu_kernels("scalar"), blocks ? OpCode::kBlockLinear : OpCode::kLinear,
             blocks ? static_cast<const void*>(&b) : &l, {(blocks ? q : x).view(), own},
             second.view());
    int64_t first = 0;
    CHECK(y.same_bits(second, &first));
  }
}

TEST_CASE("grouped_linear: ends that fall or lie outside read nothing") {
  const GroupedLinearAttributes t;
  for (const DType dtype : {DType::kI32, DType::kI64})
    for (const std::vector<double>& ends : std::vector<std::vector<double>>{{3, 2, 5},
                                                                            {-1, 2, 5},
                                                                            {1, 2, 6},
                                                                            {9, 9, 9},
                                                                            {1, 2147483647, 5},
                                                                            {0, -2147483647, 0}}) {
      Case c{"bad ends",
             OpCode::kGroupedLinear,
             &t,
             {Tensor(DType::kF32, {5, 20}).random(1), f32_panels(3 * 32, 20, 2),
              Tensor(dtype, {3}).values(ends)},
             {Tensor(DType::kF32, {5, 18})}};
      run_failing_case(c, Code::kBadIndexValue);
      c.inputs[0] = quantized(t.type, Tensor(DType::kF32, {5, 64}).random(1));
      c.inputs[1] = packed_weights(t.type, 3 * 32, 64, 2);
      run_failing_case(c, Code::kBadIndexValue);
    }
}

TEST_CASE("block_linear: packing keeps the bits") {
  for (const BlockType type : kTypes) {
    const BlockFormat f = block_format(type);
    CHECK(f.header_bytes() % 32 == 0);
    for (const int64_t outputs : {0, 1, 32, 51}) {
      const int64_t k = 3 * f.unit, row = block_weights::weight_row_bytes(f, k);
      std::vector<uint8_t> rows = random_rows(type, outputs, k, 77);
      const std::vector<uint8_t> panels = pack_blocks32(type, rows, outputs, row);
      CHECK(panels.size() == size_t(round_up(outputs, 32) * row));
      CHECK(unpack_blocks32(type, panels, outputs, row) == rows);
    }
  }
}

TEST_CASE("block_linear: the contracts refuse") {
  BlockLinearAttributes t = {BlockType::kQ4_0};
  const auto u8 = [](Dims dims) { return Tensor(DType::kU8, std::move(dims)); };
  const auto f32 = [](Dims dims) { return Tensor(DType::kF32, std::move(dims)); };
  const auto blocks = [](Dims dims) {
    return Tensor(DType::kU8, std::move(dims), 0, Packing::kBlocks32);
  };
  const auto rule = [&](std::vector<Tensor> inputs, const Tensor& y) {
    return refusal({"refused", OpCode::kBlockLinear, &t, std::move(inputs), {y}});
  };
  // k = 64: 80 bytes of a row
  CHECK(rule({u8({2, 79}), blocks({5, 36})}, f32({2, 5})) == "a row of x is what the weights take");
  CHECK(rule({u8({2, 80}), blocks({5, 37})}, f32({2, 5})) == "a row of weights has whole blocks");
  CHECK(rule({u8({2, 80}), u8({5, 36})}, f32({2, 5})) == "weights are u8 in blocks32");
  CHECK(rule({u8({2, 80}), blocks({5, 36})}, f32({2, 6})) == "y has the rows of x");
  CHECK(rule({u8({2, 80}), blocks({5, 36})}, f32({2, 1, 5})) == "y has the rows of x");
  CHECK(rule({f32({2, 80}), blocks({5, 36})}, f32({2, 5})) == "operand has the type of its place");
  CHECK(rule({u8({2, 80}), blocks({5, 36}), f32({6})}, f32({2, 5})) == "a bias is [O]");
  CHECK(rule({u8({2, 80}), blocks({5, 36}), Tensor(), f32({2, 4})}, f32({2, 5})) ==
        "same dimensions");
  CHECK(rule({u8({}), blocks({5, 0})}, f32({})) == "a row of x is what the weights take");
  t.type = BlockType(kBlockTypes);
  CHECK(rule({u8({2, 80}), blocks({5, 36})}, f32({2, 5})) == "the type of blocks is known");
  t.type = BlockType::kF16;
  CHECK(rule({u8({2, 64}), blocks({5, 128})}, f32({2, 5})) == "operand has the type of its place");
  CHECK(rule({f32({2, 63}), blocks({5, 128})}, f32({2, 5})) ==
        "a row of x is what the weights take");
  CHECK(rule({f32({2, 64}), blocks({5, 127})}, f32({2, 5})) == "a row of weights has whole blocks");
  BlockQuantizeAttributes q = {BlockType::kQ4_K};
  const auto quantize_rule = [&](const Tensor& x, const Tensor& y) {
    return refusal({"refused", OpCode::kBlockQuantize, &q, {x}, {y}});
  };
  CHECK(quantize_rule(f32({2, 255}), u8({2, 300})) == "a row of x has whole blocks");
  CHECK(quantize_rule(f32({2, 256}), u8({2, 291})) == "y has the rows of x");
  CHECK(quantize_rule(f32({}), u8({})) == "a row of x has whole blocks");
  q.type = BlockType::kBF16;
  CHECK(quantize_rule(f32({2, 32}), u8({2, 40})) == "f16 and bf16 take what is not quantized");
  BlockGatherAttributes g = {BlockType::kQ8_0};
  const auto gather_rule = [&](const Tensor& w, const Tensor& i, const Tensor& y) {
    return refusal({"refused", OpCode::kBlockGather, &g, {w, i}, {y}});
  };
  const Tensor i = Tensor(DType::kI32, {3});
  CHECK(gather_rule(blocks({5, 34}), i, f32({3, 33})) == "y is [indices.., K]");
  CHECK(gather_rule(blocks({5, 34}), i, f32({32})) == "y is [indices.., K]");
  CHECK(gather_rule(blocks({5, 34}), f32({3}), f32({3, 32})) == "indices are i32 or i64");
  CHECK(gather_rule(blocks({5, 33}), i, f32({3, 32})) == "a row of weights has whole blocks");
}

TEST_CASE("grouped_linear: the contract refuses") {
  GroupedLinearAttributes t;
  const auto f32 = [](Dims dims) { return Tensor(DType::kF32, std::move(dims)); };
  const auto u8 = [](Dims dims) { return Tensor(DType::kU8, std::move(dims)); };
  const auto panels = [](Dims dims) {
    return Tensor(DType::kF32, std::move(dims), 0, Packing::kPanels16);
  };
  const auto blocks = [](Dims dims) {
    return Tensor(DType::kU8, std::move(dims), 0, Packing::kBlocks32);
  };
  const Tensor ends(DType::kI32, {3});
  const auto rule = [&](const Tensor& x, const Tensor& w, const Tensor& e, const Tensor& y) {
    return refusal({"refused", OpCode::kGroupedLinear, &t, {x, w, e}, {y}});
  };
  CHECK(rule(f32({5, 8}), f32({48, 8}), ends, f32({5, 9})) == "weights are panels of all experts");
  CHECK(rule(f32({5, 8}), panels({48, 8, 1}), ends, f32({5, 9})) ==
        "weights are panels of all experts");
  CHECK(rule(f32({5, 8}), panels({47, 8}), ends, f32({5, 9})) == "every expert has whole panels");
  CHECK(rule(f32({5, 8}), panels({48, 8}), ends, f32({5, 17})) == "every expert has whole panels");
  CHECK(rule(f32({5, 8}), panels({48, 9}), ends, f32({5, 9})) ==
        "a row of x has what weights take");
  CHECK(rule(f32({5, 8}), panels({48, 8}), ends, f32({4, 9})) == "y has the rows of x");
  CHECK(rule(f32({5, 1, 8}), panels({48, 8}), ends, f32({5, 9})) == "grouped_linear takes rows");
  CHECK(rule(u8({5, 8}), panels({48, 8}), ends, f32({5, 9})) ==
        "operand has the type of its place");
  CHECK(rule(f32({5, 8}), panels({48, 8}), f32({3}), f32({5, 9})) == "ends are i32 or i64");
  CHECK(rule(f32({5, 8}), panels({48, 8}), Tensor(DType::kI32, {3, 1}), f32({5, 9})) ==
        "ends are a row");
  // k = 64 of q4_0: 36 bytes of weights, 80 of x
  CHECK(rule(u8({5, 80}), blocks({96, 37}), ends, f32({5, 9})) ==
        "a row of weights has whole blocks");
  CHECK(rule(u8({5, 79}), blocks({96, 36}), ends, f32({5, 9})) ==
        "a row of x has what weights take");
  CHECK(rule(u8({5, 80}), blocks({48, 36}), ends, f32({5, 9})) == "every expert has whole panels");
  t.type = BlockType(kBlockTypes);
  CHECK(rule(u8({5, 80}), blocks({96, 36}), ends, f32({5, 9})) == "the type of blocks is known");
}
