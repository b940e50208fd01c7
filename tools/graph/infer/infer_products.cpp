// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_products.cpp - running products, determinants, gated units, counts of
// n-grams: operators that are a few steps of others.
#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;
constexpr int64_t kMaxProductLength = int64_t(1) << 30;  // of a running product
constexpr int64_t kMaxDeterminant = 4;  // rows; the expansion has as many terms as its faculty

/// x moved by `by` along an axis, 1 in front.
ValueId delayed(NodeContext& context, ValueId x, int64_t axis, int64_t by) {
  const Dims dims = context.run().value(x).dims;
  Dims pads(dims.size() * 2, Dim(0));
  pads[size_t(axis)] = Dim(by);
  const ValueId padded =
      context.make(op::Pad, {x},
                   {{attr::pads, pads}, {attr::mode, std::string("constant")}, {attr::value, 1.0}});
  return context.make(op::Slice, {padded},
                      {{attr::starts, Dims{Dim(0)}},
                       {attr::ends, Dims{dims[size_t(axis)]}},
                       {attr::axes, Integers{axis}}});
}
ValueId turned(NodeContext& context, ValueId x, int64_t axis) {
  return context.make(op::Slice, {x},
                      {{attr::starts, Dims{Dim(-1)}},
                       {attr::ends, Dims{Dim(-(int64_t(1) << 40))}},
                       {attr::axes, Integers{axis}},
                       {attr::steps, Integers{-1}}});
}

/// In as many steps as the length has binary digits (Hillis and Steele 1986).
void running_product(NodeContext& context) {
  const auto given = context.integers(attr::axis, 1);
  if (!given || given->size() != 1) context.corrupt("its axis must be one constant number");
  const int64_t axis = context.axis((*given)[0], context.rank(0));
  const Dim length = context.dims(0)[size_t(axis)];
  const auto most = upper_bound(length);
  if (!most || *most > kMaxProductLength)
    context.refuse("axis", "its dimension " + length.text() + " has no bound",
                   "give one: --dim '" + length.text() + "=1..HIGH'");
  const bool backwards = context.node.integer(attr::reverse, 0) != 0;
  ValueId x = backwards ? turned(context, context.in(0), axis) : context.in(0);
  if (context.node.integer(attr::exclusive, 0) != 0) x = delayed(context, x, axis, 1);
  for (int64_t step = 1; step < *most; step *= 2)
    x = context.make(op::Mul, {x, delayed(context, x, axis, step)});
  context.same(0, backwards ? turned(context, x, axis) : x);
}

/// Laplace's expansion along the first of `rows` on.
ValueId minor(NodeContext& context, ValueId x, size_t row, const Integers& columns) {
  const auto element = [&](int64_t column) {
    const int64_t last = int64_t(context.run().value(x).dims.size()) - 1;
    const ValueId one_row = context.make(op::Gather, {x, context.scalar(DType::kI64, double(row))},
                                         {{attr::axis, last - 1}});
    return context.make(op::Gather, {one_row, context.scalar(DType::kI64, double(column))},
                        {{attr::axis, last - 1}});
  };
  if (columns.size() == 1) return element(columns[0]);
  ValueId sum = kAbsent;
  for (size_t i = 0; i < columns.size(); i++) {
    Integers others = columns;
    others.erase(others.begin() + int64_t(i));
    const ValueId term =
        context.make(op::Mul, {element(columns[i]), minor(context, x, row + 1, others)});
    sum = sum == kAbsent ? term : context.make(i % 2 == 0 ? op::Add : op::Sub, {sum, term});
  }
  return sum;
}
void determinant(NodeContext& context) {
  const Dims in = context.dims(0);
  const auto n = in.size() < 2 ? std::nullopt : in.back().value();
  if (!n || in[in.size() - 2] != in.back())
    context.corrupt("its input has shape " + text(in) + ", expected [..., M, M]");
  if (*n < 1 || *n > kMaxDeterminant)
    context.refuse("", "determinants of " + std::to_string(*n) + " rows; built are 1 to " +
                           std::to_string(kMaxDeterminant));
  Integers columns;
  for (int64_t i = 0; i < *n; i++) columns.push_back(i);
  context.same(0, minor(context, context.in(0), 0, columns));
}

/// swish(a) b, where swish(a) = a sigmoid(alpha a).
void swish_gate(NodeContext& context) {
  if (context.dims(0) != context.dims(1))
    context.corrupt("its operands are " + text(context.dims(0)) + " and " + text(context.dims(1)) +
                    ", expected one shape");
  const ValueId gate = context.make(op::Swish, {context.in(0)},
                                    {{attr::alpha, context.node.number(attr::alpha, 1)}});
  context.finish(op::Mul, {gate, context.in(1)});
}

/// How often each n-gram of a pool occurs in the rows of x, with at most `max_skip_count` left out
/// between two of its words.
class GramCounter {
 public:
  explicit GramCounter(NodeContext& s) : context(s) {}

  void run() {
    const Node& node = context.node;
    const Integers pool = node.integers(attr::pool_int64s),
                   starts = node.integers(attr::ngram_counts),
                   columns = node.integers(attr::ngram_indexes);
    const int64_t least = node.integer(attr::min_gram_length, 0),
                  most = node.integer(attr::max_gram_length, 0),
                  skips = node.integer(attr::max_skip_count, 0);
    if (pool.empty()) context.refuse("pool_strings", "text tensors are not supported");
    if (least < 1 || most < least || most > 64 || skips < 0 || skips > 1024 ||
        int64_t(starts.size()) < most)
      context.corrupt(
          "min_gram_length, max_gram_length, max_skip_count or ngram_counts are "
          "outside of their range");
    const bool one_row = context.rank(0) == 1;
    if (!one_row && context.rank(0) != 2)
      context.corrupt("its input has shape " + text(context.dims(0)) + ", expected [C] or [N, C]");
    x_ = context.cast(context.in(0), DType::kI64);
    if (one_row) x_ = context.reshape(x_, {Dim(1), context.dims(0)[0]});
    std::vector<ValueId> counts;
    int64_t grams = 0;
    for (int64_t n = 1; n <= most; n++) {
      const int64_t from = starts[size_t(n) - 1],
                    to = size_t(n) < starts.size() ? starts[size_t(n)] : int64_t(pool.size());
      if (from < 0 || to < from || to > int64_t(pool.size()) || (to - from) % n != 0)
        context.corrupt("its ngram_counts do not fit its pool");
      const int64_t here = (to - from) / n;
      // shorter ones than are asked for stand in the pool, and are not counted
      if (here > 0)
        counts.push_back(n < least ? none(here)
                                   : counted(Integers(pool.begin() + from, pool.begin() + to), n,
                                             n == 1 ? 0 : skips));
      grams += here;
    }
    if (grams != int64_t(columns.size()))
      context.corrupt("its pool has " + std::to_string(grams) + " n-grams, ngram_indexes " +
                      std::to_string(columns.size()));
    ValueId y =
        weighted(counts.size() == 1 ? counts[0]
                                    : context.make(op::Concat, counts, {{attr::axis, int64_t(1)}}));
    y = placed(y, columns);
    context.same(0, one_row ? context.reshape(y, {context.run().value(y).dims[1]}) : y);
  }

 private:
  ValueId none(int64_t grams) {
    return context.expand(context.scalar(DType::kF32, 0),
                          {context.run().value(x_).dims[0], Dim(grams)});
  }
  ValueId counted(const Integers& pool, int64_t n, int64_t skips) {
    const Dims dims = context.run().value(x_).dims;
    const int64_t grams = int64_t(pool.size()) / n;
    ValueId sum = none(grams);
    for (int64_t apart = 1; apart <= skips + 1; apart++) {
      const Dim windows = max(Dim(0), dims[1] - Dim((n - 1) * apart));
      if (windows == Dim(0)) break;
      ValueId all = kAbsent;
      for (int64_t j = 0; j < n; j++) {
        Integers words;
        for (int64_t g = 0; g < grams; g++) words.push_back(pool[size_t(g * n + j)]);
        const ValueId part = context.make(op::Slice, {x_},
                                          {{attr::starts, Dims{Dim(j * apart)}},
                                           {attr::ends, Dims{Dim(j * apart) + windows}},
                                           {attr::axes, Integers{1}}});
        const ValueId same =
            context.make(op::Equal, {context.reshape(part, {dims[0], windows, Dim(1)}),
                                     context.constant(make_integer(DType::kI64, {grams}, words))});
        all = all == kAbsent ? same : context.make(op::And, {all, same});
      }
      const ValueId found = context.make(op::ReduceSum, {context.cast(all, DType::kF32)},
                                         {{attr::axes, Integers{1}}, {attr::keepdims, int64_t(0)}});
      sum = context.make(op::Add, {sum, found});
    }
    return sum;
  }
  ValueId weighted(ValueId counts) {
    const std::string mode = context.node.text(attr::mode, "");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
      context.refuse("mode", "'" + mode + "', known are TF, IDF and TFIDF");
    if (mode == "TF") return counts;
    if (mode == "IDF") counts = context.make(op::Min, {counts, context.scalar(DType::kF32, 1)});
    const std::vector<double> weights = context.node.numbers(attr::weights);
    if (weights.empty()) return counts;
    if (Dim(int64_t(weights.size())) != context.run().value(counts).dims[1])
      context.corrupt("it has " + std::to_string(weights.size()) + " weights for " +
                      context.run().value(counts).dims[1].text() + " n-grams");
    return context.make(
        op::Mul,
        {counts, context.constant(make_floating(DType::kF32, {int64_t(weights.size())}, weights))});
  }
  /// Column `columns[i]` of what is returned is column i of `counts`; others are 0.
  ValueId placed(ValueId counts, const Integers& columns) {
    int64_t width = 0;
    for (const int64_t c : columns) {
      if (c < 0 || c > 1 << 24) context.corrupt("ngram_indexes has an entry " + std::to_string(c));
      width = std::max(width, c + 1);
    }
    Integers from(size_t(width), int64_t(columns.size()));
    for (size_t i = 0; i < columns.size(); i++) {
      if (from[size_t(columns[i])] != int64_t(columns.size()))
        context.refuse("ngram_indexes", "two n-grams of one column");
      from[size_t(columns[i])] = int64_t(i);
    }
    const ValueId padded = context.make(op::Concat, {counts, none(1)}, {{attr::axis, int64_t(1)}});
    return context.make(op::Gather,
                        {padded, context.constant(make_integer(DType::kI64, {width}, from))},
                        {{attr::axis, int64_t(1)}});
  }

  NodeContext& context;
  ValueId x_ = kAbsent;
};
void count_grams(NodeContext& context) { GramCounter(context).run(); }

}  // namespace

void add_product_rules(InferTable& table) {
  table[op::CumProd] = running_product;
  table[op::Det] = determinant;
  table[op::SwiGLU] = swish_gate;
  table[op::TfIdfVectorizer] = count_grams;
}

}  // namespace ingot::graph
