// SPDX-License-Identifier: Apache-2.0
// Attention as exporters spell it; what nearly is one; projections of one input as one product.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tests/support/graph_builder.h"

using namespace ingot;
using namespace ingot::test;
using Integers = std::vector<int64_t>;
using passes::PassRecord;

namespace {

constexpr int64_t kBatch = 2, kTokens = 5, kHeads = 3, kDim = 4, kWidth = kHeads * kDim;

/// Parts of one attention; each may be spelled another way.
struct Spelling {
  GraphBuilder g;
  ValueId x = g.input("x", {kBatch, kTokens, kWidth});
  int64_t kv_heads = kHeads;

  ValueId linear(ValueId v, int64_t in, int64_t out) {
    return g.node(op::Add, {g.node(op::MatMul, {v, g.weights({in, out})}), g.weights({out})});
  }
  ValueId split(ValueId v, int64_t heads) {
    return g.node(op::Reshape, {v}, {}, {kBatch, kTokens, heads, kDim});
  }
  ValueId heads(ValueId v, Integers perm, int64_t count = kHeads) {
    return g.node(op::Transpose, {split(v, count)}, {{attr::perm, std::move(perm)}});
  }
  /// Truth for two keys of three, or for the third.
  ValueId truths(const Dimensions& dims, bool two_of_three) {
    const ValueId id = g.input("m", dims, DType::kBool);
    std::vector<double>& all = g.input_tensor("m").at;
    for (size_t i = 0; i < all.size(); i++) all[i] = (i % 3 != 0) == two_of_three;
    return id;
  }
  ValueId softmax(ValueId s) { return g.node(op::Softmax, {s}, {{attr::axis, int64_t(3)}}); }
  ValueId join(ValueId y) {
    return g.node(op::Reshape, {g.node(op::Transpose, {y}, {{attr::perm, Integers{0, 2, 1, 3}}})},
                  {}, {kBatch, kTokens, kWidth});
  }

  ValueId q() { return heads(linear(x, kWidth, kWidth), {0, 2, 1, 3}); }
  ValueId k_turned() { return heads(linear(x, kWidth, kv_heads * kDim), {0, 2, 3, 1}, kv_heads); }
  ValueId v() { return heads(linear(x, kWidth, kv_heads * kDim), {0, 2, 1, 3}, kv_heads); }
};

/// Converts, compares in double, and gives the pass's remarks.
std::vector<std::string> convert_checked(GraphBuilder& g) {
  double worst = INFINITY;
  const std::vector<PassRecord> records = convert_and_compare(g, worst);
  CHECK(worst <= 1e-5);
  for (const PassRecord& r : records)
    if (r.name == "recognize attention") return r.remarks;
  return {};
}

/// One Attention over slices of one product, and nothing else that moves.
const graph::Node* fused(GraphBuilder& g, size_t others = 0) {
  convert_checked(g);
  CAPTURE(g.listing());
  CHECK(g.count("Transpose") == 0);
  CHECK(g.count("Softmax") == 0);
  CHECK(g.count("MatMul") == 0);
  REQUIRE(g.count("Attention") == 1);
  CHECK(g.model.graph.nodes.size() <= 6 + others);
  return g.find("Attention");
}

}  // namespace

TEST_CASE("recognize attention: the scale before, behind and within the product") {
  const std::function<ValueId(Spelling&)> scores[] = {
      [](Spelling& s) {
        return s.g.node(op::Div, {s.g.node(op::MatMul, {s.q(), s.k_turned()}), s.g.number(2)});
      },
      [](Spelling& s) {
        return s.g.node(op::Mul, {s.g.number(0.5), s.g.node(op::MatMul, {s.q(), s.k_turned()})});
      },
      [](Spelling& s) {
        return s.g.node(op::MatMul, {s.g.node(op::Mul, {s.q(), s.g.number(0.5)}), s.k_turned()});
      },
      [](Spelling& s) {  // scaled_dot_product_attention: the root of the scale on either side
        const double root = std::sqrt(0.5);
        return s.g.node(op::MatMul, {s.g.node(op::Mul, {s.q(), s.g.number(root)}),
                                     s.g.node(op::Mul, {s.k_turned(), s.g.number(root)})});
      },
      [](Spelling& s) {  // keys as heads first, then turned
        const ValueId k = s.heads(s.linear(s.x, kWidth, kWidth), {0, 2, 1, 3});
        return s.g.node(op::MatMul,
                        {s.g.node(op::Div, {s.q(), s.g.number(2)}),
                         s.g.node(op::Transpose, {k}, {{attr::perm, Integers{0, 1, 3, 2}}})});
      }};
  for (const auto& make : scores) {
    Spelling s;
    s.g.output(s.join(s.g.node(op::MatMul, {s.softmax(make(s)), s.v()})));
    const graph::Node* node = fused(s.g);
    CHECK(node->number(attr::scale, 1) == doctest::Approx(0.5));
    CHECK(node->integer(attr::heads, 0) == kHeads);
    CHECK(s.g.count("Linear") == 1);
    CHECK(s.g.count("Slice") == 3);
    CHECK(s.g.find("Linear")->inputs.size() == 3);
  }
}

TEST_CASE("recognize attention: masks that are added or chosen, of floats and of truth") {
  struct Mask {
    const char* name;
    std::function<ValueId(Spelling&, ValueId)> put;
    size_t operands;
    const char* causal;
  };
  const Mask masks[] = {
      {"none", [](Spelling&, ValueId s) { return s; }, 3, "none"},
      {"padding",
       [](Spelling& s, ValueId x) {
         return s.g.node(op::Add, {x, s.g.input("m", {kBatch, 1, 1, kTokens})});
       },
       4, "none"},
      {"in front",
       [](Spelling& s, ValueId x) {
         return s.g.node(op::Add, {s.g.input("m", {kTokens, kTokens}), x});
       },
       4, "none"},
      {"where seen",
       [](Spelling& s, ValueId x) {
         return s.g.node(op::Where, {s.truths({kBatch, 1, 1, kTokens}, true), x, s.g.number(-3e38)},
                         {}, {}, DType::kF32);
       },
       4, "none"},
      {"where hidden",
       [](Spelling& s, ValueId x) {
         return s.g.node(op::Where, {s.truths({kTokens, kTokens}, false), s.g.number(-INFINITY), x},
                         {}, {}, DType::kF32);
       },
       4, "none"},
      {"two of them",
       [](Spelling& s, ValueId x) {
         x = s.g.node(op::Add, {x, s.g.input("bias", {kHeads, kTokens, kTokens})});
         return s.g.node(op::Add, {x, s.g.input("m", {kBatch, 1, 1, kTokens})});
       },
       4, "none"},
      {"causal",
       [](Spelling& s, ValueId x) {
         std::vector<double> all;
         for (int64_t i = 0; i < kTokens; i++)
           for (int64_t j = 0; j < kTokens; j++) all.push_back(j <= i ? 0 : -INFINITY);
         return s.g.node(op::Add, {x, s.g.constant({1, 1, kTokens, kTokens}, all)});
       },
       3, "top_left"},
      {"nearly causal",
       [](Spelling& s, ValueId x) {
         std::vector<double> all;
         for (int64_t i = 0; i < kTokens; i++)
           for (int64_t j = 0; j < kTokens; j++) all.push_back(j <= i + (i == 2) ? 0 : -INFINITY);
         return s.g.node(op::Add, {x, s.g.constant({1, 1, kTokens, kTokens}, all)});
       },
       4, "none"},
  };
  for (const Mask& m : masks) {
    CAPTURE(m.name);
    Spelling s;
    const ValueId scores =
        m.put(s, s.g.node(op::Div, {s.g.node(op::MatMul, {s.q(), s.k_turned()}), s.g.number(2)}));
    s.g.output(s.join(s.g.node(op::MatMul, {s.softmax(scores), s.v()})));
    const graph::Node* node = fused(s.g, 2);
    CHECK(node->inputs.size() == m.operands);
    CHECK(node->text(attr::causal, "none") == m.causal);
  }
}

TEST_CASE(
    "recognize attention: rows that see nothing, softcap, groups of heads, one product for all "
    "three") {
  SUBCASE("a softmax made safe against rows that see nothing") {
    Spelling s;
    const ValueId p = s.softmax(s.g.node(op::MatMul, {s.q(), s.k_turned()}));
    const ValueId nan = s.g.node(op::IsNaN, {p}, {}, {}, DType::kBool);
    const ValueId safe = s.g.node(op::Where, {nan, s.g.number(0), p}, {}, {}, DType::kF32);
    s.g.output(s.join(s.g.node(op::MatMul, {safe, s.v()})));
    fused(s.g);
  }
  SUBCASE("scores limited by tanh") {
    Spelling s;
    ValueId x = s.g.node(op::Div, {s.g.node(op::MatMul, {s.q(), s.k_turned()}), s.g.number(2)});
    x = s.g.node(op::Mul,
                 {s.g.node(op::Tanh, {s.g.node(op::Div, {x, s.g.number(5)})}), s.g.number(5)});
    x = s.g.node(op::Add, {x, s.g.input("m", {kTokens, kTokens})});
    s.g.output(s.join(s.g.node(op::MatMul, {s.softmax(x), s.v()})));
    const graph::Node* node = fused(s.g);
    CHECK(node->number(attr::softcap, 0) == 5);
    CHECK(node->number(attr::scale, 0) == 0.5);
  }
  SUBCASE("key heads repeated for their query heads") {
    Spelling s;
    s.kv_heads = 1;
    const auto repeat = [&](ValueId x) {
      x = s.g.node(op::Reshape, {x}, {}, {kBatch, 1, 1, kTokens, kDim});
      x = s.g.node(op::Expand, {x}, {}, {kBatch, 1, kHeads, kTokens, kDim});
      return s.g.node(op::Reshape, {x}, {}, {kBatch, kHeads, kTokens, kDim});
    };
    const ValueId k = repeat(s.heads(s.linear(s.x, kWidth, kDim), {0, 2, 1, 3}, 1)),
                  v = repeat(s.v());
    const ValueId scores = s.g.node(
        op::MatMul, {s.q(), s.g.node(op::Transpose, {k}, {{attr::perm, Integers{0, 1, 3, 2}}})});
    s.g.output(s.join(s.g.node(op::MatMul, {s.softmax(scores), v})));
    const graph::Node* node = fused(s.g);
    CHECK(node->integer(attr::kv_heads, 0) == 1);
    CHECK(node->integer(attr::heads, 0) == kHeads);
  }
  SUBCASE("one head of keys for all") {
    Spelling s;
    s.kv_heads = 1;
    s.g.output(s.join(
        s.g.node(op::MatMul, {s.softmax(s.g.node(op::MatMul, {s.q(), s.k_turned()})), s.v()})));
    CHECK(fused(s.g)->integer(attr::kv_heads, 0) == 1);
  }
  SUBCASE("timm: [B, T, 3, heads, D] in one product, parts gathered") {
    Spelling s;
    ValueId all = s.g.node(op::Reshape, {s.linear(s.x, kWidth, 3 * kWidth)}, {},
                           {kBatch, kTokens, 3, kHeads, kDim});
    all = s.g.node(op::Transpose, {all}, {{attr::perm, Integers{2, 0, 3, 1, 4}}});
    const auto part = [&](int64_t i) {
      return s.g.node(op::Gather, {all, s.g.indices({}, {i})}, {{attr::axis, int64_t(0)}});
    };
    const ValueId q = s.g.node(op::Mul, {part(0), s.g.number(0.5)});
    const ValueId k = s.g.node(op::Transpose, {part(1)}, {{attr::perm, Integers{0, 1, 3, 2}}});
    s.g.output(s.join(s.g.node(op::MatMul, {s.softmax(s.g.node(op::MatMul, {q, k})), part(2)})));
    const graph::Node* node = fused(s.g);
    CHECK(s.g.count("Slice") == 3);
    CHECK(s.g.count("Linear") == 1);
    CHECK(node->number(attr::scale, 0) == 0.5);
  }
  SUBCASE("heads as a batch of matrices, as torch.nn.MultiheadAttention has them") {
    Spelling s;
    const ValueId x = s.g.input("tokens", {kTokens, 1, kWidth});
    const auto heads = [&] {
      const ValueId y =
          s.g.node(op::Reshape, {s.linear(x, kWidth, kWidth)}, {}, {kTokens, kHeads, kDim});
      return s.g.node(op::Transpose, {y}, {{attr::perm, Integers{1, 0, 2}}});
    };
    const ValueId q = heads(),
                  k = s.g.node(op::Transpose, {heads()}, {{attr::perm, Integers{0, 2, 1}}});
    const ValueId scores =
        s.g.node(op::Add, {s.g.node(op::MatMul, {q, k}), s.g.input("m", {1, kTokens, kTokens})});
    const ValueId p = s.g.node(op::Softmax, {scores}, {{attr::axis, int64_t(2)}});
    const ValueId y = s.g.node(op::Transpose, {s.g.node(op::MatMul, {p, heads()})},
                               {{attr::perm, Integers{1, 0, 2}}});
    s.g.output(s.g.node(op::Reshape, {y}, {}, {kTokens, 1, kWidth}));
    CHECK(fused(s.g, 4)->integer(attr::heads, 0) == kHeads);
  }
}

TEST_CASE("recognize attention: rows that see nothing give what the source gives") {
  constexpr double kNever = -INFINITY, kLowest = -3.4028234663852886e38;
  // m: the third query sees no key, the first only one behind it.
  const auto seen = [](Spelling& s) {
    const ValueId id = s.g.input("m", {kBatch, 1, kTokens, kTokens}, DType::kBool);
    std::vector<double>& all = s.g.input_tensor("m").at;
    for (size_t i = 0; i < all.size(); i++) {
      const size_t query = i / kTokens % kTokens, key = i % kTokens;
      all[i] = query == 2 ? 0 : query == 0 ? key == 3 : (i % 3 != 0);
    }
    return id;
  };
  const auto chosen = [](Spelling& s, ValueId mask, ValueId x, double number) {
    return s.g.node(op::Where, {mask, x, s.g.number(number)}, {}, {}, DType::kF32);
  };
  const auto added = [&](Spelling& s, ValueId x, double number) {
    return s.g.node(op::Add, {x, chosen(s, seen(s), s.g.number(0), number)});
  };
  const auto causal = [](Spelling& s, ValueId x, double number) {
    std::vector<double> all;
    for (int64_t i = 0; i < kTokens; i++)
      for (int64_t j = 0; j < kTokens; j++) all.push_back(j <= i ? 0 : number);
    return s.g.node(op::Add, {x, s.g.constant({1, 1, kTokens, kTokens}, all)});
  };
  struct Row {
    const char *name, *empty_rows, *order;
    std::function<ValueId(Spelling&, ValueId)> put;
  };
  const Row rows[] = {
      {"chosen, minus infinity", "nan", "none",
       [&](Spelling& s, ValueId x) { return chosen(s, seen(s), x, kNever); }},
      {"chosen, -1e9", "mean", "none",
       [&](Spelling& s, ValueId x) { return chosen(s, seen(s), x, -1e9); }},
      {"added, minus infinity", "nan", "none",
       [&](Spelling& s, ValueId x) { return added(s, x, kNever); }},
      {"added, the lowest", "nan", "none",
       [&](Spelling& s, ValueId x) { return added(s, x, kLowest); }},
      {"causal alone, the lowest", "zero", "top_left",
       [&](Spelling& s, ValueId x) { return causal(s, x, kLowest); }},
      {"causal, the lowest, then chosen", "nan", "none",
       [&](Spelling& s, ValueId x) { return chosen(s, seen(s), causal(s, x, kLowest), kLowest); }},
      {"causal, the lowest, then added", "nan", "none",
       [&](Spelling& s, ValueId x) { return added(s, causal(s, x, -1e30), -1e30); }},
      {"causal for ever, then chosen, the lowest", "nan", "none",
       [&](Spelling& s, ValueId x) { return chosen(s, seen(s), causal(s, x, kNever), kLowest); }},
      {"chosen, the lowest, then causal for ever", "mean", "top_left",
       [&](Spelling& s, ValueId x) { return causal(s, chosen(s, seen(s), x, kLowest), kNever); }},
      {"both for ever", "nan", "top_left",
       [&](Spelling& s, ValueId x) { return chosen(s, seen(s), causal(s, x, kNever), kNever); }},
  };
  for (const Row& row : rows)
    for (const bool safe : {false, true}) {
      CAPTURE(row.name);
      CAPTURE(safe);
      Spelling s;
      ValueId p = s.softmax(row.put(
          s, s.g.node(op::Div, {s.g.node(op::MatMul, {s.q(), s.k_turned()}), s.g.number(2)})));
      if (safe)
        p = s.g.node(op::Where, {s.g.node(op::IsNaN, {p}, {}, {}, DType::kBool), s.g.number(0), p},
                     {}, {}, DType::kF32);
      s.g.output(s.join(s.g.node(op::MatMul, {p, s.v()})));
      convert_checked(s.g);
      REQUIRE(s.g.count("Attention") == 1);
      const graph::Node* node = s.g.find("Attention");
      const std::string expected = row.empty_rows;
      CHECK(node->text(attr::empty_rows, "zero") ==
            (safe && expected == "nan" ? "zero" : expected));
      CHECK(node->text(attr::causal, "none") == row.order);
    }
}

TEST_CASE("recognize attention: what is nearly one stays as it is and says why") {
  struct Near {
    const char* why;
    std::function<void(Spelling&)> make;
  };
  const auto finish = [](Spelling& s, ValueId scores) {
    s.g.output(s.join(s.g.node(op::MatMul, {s.softmax(scores), s.v()})));
  };
  const auto product = [](Spelling& s) { return s.g.node(op::MatMul, {s.q(), s.k_turned()}); };
  const Near nears[] = {
      {"its probabilities are read by others as well",
       [&](Spelling& s) {
         const ValueId p = s.softmax(product(s));
         s.g.output(p);
         s.g.output(s.join(s.g.node(op::MatMul, {p, s.v()})));
       }},
      {"the scores are read by others as well",
       [&](Spelling& s) {
         const ValueId scores = product(s);
         s.g.output(s.g.node(op::Neg, {scores}));
         finish(s, scores);
       }},
      {"its scores are scaled after a mask was added",
       [&](Spelling& s) {
         const ValueId masked = s.g.node(op::Add, {product(s), s.g.input("m", {kTokens, kTokens})});
         finish(s, s.g.node(op::Mul, {masked, s.g.number(0.5)}));
       }},
      {"its scores are scaled after they were capped",
       [&](Spelling& s) {
         const ValueId cap = s.g.node(op::Tanh, {s.g.node(op::Div, {product(s), s.g.number(5)})});
         finish(s, s.g.node(op::Div, {s.g.node(op::Mul, {cap, s.g.number(5)}), s.g.number(3)}));
       }},
      {"masked scores become a number above -1e9",
       [&](Spelling& s) {
         const ValueId m = s.g.input("m", {kTokens, kTokens}, DType::kBool);
         finish(s, s.g.node(op::Where, {m, product(s), s.g.number(-5)}, {}, {}, DType::kF32));
       }},
      {"between the product and the softmax stands Elementwise 'Abs",
       [&](Spelling& s) { finish(s, s.g.node(op::Abs, {product(s)})); }},
      {"its operands have different batches",
       [&](Spelling& s) {
         const ValueId k = s.g.input("keys", {1, kHeads, kDim, kTokens});
         finish(s, s.g.node(op::MatMul, {s.q(), k}));
       }},
  };
  for (const Near& near : nears) {
    CAPTURE(near.why);
    Spelling s;
    near.make(s);
    const std::vector<std::string> remarks = convert_checked(s.g);
    CHECK(s.g.count("Attention") == 0);
    CHECK(s.g.count("Softmax") == 1);
    REQUIRE(remarks.size() == 1);
    CAPTURE(remarks[0]);
    CHECK(remarks[0].find(near.why) != std::string::npos);
  }
}

TEST_CASE("recognize attention: a softmax without products around it is none of its business") {
  GraphBuilder g;
  g.output(g.node(op::Softmax, {g.node(op::MatMul, {g.input("x", {2, 3}), g.input("y", {3, 4})})},
                  {{attr::axis, int64_t(1)}}));
  CHECK(convert_checked(g).empty());
  CHECK(g.count("Softmax") == 1);
}

TEST_CASE("recognize attention: heads that are no rows stay four-dimensional") {
  Spelling s;
  const ValueId k = s.g.input("past", {kBatch, kHeads, 7, kDim}),
                v = s.g.input("values", {kBatch, kHeads, 7, kDim});
  const ValueId scores = s.g.node(
      op::MatMul, {s.q(), s.g.node(op::Transpose, {k}, {{attr::perm, Integers{0, 1, 3, 2}}})});
  s.g.output(s.join(s.g.node(op::MatMul, {s.softmax(scores), v})));
  const graph::Node* node = fused(s.g);
  CHECK(s.g.model.values[size_t(node->inputs[0])].dims.size() == 3);
  CHECK(s.g.model.values[size_t(node->inputs[1])].dims.size() == 4);
}
