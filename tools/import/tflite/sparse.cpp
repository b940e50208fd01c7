// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/sparse.cpp - sparse constants made dense: dimensions are walked in the order
// that the file gives, each dense or a list of the places that are there.
#include <cstring>

#include "tools/files/work_budget.h"
#include "tools/import/tflite/model_file.h"

namespace ingot::tflite {
namespace {

/// SparseNumbers of one of the three vectors, or none.
class SparseNumbers {
 public:
  SparseNumbers(fb::IndexVector type, const void* table) : type_(type), table_(table) {}
  size_t size() const {
    return visit([](const auto* values) { return values ? size_t(values->size()) : size_t(0); });
  }
  int64_t at(size_t i) const {
    return visit([&](const auto* values) { return size_t(values->Get(uint32_t(i))); });
  }

 private:
  template <class See>
  size_t visit(See&& see) const {
    if (!table_) return 0;
    switch (type_) {
      case fb::IndexVector::Int32Vector:
        return size_t(see(static_cast<const fb::Int32Vector*>(table_)->values()));
      case fb::IndexVector::Uint16Vector:
        return size_t(see(static_cast<const fb::Uint16Vector*>(table_)->values()));
      case fb::IndexVector::Uint8Vector:
        return size_t(see(static_cast<const fb::Uint8Vector*>(table_)->values()));
      default: return 0;
    }
  }
  fb::IndexVector type_;
  const void* table_;
};

struct Level {
  bool dense = true;
  int64_t extent = 0;  // of a dense one
  size_t axis = 0;     // of the tensor, which it is part of
  int64_t scale = 1;   // elements of the axis for one step of it
  SparseNumbers segments, indices;
};

class Expander {
 public:
  Expander(const ModelFile& file, const fb::Tensor& t, const std::string& name,
           const ModelFile::Bytes& values, size_t bytes)
      : file_(file), name_(name), values_(values), bytes_(bytes), dims_(ModelFile::shape(t)) {
    const fb::Sparsity& sparsity = *t.sparsity();
    read_levels(sparsity);
    uint64_t total = bytes;
    for (const int64_t d : dims_)
      if (d < 0 || __builtin_mul_overflow(total, uint64_t(d), &total))
        corrupt("its size overflows");
    host::charge_memory(total);
    out_.assign(size_t(total), 0);
  }

  std::vector<uint8_t> run() {
    std::vector<int64_t> place(dims_.size(), 0);
    walk(0, 0, place);
    if (next_ * bytes_ != values_.size) corrupt("its places are fewer than its values");
    return std::move(out_);
  }

 private:
  [[noreturn]] void corrupt(const std::string& why) const {
    file_.corrupt("sparse tensor '" + name_ + "': " + why);
  }

  void read_levels(const fb::Sparsity& sparsity) {
    const auto* order = sparsity.traversal_order();
    const auto* metadata = sparsity.dim_metadata();
    const auto* blocks = sparsity.block_map();
    const size_t rank = dims_.size(), count = order ? order->size() : 0,
                 inner = blocks ? blocks->size() : 0;
    if (rank == 0 || count != rank + inner || !metadata || metadata->size() != count || count > 16)
      corrupt("its dimensions are not those of its shape");
    std::vector<int64_t> block(rank, 1);
    std::vector<bool> seen(count, false);
    for (size_t i = 0; i < count; i++) {
      const int64_t at = order->Get(uint32_t(i));
      if (at < 0 || size_t(at) >= count || seen[size_t(at)])
        corrupt("its order of dimensions is none");
      seen[size_t(at)] = true;
      const fb::DimensionMetadata& given = *metadata->Get(uint32_t(i));
      Level level{given.format() == fb::DimensionFormat::dense,
                  given.dense_size(),
                  size_t(at),
                  1,
                  SparseNumbers(given.array_segments_type(), given.array_segments()),
                  SparseNumbers(given.array_indices_type(), given.array_indices())};
      if (level.dense && level.extent < 0) corrupt("a dimension of it is negative");
      if (size_t(at) >= rank) {
        const int64_t axis = blocks->Get(uint32_t(size_t(at) - rank));
        if (axis < 0 || size_t(axis) >= rank || !level.dense || level.extent < 1 ||
            block[size_t(axis)] != 1)
          corrupt("its blocks are of no dimension");
        level.axis = size_t(axis);
        block[size_t(axis)] = level.extent;
        is_block_.push_back(true);
      } else {
        is_block_.push_back(false);
      }
      levels_.push_back(level);
    }
    for (size_t i = 0; i < count; i++)
      if (!is_block_[i]) levels_[i].scale = block[levels_[i].axis];
  }

  /// `path`: which of the entries of the level above.
  void walk(size_t depth, int64_t path, std::vector<int64_t>& place) {
    host::charge_work(1);
    if (depth == levels_.size()) return put(place);
    const Level& level = levels_[depth];
    const auto step = [&](int64_t index, int64_t entry) {
      const int64_t before = place[level.axis];
      int64_t moved = 0;
      if (__builtin_mul_overflow(index, level.scale, &moved) ||
          __builtin_add_overflow(before, moved, &place[level.axis]) ||
          place[level.axis] >= dims_[level.axis])
        corrupt("a value of it lies outside of its shape");
      walk(depth + 1, entry, place);
      place[level.axis] = before;
    };
    if (level.dense) {
      int64_t first = 0;
      if (__builtin_mul_overflow(path, level.extent, &first)) corrupt("its size overflows");
      for (int64_t i = 0; i < level.extent; i++) step(i, first + i);
      return;
    }
    if (path < 0 || size_t(path) + 1 >= level.segments.size())
      corrupt("its list of segments is too short");
    const int64_t begin = level.segments.at(size_t(path)),
                  end = level.segments.at(size_t(path) + 1);
    if (begin < 0 || end < begin || size_t(end) > level.indices.size())
      corrupt("its list of indices is too short");
    for (int64_t i = begin; i < end; i++) {
      const int64_t index = level.indices.at(size_t(i));
      if (index < 0) corrupt("an index of it is negative");
      step(index, i);
    }
  }

  void put(const std::vector<int64_t>& place) {
    size_t at = 0;
    for (size_t d = 0; d < dims_.size(); d++) at = at * size_t(dims_[d]) + size_t(place[d]);
    if ((next_ + 1) * bytes_ > values_.size) corrupt("its places are more than its values");
    std::memcpy(out_.data() + at * bytes_, values_.data + next_ * bytes_, bytes_);
    next_++;
  }

  const ModelFile& file_;
  const std::string& name_;
  const ModelFile::Bytes& values_;
  const size_t bytes_;
  std::vector<int64_t> dims_;
  std::vector<Level> levels_;
  std::vector<bool> is_block_;
  std::vector<uint8_t> out_;
  uint64_t next_ = 0;
};

}  // namespace

std::vector<uint8_t> dense_of(const ModelFile& file, const fb::Tensor& t, const std::string& name,
                              const ModelFile::Bytes& values, size_t bytes) {
  return Expander(file, t, name, values, bytes).run();
}

}  // namespace ingot::tflite
