// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/emit/source_weights.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "runtime/base/checked_math.h"
#include "tools/compile/write/program_encoder.h"
#include "tools/files/half.h"
#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"
#include "tools/graph/graph.h"
#include "tools/weights/programs/unpack.h"

namespace ingot::convert {
namespace {

using checkpoint::ElementType;
using checkpoint::Tensor;
using Extents = std::vector<int64_t>;

constexpr size_t kProbes = 8;
constexpr size_t kMaxTensorRank = 5;              // of permutations: 120
constexpr uint64_t kMaxKept = uint64_t{1} << 30;  // FlatBuffers end at 2 GiB
constexpr uint64_t kMaxSmall = 64 << 10;          // together
// of a tensor and a constant; beyond, only by all their bytes
constexpr uint64_t kMaxPairs = uint64_t{1} << 25;

/// Elements offset + sum(i[d] * strides[d]) of a dense constant.
struct View {
  Extents dims, strides;
  int64_t offset = 0;
};

int64_t product(const Extents& dims, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t i = from; i < to; i++) n *= dims[i];
  return n;
}
Extents without_ones(const Extents& dims) {
  Extents out;
  for (const int64_t d : dims)
    if (d != 1) out.push_back(d);
  return out;
}

bool same_kind(ElementType type, DType dtype) {
  switch (dtype) {
    case DType::kF32: return type == ElementType::kF32;
    case DType::kF16: return type == ElementType::kF16;
    case DType::kBF16: return type == ElementType::kBf16;
    case DType::kF64: return type == ElementType::kF64;
    case DType::kI8: return type == ElementType::kI8;
    case DType::kU8: return type == ElementType::kU8;
    case DType::kI16: return type == ElementType::kI16;
    case DType::kU16: return type == ElementType::kU16;
    case DType::kI32: return type == ElementType::kI32;
    case DType::kU32: return type == ElementType::kU32;
    case DType::kI64: return type == ElementType::kI64;
    case DType::kU64: return type == ElementType::kU64;
    case DType::kBool: return type == ElementType::kBool;
    case DType::kInvalid: break;
  }
  return false;
}

/// As f32, where every number is one; empty where not.
std::vector<uint8_t> widened(const Tensor& tensor) {
  const std::vector<uint8_t> bytes = checkpoint::tensor_bytes(tensor);
  const size_t count = size_t(tensor.elements());
  std::vector<uint8_t> out(count * 4);
  for (size_t i = 0; i < count; i++) {
    float x = 0;
    if (tensor.type == ElementType::kF64) {
      double d;
      std::memcpy(&d, bytes.data() + i * 8, 8);
      x = float(d);
      const double back = x;
      if (std::memcmp(&back, &d, 8) != 0) return {};
    } else {
      uint16_t half;
      std::memcpy(&half, bytes.data() + i * 2, 2);
      x = tensor.type == ElementType::kF16 ? host::widen_f16(half) : host::widen_bf16(half);
    }
    std::memcpy(out.data() + i * 4, &x, 4);
  }
  return out;
}

uint64_t element_at(const uint8_t* bytes, uint64_t index, size_t width) {
  uint64_t value = 0;
  std::memcpy(&value, bytes + index * width, width);
  return value;
}

/// A tensor of the source that has not been found yet, and a few of its elements, so that most
/// places are ruled out without reading it.
struct Wanted {
  const Tensor* tensor = nullptr;
  size_t index = 0;
  Extents dims;  // without ones
  int64_t elements = 0;
  std::map<bool, std::vector<uint64_t>> probes;  // by whether it is widened; empty: it cannot be
};

class SourceFinder {
 public:
  SourceFinder(const checkpoint::Checkpoint& source, const ProgramSpec& program,
               const KeepWeights& keep)
      : source_(source), program_(program), keep_(keep) {}

  std::vector<SourceWeightSpec> run() {
    for (const Tensor& tensor : source_.tensors) declare(tensor);
    find_gates();
    for (size_t i = 0; i < program_.values.size() && !wanted_.empty(); i++) {
      const ValueSpec& value = program_.values[i];
      Extents dims = value.dims;
      if (value.kind == ValueKind::kConstant &&
          (weights::can_unpack(value.packing) ||
           weights::may_be_halves(value.dtype, value.packing, &dims)))
        search(value, int32_t(i));
    }
    find_rounded();
    for (const Wanted& w : wanted_) keep_or_lose(w, "");
    return std::move(out_);
  }

 private:
  void declare(const Tensor& tensor) {
    SourceWeightSpec spec;
    spec.path = tensor.path;
    spec.dtype = checkpoint::element_name(tensor.type);
    spec.device = tensor.location;
    spec.dims = tensor.dims;
    spec.parameter = tensor.is_parameter;
    out_.push_back(std::move(spec));
    Wanted w;
    w.tensor = &tensor;
    w.index = out_.size() - 1;
    w.dims = without_ones(tensor.dims);
    w.elements = tensor.elements();
    wanted_.push_back(std::move(w));
  }

  /// Gates of recurrent cells are padded to panels of 16 rows.
  void find_gates() {
    for (const SubprogramSpec& subprogram : program_.subprograms)
      for (const InstructionSpec& instruction : subprogram.instructions) {
        if (instruction.op() != OpCode::kRecurrent) continue;
        const int64_t hidden = std::get<RecurrentAttributes>(instruction.attributes).hidden;
        for (const size_t operand : {1, 2, 3, 7})
          if (operand < instruction.inputs.size() && instruction.inputs[operand] >= 0)
            gates_[instruction.inputs[operand]] = {hidden, operand <= 2};
      }
  }

  /// Those that are there but for the rounding of storage.h: lost, with that as the reason.
  void find_rounded() {
    rounding_ = true;
    for (size_t i = 0; i < program_.values.size() && !wanted_.empty(); i++) {
      if (program_.values[i].stored == DType::kInvalid ||
          !weights::can_unpack(program_.values[i].packing))
        continue;
      ValueSpec exact = program_.values[i];
      exact.stored = DType::kInvalid;
      search(exact, int32_t(i));
    }
  }

  static uint64_t hash_of(const std::vector<uint8_t>& bytes) {
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  /// A source of very many tensors: each constant is looked up instead of compared with all of
  /// them.
  void look_up(const ValueSpec& value, int32_t id) {
    if (rounding_) return;
    if (by_bytes_.empty())
      for (auto w = wanted_.begin(); w != wanted_.end(); ++w)
        if (w->elements > 0) by_bytes_[hash_of(checkpoint::tensor_bytes(*w->tensor))].push_back(w);
    {
      const auto packed = produce_constant(value);
      dense_ = {};  // before the next one is made
      dense_ = weights::unpack(value.packing, value.dims, packed->data(), packed->size(),
                               size_t(dtype_bytes(value.dtype)));
    }
    const auto found = by_bytes_.find(hash_of(dense_));
    if (found == by_bytes_.end()) return;
    for (const auto& w : found->second) {
      if (!same_kind(w->tensor->type, value.dtype) ||
          checkpoint::tensor_bytes(*w->tensor) != dense_)
        continue;
      SourceWeightSpec& spec = out_[w->index];
      spec.value = id;
      spec.view = w->dims;
      spec.strides.assign(w->dims.size(), 1);
      for (size_t d = w->dims.size(); d-- > 1;) spec.strides[d - 1] = spec.strides[d] * w->dims[d];
      spec.offset = 0;
      wanted_.erase(w);
    }
    by_bytes_.erase(found);
  }

  void search(const ValueSpec& value, int32_t id) {
    pairs_ += 2 * wanted_.size();
    host::charge_work(1);
    Extents dims = value.dims;
    const bool halves = weights::may_be_halves(value.dtype, value.packing, &dims);
    if (pairs_ > kMaxPairs) return halves ? void() : look_up(value, id);
    const auto fits = [&](const Wanted& w) {
      const bool half = w.tensor->type == ElementType::kF16 || w.tensor->type == ElementType::kBf16;
      if (halves) return half;
      return same_kind(w.tensor->type, value.dtype) ||
             ((half || w.tensor->type == ElementType::kF64) && value.dtype == DType::kF32);
    };
    dims_ = without_ones(dims);
    elements_ = product(dims, 0, dims.size());
    if (elements_ == 0 || std::none_of(wanted_.begin(), wanted_.end(), [&](const Wanted& w) {
          return w.elements <= elements_ && fits(w);
        }))
      return;
    {
      const auto packed = produce_constant(value);
      dense_ = {};  // before the next one is made
      dense_ = weights::unpack(value.packing, dims, packed->data(), packed->size(),
                               halves ? 2 : size_t(dtype_bytes(value.dtype)));
    }
    width_ = dense_.size() / size_t(elements_);
    const auto gates = gates_.find(id);
    for (auto w = wanted_.begin(); w != wanted_.end();) {
      View view;
      widen_ = !halves && !same_kind(w->tensor->type, value.dtype);
      const bool found = w->elements > 0 && w->elements <= elements_ && fits(*w) && probe(&*w) &&
                         (whole(*w, &view) || block(*w, &view) || split(*w, &view) ||
                          (gates != gates_.end() && gate_rows(*w, value, gates->second, &view)));
      if (!found) {
        ++w;
        continue;
      }
      SourceWeightSpec& spec = out_[w->index];
      if (rounding_) {
        keep_or_lose(*w, std::string("stored as ") +
                             dtype_name(program_.values[size_t(id)].stored) +
                             ", which rounds its numbers");
        w = wanted_.erase(w);
        continue;
      }
      spec.value = id;
      spec.view = view.dims;
      spec.strides = view.strides;
      spec.offset = view.offset;
      w = wanted_.erase(w);
    }
  }

  std::vector<uint8_t> bytes_of(const Wanted& w) const {
    return widen_ ? widened(*w.tensor) : checkpoint::tensor_bytes(*w.tensor);
  }
  static uint64_t probe_index(size_t i, int64_t elements) {
    return i == 0 ? 0 : uint64_t(elements - 1) * i / (kProbes - 1);
  }

  /// False when it cannot be compared with this constant at all.
  bool probe(Wanted* w) const {
    const auto [entry, is_new] = w->probes.try_emplace(widen_);
    if (is_new) {
      const std::vector<uint8_t> bytes = bytes_of(*w);
      for (size_t i = 0; i < kProbes && !bytes.empty(); i++)
        entry->second.push_back(element_at(bytes.data(), probe_index(i, w->elements), width_));
    }
    return !entry->second.empty();
  }

  static int64_t place(const View& view, uint64_t index) {
    int64_t at = view.offset;
    for (size_t d = view.dims.size(); d-- > 0;) {
      at += int64_t(index % uint64_t(view.dims[d])) * view.strides[d];
      index /= uint64_t(view.dims[d]);
    }
    return at;
  }

  bool equal(const Wanted& w, const View& view) const {
    const std::vector<uint64_t>& probes = w.probes.at(widen_);
    for (size_t i = 0; i < kProbes; i++)
      if (element_at(dense_.data(), uint64_t(place(view, probe_index(i, w.elements))), width_) !=
          probes[i])
        return false;
    const std::vector<uint8_t> bytes = bytes_of(w);
    const int64_t run = view.dims.empty() ? 1 : view.dims.back(),
                  stride = view.strides.empty() ? 1 : view.strides.back();
    for (int64_t i = 0; i < w.elements; i += run) {
      const uint8_t* from = dense_.data() + size_t(place(view, uint64_t(i))) * width_;
      const uint8_t* to = bytes.data() + size_t(i) * width_;
      host::note_touched(2 * uint64_t(run) * width_);
      if (stride == 1) {
        if (std::memcmp(from, to, size_t(run) * width_) != 0) return false;
        continue;
      }
      for (int64_t k = 0; k < run; k++)
        if (std::memcmp(from + size_t(k * stride) * width_, to + size_t(k) * width_, width_) != 0)
          return false;
    }
    return true;
  }

  /// Every order of these dims over the whole constant.
  bool orders(const Wanted& w, const Extents& dims, View* view) const {
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), size_t(0));
    do {
      view->dims = dims;
      view->strides.assign(dims.size(), 0);
      view->offset = 0;
      int64_t stride = 1;
      for (size_t k = order.size(); k-- > 0;) {
        view->strides[order[k]] = stride;
        stride *= dims[order[k]];
      }
      if (equal(w, *view)) return true;
    } while (dims.size() <= kMaxTensorRank && std::next_permutation(order.begin(), order.end()));
    return false;
  }
  /// First and last elements stay where they are in every order of the dimensions.
  bool has_ends(const Wanted& w) const {
    const std::vector<uint64_t>& probes = w.probes.at(widen_);
    return w.elements == elements_ && element_at(dense_.data(), 0, width_) == probes[0] &&
           element_at(dense_.data(), uint64_t(elements_ - 1), width_) == probes[kProbes - 1];
  }
  bool whole(const Wanted& w, View* view) const { return has_ends(w) && orders(w, w.dims, view); }

  /// One dimension taken as two, in every order: rows of a product behind a flattened image.
  bool split(const Wanted& w, View* view) const {
    if (w.dims.empty() || w.dims.size() > 2 || !has_ends(w)) return false;
    for (size_t axis = 0; axis < w.dims.size(); axis++) {
      for (int64_t inner = 2; inner * 2 <= w.dims[axis]; inner++) {
        if (w.dims[axis] % inner) continue;
        Extents dims = w.dims;
        dims[axis] /= inner;
        dims.insert(dims.begin() + int64_t(axis) + 1, inner);
        if (orders(w, dims, view)) return true;
      }
    }
    return false;
  }

  /// A run of one dimension of the constant, in every order of the others.
  bool block(const Wanted& w, View* view) const {
    if (w.elements >= elements_ || w.dims.empty() || w.dims.size() > kMaxTensorRank) return false;
    std::vector<size_t> order(w.dims.size());
    std::iota(order.begin(), order.end(), size_t(0));
    do {
      Extents permuted;
      for (const size_t axis : order) permuted.push_back(w.dims[axis]);
      for (size_t k = 0; k < permuted.size(); k++) {
        const int64_t before = product(permuted, 0, k),
                      behind = product(permuted, k + 1, permuted.size());
        int64_t extent = 0;
        for (size_t d = 0; d < dims_.size(); d++)
          if (product(dims_, 0, d) == before && product(dims_, d + 1, dims_.size()) == behind)
            extent = dims_[d];
        if (extent <= permuted[k]) continue;
        view->dims = w.dims;
        view->strides.assign(w.dims.size(), 0);
        int64_t stride = 1;
        for (size_t j = permuted.size(); j-- > 0;) {
          view->strides[order[j]] = stride;
          stride *= j == k ? extent : permuted[j];
        }
        for (int64_t start = 0; start + permuted[k] <= extent; start++) {
          view->offset = start * behind;
          if (element_at(dense_.data(), uint64_t(view->offset), width_) != w.probes.at(widen_)[0])
            continue;
          if (equal(w, *view)) return true;
        }
      }
    } while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

  struct Gates {
    int64_t hidden = 0;
    bool has_columns = false;
  };
  /// [gates * hidden, columns] in [gates * padded, columns], of all directions or of one.
  bool gate_rows(const Wanted& w, const ValueSpec& value, const Gates& gates, View* view) const {
    const int64_t padded = round_up(gates.hidden, kPanel),
                  columns = gates.has_columns ? value.dims[1] : 1;
    const int64_t blocks = elements_ / (padded * columns),
                  own = w.elements / (gates.hidden * columns);
    if (own == 0 || own * gates.hidden * columns != w.elements || blocks % own) return false;
    for (int64_t first = 0; first < blocks; first += own) {
      const int64_t offset = first * padded * columns;
      *view = {{own, gates.hidden, columns}, {padded * columns, columns, 1}, offset};
      if (equal(w, *view)) return true;
      *view = {{columns, own, gates.hidden}, {1, padded * columns, columns}, offset};
      if (equal(w, *view)) return true;
    }
    return false;
  }

  void keep_or_lose(const Wanted& w, const std::string& why) {
    SourceWeightSpec& spec = out_[w.index];
    const uint64_t bytes = w.tensor->bytes();
    const bool small = bytes <= keep_.small_bytes && small_ + bytes <= kMaxSmall;
    const bool used = keep_.only.empty() || keep_.only.count(checkpoint::path_text(w.tensor->path));
    if (bytes == 0) return;  // shape and type say it all
    if (!keep_.all && !small) {
      spec.lost = !why.empty() ? why
                  : used ? "no constant has its numbers: folded, stored for Winograd, or unused"
                         : "the network does not use it";
      return;
    }
    if (small) small_ += bytes;
    kept_ += bytes;
    if (kept_ > kMaxKept)
      graph::fail_unsupported(
          "--keep-weights: more than " + std::to_string(kMaxKept) +
          " bytes would have to be kept; convert with --winograd off, or keep the source file");
    spec.data = checkpoint::tensor_bytes(*w.tensor);
  }

  const checkpoint::Checkpoint& source_;
  const ProgramSpec& program_;
  const KeepWeights& keep_;
  std::list<Wanted> wanted_;
  uint64_t pairs_ = 0;
  // once there were too many pairs
  std::unordered_map<uint64_t, std::vector<std::list<Wanted>::iterator>> by_bytes_;
  std::map<int32_t, Gates> gates_;
  std::vector<SourceWeightSpec> out_;
  uint64_t small_ = 0, kept_ = 0;
  // The constant that is searched.
  Extents dims_;
  int64_t elements_ = 0;
  std::vector<uint8_t> dense_;
  size_t width_ = 0;
  bool widen_ = false;
  bool rounding_ = false;  // numbers before they are rounded for storage
};

}  // namespace

std::vector<SourceWeightSpec> find_source_weights(const checkpoint::Checkpoint& source,
                                                  const ProgramSpec& program,
                                                  const KeepWeights& keep) {
  return SourceFinder(source, program, keep).run();
}

}  // namespace ingot::convert
