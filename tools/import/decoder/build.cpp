// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/build.h"

#include <algorithm>
#include <map>

#include "runtime/op/attention_blocks.h"
#include "tools/files/work_budget.h"
#include "tools/import/decoder/rope.h"
#include "tools/import/decoder/run_bounds.h"
#include "tools/import/decoder/streams.h"

namespace ingot::decoder {
namespace {

class Decoder : Streams {
 public:
  using Streams::Streams;

  importer::Program run() {
    begin("ports", "tokens");
    read_ports();
    set_tokens({length_, options_.dims.at("T").high, rows_, slots_, is_pooled()});
    read_divisors();
    begin("embedding", "embedding");
    ValueId x = embed();
    read_layer_inputs(x, ids_);
    x = in_streams(x);
    if (!has_whole_caches()) keep_text();
    for (size_t i = 0; i < n_.layers.size(); i++) {
      if (n_.layers[i].caches_of >= 0) x = without_others(x);
      x = layer(x, int64_t(i));
    }
    const char* const output = is_pooled() ? "embedding" : "logits";
    begin("head", output);
    x = out_of_streams(x);
    if (row_.places != NormPlaces::kOfSum) x = norm(x, Role::kFinalNorm, 0, n_.width);
    x = is_pooled() ? pooled(x) : head(x);
    weights_.check(row_.name);
    if (const std::string lost = weights_.quantization(); !lost.empty()) b_.note(lost);
    describe();
    graph::Model model = net_.finish({{output, x}});
    return {std::move(model), net_.states()};
  }

 private:
  bool is_pooled() const { return n_.pooling != Pooling::kNone; }

  void read_ports() {
    const ValueId tokens = net_.input("tokens", DType::kI32, {1, -1}, {"", "T"});
    length_ = b_.dims(tokens)[1];
    ids_ = not_from_end(b_.reshape(tokens, {length_}), whole(DType::kI32, INT32_MAX));
    const ValueId one = whole(DType::kI64, 1);
    if (options_.slots) {
      rows_ = of_each("position"), slots_ = of_each("slot");
      read_rows();
      keys_ = b_.emit(op::Add, {rows_, one});
      places_ = b_.emit(op::Concat, {column(slots_), column(rows_)}, {{attr::axis, int64_t(1)}});
      return;
    }
    rows_ = b_.counting(length_);
    if (!is_pooled()) {
      const ValueId position = net_.input("position", DType::kI64, {1}, {});
      rows_ = not_from_end(b_.emit(op::Add, {position, rows_}), whole(DType::kI64, INT64_MAX));
      keys_ = b_.emit(op::Add, {last(rows_), one});
    }
    if (options_.lookup) read_rows();
    places_ = column(rows_);
  }
  /// Whose logits are asked for: of each slot, or of one slot's last token and those to check.
  void read_rows() {
    const int64_t most = std::max(options_.slots, options_.lookup + 1);
    chosen_ = b_.slice(of_each("rows"), 0, Dim(0), min(length_, Dim(most)));
  }
  /// A number of each token of the run.
  ValueId of_each(const std::string& name) {
    const ValueId all = net_.input(name, DType::kI64, {1, -1}, {"", "T"});
    return not_from_end(b_.reshape(all, {length_}), whole(DType::kI64, INT64_MAX));
  }
  ValueId column(ValueId x) { return b_.reshape(x, {length_, Dim(1)}); }
  bool has_rings() const {
    return std::any_of(n_.layers.begin(), n_.layers.end(),
                       [&](const auto& at) { return ring_of(at.window) != 0; });
  }
  /// Whether a layer's caches have a row for each position.
  bool has_whole_caches() const {
    return is_pooled() || std::any_of(n_.layers.begin(), n_.layers.end(), [&](const auto& at) {
             return at.attends() && at.caches_of < 0 && ring_of(at.window) == 0;
           });
  }
  /// Keeps the tokens by their positions: caches bound those of other models.
  void keep_text() {
    Dims dims = {Dim(n_.context), Dim(1)};
    if (options_.slots) dims.insert(dims.begin(), Dim(options_.slots));
    const ValueId before = net_.state("text", dims, DType::kI32);
    net_.keep(before, b_.emit(op::ScatterND, {before, places_, column(ids_)},
                              {{attr::reduction, std::string("none")}}));
    cache_bytes_ += std::max<int64_t>(options_.slots, 1) * n_.context * dtype_bytes(DType::kI32);
  }
  /// A negative index would count from the end: `most`, which is beyond every table, in its place.
  ValueId not_from_end(ValueId index, ValueId most) {
    const ValueId zero = whole(b_.dtype(index), 0);
    return b_.emit(op::Where, {b_.emit(op::Less, {index, zero}), most, index});
  }
  /// Rows whose logits are asked for: the last one, or those that the input says.
  ValueId last(ValueId x) {
    if (chosen_ != kAbsent) return taken(x, chosen_);
    return b_.slice(x, 0, length_ - Dim(1), length_);
  }
  /// The rows that the answer is made of.
  ValueId chosen(ValueId x) {
    if (n_.pooling == Pooling::kMean) return x;
    return n_.pooling == Pooling::kFirst ? b_.slice(x, 0, Dim(0), Dim(1)) : last(x);
  }
  /// One vector out of those rows.
  ValueId pooled(ValueId x) {
    weights_.pass_over(Role::kHead);
    if (n_.pooling == Pooling::kMean) x = b_.reduce(op::ReduceMean, x, {0}, true);
    int64_t width = n_.width;
    for (size_t i = 0; i < n_.projections.size(); i++) {
      const Role role = i ? Role::kLastProjection : Role::kProjection;
      x = product(x, weights_.matrix(role, 0, n_.projections[i], width), kAbsent);
      width = n_.projections[i];
    }
    if (!n_.is_normalized) return x;
    const ValueId squares = b_.reduce(op::ReduceSum, b_.emit(op::Mul, {x, x}), {1}, true);
    const ValueId length = b_.emit(op::Sqrt, {squares});
    return b_.emit(op::Div, {x, b_.emit(op::Max, {length, net_.scalar(1e-12)})});
  }

  ValueId embed() {
    ValueId x = rows(weights_.matrix(Role::kEmbedding, 0, n_.vocabulary, n_.width), ids_);
    x = scaled(x, n_.embedding_scale);
    if (weights_.has(Role::kTypes, Part::kWeight, 0))
      x = b_.emit(op::Add, {x, weights_.first_row(Role::kTypes, n_.width)});
    if (row_.has_positions) {
      const int64_t first = n_.first_position;
      const Matrix positions =
          weights_.matrix(Role::kPositions, 0, n_.trained_context + first, n_.width);
      const ValueId at = first ? b_.emit(op::Add, {rows_, whole(DType::kI64, first)}) : rows_;
      x = b_.emit(op::Add, {x, rows(positions, at)});
    }
    return row_.norms_embedding ? norm(x, Role::kEmbeddingNorm, 0, n_.width) : x;
  }
  ValueId head(ValueId x) {
    const bool is_tied = !weights_.has(Role::kHead, Part::kWeight, 0);
    const Role role = is_tied ? Role::kEmbedding : Role::kHead;
    const ValueId bias =
        weights_.bias(Role::kHead, 0, n_.vocabulary, (row_.biases & kHeadBias) != 0);
    const ValueId logits = product(x, weights_.matrix(role, 0, n_.vocabulary, n_.width), bias);
    return capped(scaled(logits, row_.divides_logits ? 1 / n_.logit_scale : n_.logit_scale),
                  n_.logit_cap);
  }

  /// Behind the last layer that has caches of its own, tokens whose logits nobody asks for have no
  /// more to give: the last one goes on.
  ValueId without_others(ValueId x) {
    if (is_pooled() || chosen_ != kAbsent || length_ == Dim(1)) return x;
    const auto only_last = [&](ValueId all) { return last(all); };
    x = only_last(x), rows_ = only_last(rows_);
    choose_layer_inputs(only_last);
    length_ = Dim(1);
    for (Angles& angles : angles_) angles = {};
    masks_.clear(), temperatures_ = kAbsent;
    return x;
  }

  /// What the tokens before give to each of a layer's, in rows that are asked for [.., width].
  ValueId mixed(ValueId in, int64_t i) {
    const LayerNumbers& at = n_.layers[size_t(i)];
    const auto wanted = [&](ValueId y) {
      return is_last(i) ? chosen(y) : y;  // the others feed keys and values alone
    };
    ValueId a = kAbsent, m = kAbsent;
    if (const int64_t width = n_.out_width_of(at); at.attends()) {
      a = wanted(attention(scaled(in, n_.scales.attention_in), i));
      a = linear(inner_norm(a, Role::kAttentionInnerNorm, i, width), Role::kAttentionOut, i,
                 n_.width, width, kOutBias);
      a = scaled(a, n_.scales.attention_out);
    }
    if (at.mixes)
      m = row_.mixer == Mixer::kConvolution
              ? convolution_out(wanted(convolution(in, i)), i)
              : scaled(recurrence_out(wanted(recurrence(in, i)), i), n_.scales.out);
    return a == kAbsent ? m : m == kAbsent ? a : b_.emit(op::Add, {a, m});
  }
  bool is_last(int64_t i) const { return size_t(i) + 1 == n_.layers.size(); }

  /// A mixer, attention or feed-forward.
  ValueId one_part(ValueId x, int64_t i) {
    const bool feeds = n_.layers[size_t(i)].hidden != 0;
    if (feeds && is_last(i)) x = chosen(x);
    const ValueId in = norm(x, Role::kAttentionNorm, i, n_.width);
    const ValueId y = feeds ? feed_forward(in, i) : mixed(in, i);
    return b_.emit(op::Add, {!feeds && is_last(i) ? chosen(x) : x, y});
  }
  ValueId layer(ValueId x, int64_t i) {
    const LayerNumbers& at = n_.layers[size_t(i)];
    const std::string name = "layer." + std::to_string(i);
    begin("attention", name + (at.attends()                        ? ".attention"
                               : row_.mixer == Mixer::kConvolution ? ".convolution"
                                                                   : ".recurrence"));
    if (row_.has_one_part) return one_part(x, i);
    const auto going_on = [&](ValueId all) { return is_last(i) ? chosen(all) : all; };
    if (row_.has_streams)
      return streamed_layer(
          x, i, [&](ValueId z) { return mixed(z, i); }, going_on);
    const bool is_raw = row_.places == NormPlaces::kAfter || row_.places == NormPlaces::kOfSum;
    ValueId in = is_raw || (i == 0 && row_.skips_first_norm)
                     ? x
                     : norm(x, Role::kAttentionNorm, i, n_.width);
    ValueId a = mixed(in, i);
    in = going_on(in), x = going_on(x);
    choose_layer_inputs(going_on);
    const bool has_out_norm = row_.places == NormPlaces::kAfter || row_.places == NormPlaces::kBoth;
    if (has_out_norm) a = norm(a, Role::kAttentionOutNorm, i, n_.width);
    a = scaled(a, n_.residual_scale);
    begin("feed_forward", name + ".feed_forward");
    if (n_.is_parallel) {
      if (n_.norms_twice || weights_.has(Role::kFeedForwardNorm, Part::kWeight, i))
        in = norm(x, Role::kFeedForwardNorm, i, n_.width);
      const ValueId f = scaled(feed_forward(in, i), n_.residual_scale);
      return b_.emit(op::Add, {b_.emit(op::Add, {x, a}), f});
    }
    x = b_.emit(op::Add, {x, a});
    const bool norms_sum = row_.places == NormPlaces::kOfSum;
    if (norms_sum) x = norm(x, Role::kAttentionOutNorm, i, n_.width);
    in = is_raw ? x : norm(x, Role::kFeedForwardNorm, i, n_.width);
    ValueId f = with_experts_beside(feed_forward(in, i), x, i);
    if (has_out_norm) f = norm(f, Role::kFeedForwardOutNorm, i, n_.width);
    x = b_.emit(op::Add, {x, scaled(f, n_.residual_scale)});
    return with_layer_input(norms_sum ? norm(x, Role::kFeedForwardOutNorm, i, n_.width) : x, i);
  }

  /// q, k and v of one layer: [T, heads * width]. `gate`: of the output, likewise.
  struct Projected {
    ValueId q, k, v, gate = kAbsent;
  };
  Projected project(ValueId x, int64_t i) {
    const LayerNumbers& at = n_.layers[size_t(i)];
    const int64_t q = at.heads * n_.key_width_of(at), k = at.kv_heads * n_.key_width_of(at),
                  v = at.kv_heads * n_.value_width_of(at);
    if (weights_.has(Role::kQkv, Part::kWeight, i)) {
      const ValueId all = linear(x, Role::kQkv, i, q + k + v, n_.width, kQkvBias, qkv_rows(at));
      return {b_.slice(all, 1, Dim(0), Dim(q)), b_.slice(all, 1, Dim(q), Dim(q + k)),
              b_.slice(all, 1, Dim(q + k), Dim(q + k + v))};
    }
    ValueId of_q = kAbsent, gate = kAbsent;
    if (row_.gates_attention) {
      const ValueId both = linear(x, Role::kQ, i, 2 * q, n_.width, kQkvBias, behind_queries(at));
      of_q = b_.slice(both, 1, Dim(0), Dim(q)), gate = b_.slice(both, 1, Dim(q), Dim(2 * q));
    } else {
      of_q = linear(x, Role::kQ, i, q, n_.width, kQkvBias, turned(at, 0, at.heads));
    }
    if (at.caches_of >= 0) {  // of its own, which files may have all the same, nothing is read
      for (const Role own : {Role::kK, Role::kV, Role::kKNorm}) weights_.pass_over(own, i);
      return {of_q, kAbsent, kAbsent, gate};
    }
    const ValueId of_k = linear(x, Role::kK, i, k, n_.width, kQkvBias, turned(at, 0, at.kv_heads));
    if (row_.norms_values && k == v && !weights_.has(Role::kV, Part::kWeight, i))
      return {of_q, of_k, of_k, gate};  // one product for both
    return {of_q, of_k, linear(x, Role::kV, i, v, n_.width, kQkvBias), gate};
  }
  /// Rows of heads, each by itself with the length of its root.
  ValueId of_unit_mean(ValueId x, int64_t heads, int64_t width) {
    const ValueId ones = same(width, 1);
    return in_rows(rms(of_heads(x, heads, width), ones, n_.epsilon), heads * width);
  }

  ValueId positioned(ValueId x, Role head_norm, int64_t i, int64_t heads) {
    const LayerNumbers& at = n_.layers[size_t(i)];
    const int64_t width = n_.key_width_of(at), row = heads * width;
    if (row_.norms_turned) x = rotated(x, at, heads, width);
    const bool may_norm = n_.norms_heads.value_or(!row_.may_lack_head_norm ||
                                                  weights_.has(head_norm, Part::kWeight, i));
    if (row_.head_norm == HeadNorm::kEachHead && may_norm) {
      const ValueId split = b_.reshape(x, {length_, Dim(heads), Dim(width)});
      x = b_.reshape(norm(split, head_norm, i, width, turned(at, 0, 1)), {length_, Dim(row)});
    }
    if (row_.head_norm == HeadNorm::kWholeRow) x = norm(x, head_norm, i, row, turned(at, 0, heads));
    return row_.norms_turned ? x : rotated(x, at, heads, width);
  }
  ValueId rotated(ValueId x, const LayerNumbers& at, int64_t heads, int64_t width) {
    if (row_.rope == Rope::kNone || !at.rotates) return x;
    const int64_t row = heads * width;
    const bool has_own = at.window && n_.window_rope;
    const RopeNumbers& rope = has_own ? *n_.window_rope : n_.rope;
    const Angles angles = angles_of(rope, has_own);
    const ValueId y =
        b_.emit(op::RotaryEmbedding,
                {b_.reshape(x, {Dim(1), length_, Dim(row)}), angles.cosine, angles.sine},
                {{attr::interleaved, int64_t(0)},
                 {attr::num_heads, heads},
                 {attr::rotary_embedding_dim, rope.width}});
    return b_.reshape(y, {length_, Dim(row)});
  }

  struct Angles {
    ValueId cosine = kAbsent, sine = kAbsent;  // [1, T, width / 2]
  };
  const Angles& angles_of(const RopeNumbers& rope, bool is_windowed) {
    Angles& made = angles_[is_windowed];
    if (made.cosine != kAbsent) return made;
    const int64_t pairs = rope.width / 2;
    host::charge_memory(2 * sizeof(float) * uint64_t(n_.context) * uint64_t(pairs));
    const RopeTables tables = rope_tables(rope, n_.context);
    const auto rows = [&](const std::vector<float>& table) {
      const ValueId all = net_.constant(table, {n_.context, pairs});
      return b_.reshape(b_.emit(op::Gather, {all, rows_}, {{attr::axis, int64_t(0)}}),
                        {Dim(1), length_, Dim(pairs)});
    };
    made.cosine = rows(tables.cosine);
    made.sine = rows(tables.sine);
    return made;
  }

  /// Rows of heads as codes of 8 bits with scales: what BlockQuantize gives, less its sums.
  ValueId in_8_bits(ValueId x, int64_t heads, int64_t width) {
    const int64_t bytes = attention::scaled_row_bytes(width);
    const ValueId split = b_.reshape(x, {length_, Dim(heads), Dim(width)}),
                  all = b_.emit(op::BlockQuantize, {split}, typed(BlockType::kQ8_0));
    return b_.reshape(b_.slice(all, 2, Dim(0), Dim(bytes)), {length_, Dim(heads * bytes)});
  }
  /// All rows of a cache [rows, row], or [slots, rows, row], once `x` [T, heads * width] stands at
  /// the run's positions; `x` where none is kept. `ring`: its rows, or 0.
  ValueId cached(ValueId x, const std::string& name, int64_t heads, int64_t width, int64_t ring) {
    const bool is_8 = options_.cache == DType::kU8;
    const int64_t row = heads * (is_8 ? attention::scaled_row_bytes(width) : width);
    if (is_pooled()) return b_.reshape(x, {Dim(1), length_, Dim(row)});
    const int64_t rows = ring ? ring : n_.context;
    Dims dims = {Dim(rows), Dim(row)};
    if (options_.slots) dims.insert(dims.begin(), Dim(options_.slots));
    const ValueId before = net_.state(ring ? "windows." + name : name, dims, options_.cache);
    if (options_.cache != DType::kF32)
      x = is_8 ? in_8_bits(x, heads, width) : b_.cast(x, options_.cache);
    const ValueId after = b_.emit(op::ScatterND, {before, ring ? ring_places(ring) : places_, x},
                                  {{attr::reduction, std::string("none")}});
    net_.keep(before, after);
    cache_bytes_ += std::max<int64_t>(options_.slots, 1) * rows * row * dtype_bytes(options_.cache);
    return options_.slots ? after : b_.reshape(after, {Dim(1), Dim(rows), Dim(row)});
  }

  struct Caches {
    ValueId keys = kAbsent, values = kAbsent;
  };
  Caches kept(const Projected& in, int64_t i) {
    const LayerNumbers& at = n_.layers[size_t(i)];
    const std::string number = std::to_string(i);
    const int64_t ring = ring_of(at.window);
    const ValueId keys = cached(in.k, "keys." + number, at.kv_heads, n_.key_width_of(at), ring);
    if (row_.has_latent) return {keys, keys};
    return caches_[i] = {
               keys, cached(in.v, "values." + number, at.kv_heads, n_.value_width_of(at), ring)};
  }

  /// Of keys in their order [T, count]: those less than `window` before a query; of an encoder
  /// those `window` away at most.
  ValueId line_mask(int64_t window, const Dim& count) {
    const ValueId keys = b_.reshape(b_.counting(count), {Dim(1), count}), queries = column(rows_),
                  most = whole(DType::kI64, window);
    if (!row_.is_encoder) return b_.emit(op::Greater, {b_.emit(op::Add, {keys, most}), queries});
    return b_.emit(op::LessOrEqual, {b_.emit(op::Abs, {b_.emit(op::Sub, {keys, queries})}), most});
  }
  /// What a query sees of the rows of a cache.
  ValueId window_mask(int64_t window) {
    const auto made = masks_.find(window);
    if (made != masks_.end()) return made->second;
    const int64_t ring = ring_of(window);
    const Dim count = is_pooled() ? length_ : Dim(ring ? ring : n_.context);
    ValueId mask = ring ? ring_mask(rows_, window, ring) : line_mask(window, count);
    if (options_.slots) mask = b_.reshape(mask, {length_, Dim(1), Dim(1), count});
    return masks_[window] = mask;
  }

  /// Queries and keys behind their norms, and turned.
  Projected compared(ValueId x, int64_t i) {
    const LayerNumbers& at = n_.layers[size_t(i)];
    Projected in = project(x, i);
    const graph::Attributes limits = {{attr::min, -n_.qkv_limit}, {attr::max, n_.qkv_limit}};
    for (ValueId* part : {&in.q, &in.k, &in.v})
      if (n_.qkv_limit != 0) *part = b_.emit(op::Clip, {*part}, limits);
    in.q = positioned(in.q, Role::kQNorm, i, at.heads);
    if (at.caches_of >= 0) return in;
    in.k = positioned(scaled(in.k, n_.scales.key), Role::kKNorm, i, at.kv_heads);
    if (row_.norms_values) in.v = of_unit_mean(in.v, at.kv_heads, n_.value_width_of(at));
    return in;
  }

  /// [T, heads * value width]
  ValueId attention(ValueId x, int64_t i) {
    if (!row_.has_latent) return attended(compared(x, i), i);
    const LayerNumbers& at = n_.layers[size_t(i)];
    const Weights::OfHeads own = weights_.of_heads(i, at.heads, n_.latent);
    const ValueId q = rotated(queries(x, i), at, at.heads, n_.score_width()),
                  key = rotated(latent_key(x, i), at, 1, n_.key_width);
    return values_of_heads(attended({absorbed(q, own.keys), key, key}, i), own.values);
  }
  ValueId attended(const Projected& in, int64_t i) {
    const LayerNumbers& at = n_.layers[size_t(i)];
    const auto [keys, values] = at.caches_of >= 0 ? caches_[at.caches_of] : kept(in, i);
    // a window as long as the context hides nothing
    const ValueId mask = at.window && at.window < n_.context ? window_mask(at.window)
                         : n_.alibi != 0                     ? sloped(at.heads)
                                                             : kAbsent;
    Dims dims = {Dim(1), length_, Dim(at.heads * n_.key_width_of(at))};
    if (options_.slots)
      std::swap(dims[0], dims[1]);  // each token is a batch: its slot has its keys
    const int64_t ring = ring_of(at.window);
    const ValueId counts = ring ? b_.emit(op::Min, {keys_, whole(DType::kI64, ring)}) : keys_;
    std::vector<ValueId> operands = {b_.reshape(tempered(in.q), dims), keys, values, mask, counts};
    if (options_.slots) operands.push_back(slots_);
    if (row_.has_sinks) {
      operands.resize(attention::kSinks, kAbsent);
      operands.push_back(weights_.vector(Role::kSinks, Part::kWeight, i, at.heads));
    }
    const bool sees_all = row_.is_encoder || options_.slots || ring;
    const ValueId y = b_.emit(op::Attention, std::move(operands),
                              {{attr::heads, at.heads},
                               {attr::kv_heads, at.kv_heads},
                               {attr::scale, n_.attention_scale},
                               {attr::softcap, n_.attention_cap},
                               {attr::causal, std::string(sees_all ? "none" : "bottom_right")}});
    const ValueId flat = b_.reshape(y, {length_, Dim(at.heads * n_.value_width_of(at))});
    return in.gate == kAbsent ? flat : b_.emit(op::Mul, {flat, b_.emit(op::Sigmoid, {in.gate})});
  }

  /// What is added to scores [1, heads, 1, keys].
  ValueId sloped(int64_t heads) {
    const auto [made, is_new] = slopes_.try_emplace(heads, kAbsent);
    if (!is_new) return made->second;
    host::charge_memory(sizeof(float) * uint64_t(n_.context) * uint64_t(heads));
    const ValueId all = net_.constant(slopes(n_, heads), {1, heads, 1, n_.context});
    return made->second = is_pooled() ? b_.slice(all, 3, Dim(0), length_) : all;
  }
  /// By what grows with the position.
  ValueId tempered(ValueId q) {
    if (n_.temperature == 0 || double(n_.context) <= n_.temperature_length) return q;
    if (temperatures_ == kAbsent) {
      host::charge_memory(sizeof(float) * uint64_t(n_.context));
      temperatures_ = taken(net_.constant(temperatures(n_), {n_.context, 1}), rows_);
    }
    return b_.emit(op::Mul, {q, temperatures_});
  }

  void describe() {
    const std::string trained_on =
        " (" + (row_.only_mixes ? "" : "trained on " + std::to_string(n_.trained_context) + "; ") +
        "--context N sets the bound)";
    if (is_pooled())
      b_.note("a text has " + std::to_string(n_.context) + " tokens at most" + trained_on);
    else
      b_.note((row_.only_mixes ? "numbers of " : "keys and values of ") +
              (options_.slots ? std::to_string(options_.slots) + " times " : std::string()) +
              std::to_string(n_.context) + " tokens are kept as state in " +
              (row_.only_mixes ? "i32" : cache_name(options_.cache)) + ", " +
              std::to_string(cache_bytes_) + " bytes" + trained_on);
    if (snapshot_bytes() && has_rings())
      b_.note("layers with a sliding window keep the newest tokens alone: a text goes back by " +
              std::to_string(going_back()) +
              " tokens at most, or begins anew (--full-windows: they keep all)");
    else if (snapshot_bytes())
      b_.note(std::string("what ") +
              (n_.recurrence.heads ? "recurrent layers need" : "convolutions need") +
              " of the last tokens is kept as state, " + std::to_string(snapshot_bytes()) +
              " bytes");
    if (n_.context > n_.trained_context)
      b_.note("a context of " + std::to_string(n_.context) + " is beyond the " +
              std::to_string(n_.trained_context) +
              " tokens that the model was trained on: its answers may lose sense behind them");
    const auto has_typical = [&](const char* port, bool is_there) {
      if (is_there) net_.model.metadata[std::string("ingot.typical.") + port] = "0";
    };
    has_typical("position", !is_pooled());
    has_typical("slot", options_.slots != 0);
    has_typical("rows", chosen_ != kAbsent);
    net_.model.metadata["ingot.decoder.architecture"] = row_.name;
    if (options_.blocks)
      net_.model.metadata["ingot.quantization"] =
          std::string("weights as ") + block_type_name(*options_.blocks);
    net_.model.metadata["ingot.decoder.context"] = std::to_string(n_.context);
  }

  Dim length_;
  ValueId ids_ = kAbsent, rows_ = kAbsent, places_ = kAbsent, keys_ = kAbsent;
  ValueId slots_ = kAbsent, chosen_ = kAbsent;  // of each token; rows that the head computes
  Angles angles_[2];
  ValueId temperatures_ = kAbsent;             // [T, 1]
  std::map<int64_t, ValueId> masks_, slopes_;  // of windows; of heads
  std::map<int64_t, Caches> caches_;           // of layers
  int64_t cache_bytes_ = 0;
};

}  // namespace

importer::Program build(const DecoderNumbers& numbers, const TensorSource& tensors,
                        const std::string& format, const importer::ImportOptions& options) {
  return Decoder(numbers, tensors, format, with_bounds(options, tensors.file(), numbers)).run();
}

}  // namespace ingot::decoder
