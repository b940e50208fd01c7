// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/tensors/chunked_storage.h"

#include <algorithm>
#include <cstring>

#include "tools/files/failure.h"
#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

using Extents = std::vector<int64_t>;

std::string extents_text(const Extents& extents) {
  std::string out = "[";
  for (size_t d = 0; d < extents.size(); d++) out += (d ? ", " : "") + std::to_string(extents[d]);
  return out + "]";
}

[[noreturn]] void refuse_chunks(const std::string& owner, const std::string& why) {
  host::fail(host::Exit::kCorrupt,
             owner + ": " + why + "; the checkpoint is damaged, or of several trainings");
}

/// Elements, refused where they overflow.
uint64_t elements_of(const Extents& sizes, const std::string& owner) {
  uint64_t count = 1;
  for (const int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(count, uint64_t(size), &count) ||
        count > (uint64_t{1} << 58))
      refuse_chunks(owner, "a shape of " + extents_text(sizes) + " cannot be");
  return count;
}

bool chunks_overlap(const Chunk& a, const Chunk& b) {
  for (size_t d = 0; d < a.offsets.size(); d++)
    if (a.offsets[d] + a.sizes[d] <= b.offsets[d] || b.offsets[d] + b.sizes[d] <= a.offsets[d])
      return false;
  return true;
}

void require_inside(const Extents& dims, const Chunk& chunk, const std::string& owner) {
  bool inside = chunk.offsets.size() == dims.size() && chunk.sizes.size() == dims.size();
  for (size_t d = 0; inside && d < dims.size(); d++)
    inside = chunk.offsets[d] >= 0 && chunk.sizes[d] >= 0 && chunk.offsets[d] <= dims[d] &&
             chunk.sizes[d] <= dims[d] - chunk.offsets[d];
  if (!inside)
    refuse_chunks(owner, "its chunk of " + extents_text(chunk.sizes) + " at " +
                             extents_text(chunk.offsets) + " leaves its shape " +
                             extents_text(dims));
}

/// Inside, apart and together as many elements as the whole: that is every element once.
void require_cover(const Extents& dims, std::vector<Chunk>& chunks, const std::string& owner) {
  const uint64_t count = elements_of(dims, owner);
  uint64_t covered = 0;
  for (const Chunk& chunk : chunks) {
    require_inside(dims, chunk, owner);
    covered += elements_of(chunk.sizes, owner);
    if (covered > count) break;  // they overlap: where is found below
  }
  std::stable_sort(chunks.begin(), chunks.end(),
                   [](const Chunk& a, const Chunk& b) { return a.offsets < b.offsets; });
  for (size_t i = 0; i < chunks.size(); i++)
    for (size_t j = i + 1; j < chunks.size(); j++) {
      host::charge_work(1 + dims.size());
      // behind it in the first dimension, as are all that follow
      if (!dims.empty() && chunks[j].offsets[0] >= chunks[i].offsets[0] + chunks[i].sizes[0]) break;
      if (chunks_overlap(chunks[i], chunks[j]))
        refuse_chunks(owner, "its chunks at " + extents_text(chunks[i].offsets) + " and " +
                                 extents_text(chunks[j].offsets) + " overlap");
    }
  if (covered != count)
    refuse_chunks(owner, "its chunks have " + std::to_string(covered) + " of its " +
                             std::to_string(count) + " elements; get the files of all ranks");
}

/// Takes the dense bytes of a chunk in order to their places in the whole.
class Scatter {
 public:
  Scatter(const Extents& dims, const Chunk& chunk, uint32_t width, uint8_t* whole)
      : chunk_(chunk), whole_(whole), index_(dims.size(), 0), strides_(dims.size(), width) {
    for (size_t d = dims.size(); d-- > 1;) strides_[d - 1] = strides_[d] * uint64_t(dims[d]);
    // dimensions that the chunk has whole lie in one run with the one before them
    for (outer_ = dims.size(); outer_ > 0;) {
      outer_--;
      run_ = strides_[outer_] * uint64_t(chunk.sizes[outer_]);
      if (chunk.sizes[outer_] != dims[outer_]) break;
    }
    if (dims.empty()) run_ = width;
    for (size_t d = 0; d < dims.size(); d++) start_ += uint64_t(chunk.offsets[d]) * strides_[d];
    at_ = start_;
  }
  void add(const uint8_t* bytes, size_t count) {
    while (count > 0) {
      const size_t piece = size_t(std::min<uint64_t>(count, run_ - in_run_));
      std::memcpy(whole_ + at_ + in_run_, bytes, piece);
      bytes += piece, count -= piece, in_run_ += piece;
      if (in_run_ == run_) next_run();
    }
  }

 private:
  void next_run() {
    in_run_ = 0;
    for (size_t d = outer_; d-- > 0;) {
      if (++index_[d] < chunk_.sizes[d]) break;
      index_[d] = 0;
    }
    at_ = start_;
    for (size_t d = 0; d < outer_; d++) at_ += uint64_t(index_[d]) * strides_[d];
  }

  const Chunk& chunk_;
  uint8_t* whole_;
  Extents index_;                  // of the run, in the dimensions before outer_
  std::vector<uint64_t> strides_;  // bytes
  size_t outer_ = 0;
  uint64_t run_ = 0, start_ = 0, at_ = 0, in_run_ = 0;
};

class ChunkedStorage : public Storage {
 public:
  ChunkedStorage(ElementType type, Extents dims, std::vector<Chunk> chunks, uint64_t size,
                 std::string owner)
      : type_(type),
        dims_(std::move(dims)),
        chunks_(std::move(chunks)),
        size_(size),
        owner_(std::move(owner)) {}
  uint64_t size() const override { return size_; }

  Bytes load() const override {
    if (const auto held = last_.lock()) return {held, held->data(), held->size()};
    if (chunks_.size() == 1) {
      const Tensor whole = open(chunks_[0]);
      if (whole.strides == dense_strides(whole.dims)) {
        const Bytes bytes = whole.storage->load();
        return {bytes.owner, bytes.data + whole.offset * element_bytes(type_), size_};
      }
    }
    host::charge_memory(size_);
    host::require_memory(owner_, size_);
    const auto bytes = std::make_shared<std::vector<uint8_t>>(host::zero_bytes(size_));
    for (const Chunk& chunk : chunks_) {
      Scatter scatter(dims_, chunk, element_bytes(type_), bytes->data());
      read_tensor(open(chunk), [&](const void* piece, size_t count) {
        scatter.add(static_cast<const uint8_t*>(piece), count);
        host::note_touched(2 * count);
      });
    }
    last_ = bytes;
    return {bytes, bytes->data(), bytes->size()};
  }

 private:
  Tensor open(const Chunk& chunk) const {
    Tensor tensor = chunk.open();
    if (tensor.type != type_ || tensor.dims != chunk.sizes)
      refuse_chunks(owner_, std::string("its chunk at ") + extents_text(chunk.offsets) + " is " +
                                element_name(tensor.type) + " " + extents_text(tensor.dims) +
                                ", expected " + element_name(type_) + " " +
                                extents_text(chunk.sizes));
    return tensor;
  }

  const ElementType type_;
  const Extents dims_;
  const std::vector<Chunk> chunks_;
  const uint64_t size_;
  const std::string owner_;
  mutable std::weak_ptr<const std::vector<uint8_t>> last_;
};

}  // namespace

std::shared_ptr<const Storage> chunked_storage(ElementType type, const std::vector<int64_t>& dims,
                                               std::vector<Chunk> chunks,
                                               const std::string& owner) {
  const auto is_empty = [](const Chunk& chunk) {
    return std::find(chunk.sizes.begin(), chunk.sizes.end(), 0) != chunk.sizes.end();
  };
  for (const Chunk& chunk : chunks) require_inside(dims, chunk, owner);
  // of a rank that has none of it
  chunks.erase(std::remove_if(chunks.begin(), chunks.end(), is_empty), chunks.end());
  require_cover(dims, chunks, owner);
  const uint64_t size = elements_of(dims, owner) * element_bytes(type);
  return std::make_shared<ChunkedStorage>(type, dims, std::move(chunks), size, owner);
}

}  // namespace ingot::checkpoint
