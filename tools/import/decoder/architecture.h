// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/architecture.h - what tells one family of language models from another: a
// row of a table, and the numbers of one model. Encoders are decoders whose tokens see those
// behind.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::decoder {

enum class NormKind : uint8_t { kRms, kLayer };
/// Of attention and of the feed-forward part: the norm of what goes in, of what comes out, or both;
/// kOfSum: of what comes out once x is added.
enum class NormPlaces : uint8_t { kBefore, kAfter, kBoth, kOfSum };
/// Which elements of a head turn together: neighbors, or those half a width apart.
enum class Rope : uint8_t { kNone, kNeighbors, kHalves };
/// Of q and k in front of the rotation: none, each head by itself, or all heads as one row.
enum class HeadNorm : uint8_t { kNone, kEachHead, kWholeRow };
/// kGatedInOne: gate and up are the halves of one matrix, the gate first.
enum class FeedForward : uint8_t { kGated, kGatedInOne, kPlain };
/// How the shares of a token's experts come from a softmax over all: as they are, or divided by
/// their sum; or from one over the chosen. kSigmoid: each is a sigmoid. A bias may be added for
/// the choice alone, of these and of kNormalized. kNone: mixtures of experts are not known for this
/// architecture.
enum class Experts : uint8_t { kNone, kAsTheyAre, kNormalized, kOfChosen, kSigmoid };
/// kClampedSwish: of a gate that a limit bounds above; up is bounded on both sides, and 1 more.
/// kXielu: of numbers that each layer has, of feed-forward parts that are plain.
enum class Activation : uint8_t {
  kSilu,
  kGelu,
  kGeluTanh,
  kRelu,
  kReluSquared,
  kClampedSwish,
  kXielu
};
/// What layers have in place of attention, or beside it, that keeps less than keys and values: a
/// gated short convolution; or one in front of a linear recurrence, as Mamba, Mamba-2 or a gated
/// delta net has it.
enum class Mixer : uint8_t { kNone, kConvolution, kMamba, kMamba2, kDeltaNet };
/// Attention and feed-forward read one x, and x is added once. kByMetadata: use_parallel_residual.
enum class Parallel : uint8_t { kNever, kAlways, kByMetadata };
/// What becomes of the rows of a text: logits of the last, or one vector, which is the mean of all,
/// the first or the last.
enum class Pooling : uint8_t { kNone, kMean, kFirst, kLast };
/// Which biases a model must have; others are used where they are there.
enum Bias : uint8_t {
  kNoBias = 0,
  kQkvBias = 1,
  kOutBias = 2,
  kFeedForwardBias = 4,
  kNormBias = 8,
  kHeadBias = 16,
  kExpertBias = 32  // of the router too
};

struct Architecture {
  const char* name;  // general.architecture, and what metadata keys begin with
  NormKind norm = NormKind::kRms;
  NormPlaces places = NormPlaces::kBefore;
  Rope rope = Rope::kHalves;
  HeadNorm head_norm = HeadNorm::kNone;
  FeedForward feed_forward = FeedForward::kGated;
  Activation activation = Activation::kSilu;
  Parallel parallel = Parallel::kNever;
  uint8_t biases = kNoBias;
  Experts experts = Experts::kNone;
  bool may_lack_head_norm = false;             // where a source has none
  bool norms_turned = false;                   // head_norm is behind the rotation
  const char* feed_forward_norm = "ffn_norm";  // what GGUF calls it
  const char* final_norm = "output_norm";      // likewise
  bool has_sinks = false;                      // a score of each head that has no value
  bool splits_pairs = false;                   // YaRN's ramp begins and ends between pairs
  bool has_positions = false;     // a learned row for each position, added to the embedding
  bool scales_embedding = false;  // by the root of its width
  bool divides_logits = false;    // logit_scale divides; else it multiplies
  // Where the source has none: of the embedding; of parts of a layer, over the root of the number
  // of layers; of logits, over the width. 0: 1
  double embedding_scale = 0, depth_scale = 0, logit_width = 0;
  // Layer i has a window unless i % window_period == window_period - 1, or 0 as below; 0: no layer
  // has one, 1: each.
  int64_t window_period = 0;
  double window_rope_base =
      0;                       // of layers with a window, where the metadata has none; 0: as others
  bool plain_windows = false;  // layers with a window rotate without scaling
  bool turns_windows = false;  // where there are windows, only layers with one rotate
  int64_t plain_period = 0;    // layer i does not rotate where i % plain_period == plain_period - 1
  // A model of so many layers scales scores by the width divided by the heads, not by the head's.
  int64_t odd_scale_layers = 0;
  double alibi = 0;             // where the metadata have none; 0: scores have no slopes
  bool is_encoder = false;      // each token sees all; a window reaches as far behind as before
  bool is_whole_first = false;  // of a period the first layer has no window; else the last
  bool has_window(int64_t layer, int64_t period) const {
    return period == 1 || layer % period != (is_whole_first ? 0 : period - 1);
  }
  bool norms_embedding = false;
  bool has_inner_norms = false;  // of what attention and gates give, in front of the product behind
  bool skips_first_norm = false;  // that of the embedding is the first layer's
  Mixer mixer = Mixer::kNone;
  bool mixes_beside = false;     // attention, in each layer; both outputs are added
  bool has_one_part = false;     // a layer is a mixer, attention or feed-forward
  bool only_mixes = false;       // each is a mixer
  bool tiles_heads = false;      // head h of GGUF's recurrences has key head h % their number
  bool clips_qkv = false;        // as metadata say
  bool has_plain_norms = false;  // without weights
  bool norms_values = false;     // each head of v by itself, without a scale
  bool scales_scores = true;     // by the root of a head's width
  bool gates_attention = false;  // behind rows of q of each head are those of a gate of its output
  bool groups_experts = false;   // as DeepSeek does: they are chosen from those of the best groups
  bool has_experts_beside = false;  // a dense part: feed_forward.h
  bool has_latent = false;          // keys and values come from a latent: latent_attention.h
  bool widens_heads = false;        // of layers without a window: they have a width of their own
  bool has_streams = false;         // streams.h
  double logit_cap = 0;             // where the metadata have none; 0: none
};

/// Null where there is none of that name.
const Architecture* find_architecture(std::string_view name);
std::vector<std::string> architecture_names();

/// Angles of position p and pair i: p * frequency(i), times `magnitude` for cos and sin.
struct RopeNumbers {
  double base = 10000;
  int64_t width = 0;             // elements of a head that turn
  double divisor = 1;            // of all frequencies
  std::vector<double> divisors;  // of each; empty: 1
  double magnitude = 1;
  double score_magnitude = 1;  // of all elements of a head, of those that do not turn too
  // YaRN: low frequencies are divided by `divisor`, high ones are not
  bool is_yarn = false;
  double original_context = 0, beta_fast = 32, beta_slow = 1;
  bool splits_pairs = false;  // the ramp between them begins and ends between pairs
};

constexpr int64_t kMaxExperts = 1024, kMaxContext = 1 << 24, kMaxConvolution = 32;
constexpr int64_t kMixersContext = 1 << 20;  // of models without attention, which have no bound
constexpr int64_t kMaxLayers = 1024, kMaxHeads = 1 << 16, kMaxWidth = 1 << 24;
constexpr int64_t kMaxHeadWidth = 4096;  // that attention takes
constexpr int64_t kMaxStateWidth = 4096, kMaxStateRow = int64_t(1) << 31;
constexpr double kMaxTemperature = 1000;

/// Of layers that have a router; others are dense.
struct ExpertNumbers {
  int64_t count = 0, used = 0, hidden = 0;
  int64_t shared_hidden = 0;  // of the expert that every token has; 0: none
  int64_t latent = 0;         // what others read of x, and give, is a product so wide; 0: all of it
  bool is_normalized = false;
  bool has_choice_bias = false;  // it must be there; else it may
  double scale = 1;              // of all shares
  Experts kind = Experts::kNone;
  double added_sum = 1e-6;  // to that of sigmoids, where it divides
  // Those of the best groups are chosen from: by the best of each, of sigmoids by the best two.
  int64_t groups = 1, used_groups = 1;
};
constexpr double kLeastSum = 1e-20;  // of sigmoids, for DeepSeek

/// `refuse` as check_recurrence() has it. 0 groups are one.
template <class Refuse>
void check_groups(ExpertNumbers* e, const Refuse& refuse) {
  if (e->groups == 0) e->groups = e->used_groups = 1;
  const int64_t each = e->count / e->groups;
  if (e->count % e->groups)
    refuse("group_count", e->groups, "a divisor of the " + std::to_string(e->count) + " experts");
  if (e->used_groups < 1 || e->used_groups > e->groups || e->used_groups * each < e->used)
    refuse("group_used_count", e->used_groups,
           "so many of the " + std::to_string(e->groups) + " groups that they have " +
               std::to_string(e->used) + " experts");
  if (e->kind == Experts::kSigmoid && e->used_groups < e->groups && each < 2)
    refuse("group_count", e->groups, "two experts or more in each group");
}

/// Of keys and values, which products of it give (latent_attention.h).
struct LatentNumbers {
  int64_t rank = 0, query_rank = 0;  // of queries 0: they have none
  int64_t turned = 0;                // last elements of a key, which all heads share
  int64_t own = 0, value = 0;        // elements of a key and a value that each head has
  double epsilon = 0;                // of norms of both
};

/// Of a token's rows, where it has several: streams.h.
struct StreamNumbers {
  int64_t count = 0, active = 0;  // rows, and the one that layers read; count 0: there is one
  int64_t rank = 0;               // of the product that attention has beside it
  bool scales_active = true;      // in front of the product with a layer's input
};
constexpr int64_t kMaxStreams = 64;
constexpr double kMaxDeviations = 40;  // beyond which f64 has no share of normal numbers

/// A state of each head [key width, value width]; heads share keys in groups of neighbors.
struct RecurrenceNumbers {
  int64_t heads = 0, key_heads = 0, key_width = 0, value_width = 0;
  bool is_tiled = false;      // head h of the source has key head h % key_heads
  bool is_logarithm = false;  // the source has log(-A) of Mamba-2 or a delta net for A
  bool has_bias = false;      // of the first and the last product: it must be there; else it may
  bool has_norm = true;       // likewise
  bool gates_norm = false;    // the gate stands behind the norm; else in front of it
  // Of Mamba, whose heads are columns: of steps, which are a product so wide; and of norms of these
  // and of keys, 0: as others. They may have weights.
  int64_t step_rank = 0;
  bool norms_parts = false, weighs_parts = false;
  double part_epsilon = 0;
  double least_step = 0, most_step = 0;  // of time; most 0: no bounds
  int64_t keys() const { return key_heads * key_width; }
  int64_t values() const { return heads * value_width; }
  int64_t channels() const { return 2 * keys() + values(); }  // that are convolved
  int64_t state() const { return heads * key_width * value_width; }
};

/// `refuse(key, found, expected)`, of GGUF's keys, where what they say does not fit together.
template <class Refuse>
void check_recurrence(const RecurrenceNumbers& r, int64_t inner, const Refuse& refuse) {
  if (inner % r.heads)
    refuse("inner_size", inner, "a multiple of the " + std::to_string(r.heads) + " heads");
  if (r.heads % r.key_heads)
    refuse("group_count", r.key_heads, "a divisor of the " + std::to_string(r.heads) + " heads");
  if (r.value_width > kMaxStateWidth)
    refuse("inner_size", inner,
           "at most " + std::to_string(kMaxStateWidth) + " for each of the " +
               std::to_string(r.heads) + " heads");
  if (r.state() > kMaxStateRow)
    refuse("state_size", r.key_width,
           "at most " + std::to_string(kMaxStateRow) + " numbers of all states of a layer");
}

/// Factors of Falcon-H1, where weights do not have them: of what goes in and comes out.
struct MixerScales {
  double attention_in = 1, attention_out = 1, key = 1, in = 1, out = 1, gate = 1, down = 1;
  std::vector<double> parts;  // of z, x, B, C and the step; empty: 1
};

/// linear * x, and above 0 square * x^2, below it exponential * (e^x - 1 - x).
struct Xielu {
  double square = 0, exponential = 0, linear = 0;
};
/// Sources have what a softplus makes of them, and a bound of x below 0 that is next to nothing.
inline Xielu xielu_of(double positive, double negative, double linear) {
  const auto softplus = [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); };
  return {softplus(positive), linear + softplus(negative), linear};
}
constexpr double kLeastXielu = -1e-3;  // that bound, at least

struct LayerNumbers {
  int64_t heads = 0, kv_heads = 0, hidden = 0;  // kv_heads 0: no attention
  // keys that a query sees, itself included, and of an encoder so many on each side; 0: all
  int64_t window = 0;
  bool rotates = true;
  bool mixes = false;        // as the architecture has it
  bool has_experts = false;  // it must; else where it has a router
  int64_t head_width = 0;    // of keys and values; 0: as the others
  Xielu xielu = {};
  int64_t caches_of = -1;  // the layer before it whose keys and values it reads; -1: its own
  // deviations from the mean of its gates, above which they are open; none: the activation says
  std::optional<double> threshold = {};
  bool attends() const { return kv_heads != 0; }
};

struct DecoderNumbers;
/// Of the last `shared` layers the caches are those of the last layer before them of their kind,
/// with a window or without; layers with one have heads `of_windows` wide, 0: as others. False
/// where there is none of a kind.
bool share_caches(DecoderNumbers* n, int64_t shared, int64_t of_windows);

struct DecoderNumbers {
  const Architecture* row = nullptr;
  Rope order = Rope::kHalves;  // of rows of q and k in the source
  bool groups_qkv = false;     // in one matrix: rows of q of one head of keys, its k, its v
  double norm_shift = 0;       // what weights of norms lack
  int64_t width = 0, vocabulary = 0, key_width = 0, value_width = 0;
  int64_t trained_context = 0, context = 0;
  double epsilon = 0, attention_scale = 0, attention_cap = 0, logit_cap = 0;
  // Of a score the slope of its head times the key's position is a part: of n heads, a power of
  // two, head i has 2 ^ (-alibi * (i + 1) / n).
  double alibi = 0;
  double qkv_limit = 0;  // of q, k and v on both sides; 0: none
  double embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  int64_t layer_input = 0;       // layer_inputs.h; 0: none
  int64_t layer_vocabulary = 0;  // rows of its table; 0: as the embedding
  StreamNumbers streams;
  double gate_limit = 7, gate_slope = 1.702;  // of kClampedSwish
  int64_t convolution = 0;                    // tokens that one sees, the newest included
  bool has_convolution_bias = false;          // it must be there; else it may
  std::optional<Activation> activation;       // where it is not the architecture's
  bool is_parallel = false;
  std::optional<bool> norms_heads;  // where the architecture may lack it; none: where it is there
  bool norms_twice = false;  // a parallel feed-forward part has a norm of its own; else it may
  Pooling pooling = Pooling::kNone;
  bool is_normalized = false;             // the vector has the length 1
  std::vector<int64_t> projections = {};  // widths of up to two products that it goes through
  int64_t first_position = 0;             // row of the first token in a table of positions
  int64_t draft_layers = 0;               // behind the others, which are not for the text
  RecurrenceNumbers recurrence;
  LatentNumbers latent;
  MixerScales scales;
  // Queries at position p are scaled by 1 + temperature * log(1 + p / temperature_length), a whole
  // quotient.
  double temperature = 0, temperature_length = 0;
  RopeNumbers rope;
  std::optional<RopeNumbers> window_rope;  // of layers with a window; none: as others
  ExpertNumbers experts;
  std::vector<LayerNumbers> layers;
  /// One key of what turns and the latent for all heads, which is the value too.
  void keep_latents() {
    key_width = value_width = latent.turned + latent.rank;
    for (LayerNumbers& layer : layers) layer.kv_heads = 1;
  }
  /// Of keys that are compared in the source, whose root divides scores.
  int64_t score_width() const { return latent.rank ? latent.own + latent.turned : key_width; }
  int64_t key_width_of(const LayerNumbers& layer) const {
    return layer.head_width ? layer.head_width : key_width;
  }
  int64_t value_width_of(const LayerNumbers& layer) const {
    return layer.head_width ? layer.head_width : value_width;
  }
  /// Of what attention gives.
  int64_t out_width_of(const LayerNumbers& layer) const {
    return layer.heads * (latent.rank ? latent.value : value_width_of(layer));
  }
};

inline double usual_embedding_scale(const DecoderNumbers& n) {
  if (n.row->scales_embedding) return std::sqrt(double(n.width));
  return n.row->embedding_scale != 0 ? n.row->embedding_scale : 1;
}
inline double usual_residual_scale(const DecoderNumbers& n) {
  return n.row->depth_scale != 0 ? n.row->depth_scale / std::sqrt(double(n.layers.size())) : 1;
}
/// Of logits of a model whose width was `width` where they are as they are. @pre width > 0
inline double logit_scale_of(const DecoderNumbers& n, double width) {
  return n.row->divides_logits ? double(n.width) / width : width / double(n.width);
}
inline double usual_logit_scale(const DecoderNumbers& n) {
  return n.row->logit_width != 0 ? logit_scale_of(n, n.row->logit_width) : 1;
}

}  // namespace ingot::decoder
