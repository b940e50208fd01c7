// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/hdf5/hdf5_chunks.cpp - elements of datasets: as they lie, or unpacked from
// chunks.
#include <algorithm>
#include <cstring>
#include <set>

#ifdef INGOT_HAVE_ZLIB
#include <zlib.h>
#endif

#include "tools/checkpoint/hdf5/hdf5_file.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr uint64_t kWidest = 1100;          // deflate cannot pack tighter than 1032:1
constexpr uint64_t kAlwaysFree = 1u << 20;  // elements that were never written are made of nothing
constexpr uint32_t kDeflate = 1, kShuffle = 2, kFletcher = 3;

class SliceStorage : public Storage {
 public:
  explicit SliceStorage(Bytes bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size; }
  Bytes load() const override { return bytes_; }

 private:
  Bytes bytes_;
};

std::vector<uint8_t> filled(const Hdf5Object& dataset) {
  const uint64_t size = dataset.elements() * dataset.type.size;
  host::require_memory("a dataset of " + std::to_string(size) + " bytes", size);
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  if (!dataset.fill.empty())
    for (size_t i = 0; i < bytes.size(); i += dataset.fill.size())
      std::memcpy(bytes.data() + i, dataset.fill.data(), dataset.fill.size());
  return bytes;
}

/// Unpacked each time it is loaded.
class PackedStorage : public Storage {
 public:
  PackedStorage(std::shared_ptr<const void> owner, Hdf5Object dataset,
                std::vector<Hdf5Chunk> chunks, std::string where)
      : owner_(std::move(owner)),
        dataset_(std::move(dataset)),
        chunks_(std::move(chunks)),
        where_(std::move(where)) {}
  uint64_t size() const override { return dataset_.elements() * dataset_.type.size; }
  Bytes load() const override {
    auto bytes = std::make_shared<std::vector<uint8_t>>(filled(dataset_));
    unpack_hdf5_chunks(dataset_, chunks_, where_, bytes->data());
    return {bytes, bytes->data(), bytes->size()};
  }

 private:
  std::shared_ptr<const void> owner_;  // of the chunks' bytes
  Hdf5Object dataset_;
  std::vector<Hdf5Chunk> chunks_;
  std::string where_;
};

std::vector<uint8_t> inflate_chunk(const std::vector<uint8_t>& packed, uint64_t most,
                                   const std::string& where) {
#ifdef INGOT_HAVE_ZLIB
  std::vector<uint8_t> out(static_cast<size_t>(most));
  uLongf size = uLongf(out.size());
  const int result = uncompress(out.data(), &size, packed.data(), uLong(packed.size()));
  if (result != Z_OK)
    host::fail(host::Exit::kCorrupt, where + ": a chunk cannot be unpacked; get the file anew");
  out.resize(size);
  return out;
#else
  (void)packed, (void)most;
  host::fail(host::Exit::kUnsupported, where +
                                           ": is deflated, and this program was built without "
                                           "zlib; build it with zlib1g-dev installed");
#endif
}

std::vector<uint8_t> unshuffle(const std::vector<uint8_t>& bytes, size_t width) {
  std::vector<uint8_t> out(bytes.size());
  const size_t count = width ? bytes.size() / width : 0;
  for (size_t b = 0; b < width; b++)
    for (size_t i = 0; i < count; i++) out[i * width + b] = bytes[b * count + i];
  std::copy(bytes.begin() + int64_t(count * width), bytes.end(),
            out.begin() + int64_t(count * width));
  return out;
}

std::vector<uint8_t> unpack(const Hdf5Object& dataset, const Hdf5Chunk& chunk, uint64_t expected,
                            const std::string& where) {
  std::vector<uint8_t> bytes(chunk.data, chunk.data + chunk.bytes);
  for (size_t i = dataset.filters.size(); i-- > 0;) {
    if (chunk.skipped_filters & (1u << i)) continue;
    const Hdf5Filter& filter = dataset.filters[i];
    if (filter.id == kDeflate) bytes = inflate_chunk(bytes, expected + 4, where);
    if (filter.id == kShuffle)
      bytes =
          unshuffle(bytes, filter.values.empty() ? size_t(dataset.type.size) : filter.values[0]);
    if (filter.id == kFletcher) {
      if (bytes.size() < 4)
        host::fail(host::Exit::kCorrupt,
                   where + ": a chunk without its checksum; get the file anew");
      bytes.resize(bytes.size() - 4);
    }
  }
  if (bytes.size() != expected)
    host::fail(host::Exit::kCorrupt, where + ": a chunk has " + std::to_string(bytes.size()) +
                                         " bytes, expected " + std::to_string(expected) +
                                         "; get the file anew");
  return bytes;
}

}  // namespace

void check_hdf5_filters(const std::vector<Hdf5Filter>& filters, const std::string& where) {
  static const std::pair<uint32_t, const char*> kKnown[] = {
      {4, "szip"},      {5, "n-bit"},   {6, "scale-offset"}, {32000, "LZF"},
      {32001, "Blosc"}, {32004, "LZ4"}, {32015, "zstd"}};
  for (const Hdf5Filter& filter : filters) {
    if (filter.id >= kDeflate && filter.id <= kFletcher) continue;
    std::string name = "unknown";
    for (const auto& [id, known] : kKnown)
      if (id == filter.id) name = known;
    host::fail(host::Exit::kUnsupported,
               where + " is packed with the filter " + std::to_string(filter.id) + " (" + name +
                   "); deflate, shuffle and fletcher32 are read, save it with one of them");
  }
}

void unpack_hdf5_chunks(const Hdf5Object& dataset, const std::vector<Hdf5Chunk>& chunks,
                        const std::string& where, uint8_t* out) {
  const size_t rank = dataset.dims.size();
  const uint64_t width = dataset.type.size;
  uint64_t expected = width;
  for (const uint64_t d : dataset.chunk) expected *= d;
  for (const Hdf5Chunk& chunk : chunks) {
    const std::vector<uint8_t> bytes = unpack(dataset, chunk, expected, where);
    // Rows of the chunk that lie in the dataset, one by one.
    std::vector<uint64_t> at(rank, 0);
    const uint64_t row = rank ? std::min(dataset.chunk[rank - 1],
                                         uint64_t(dataset.dims[rank - 1]) - chunk.start[rank - 1])
                              : 1;
    for (bool more = true; more;) {
      uint64_t from = 0, to = 0;
      for (size_t d = 0; d < rank; d++) {
        from = from * dataset.chunk[d] + at[d];
        to = to * uint64_t(dataset.dims[d]) + chunk.start[d] + at[d];
      }
      std::memcpy(out + to * width, bytes.data() + from * width, size_t(row * width));
      more = false;
      for (size_t d = rank > 0 ? rank - 1 : 0; d-- > 0;) {
        if (++at[d] < dataset.chunk[d] && chunk.start[d] + at[d] < uint64_t(dataset.dims[d])) {
          more = true;
          break;
        }
        at[d] = 0;
      }
    }
  }
}

/// Where the chunks of one dataset lie.
class Hdf5ChunkIndex {
 public:
  Hdf5ChunkIndex(const Hdf5File& file, const Hdf5Object& dataset, const std::string& where,
                 const uint8_t* first, uint64_t size, uint32_t offset_bytes)
      : file_(file),
        dataset_(dataset),
        where_(where),
        first_(first),
        size_(size),
        offset_bytes_(offset_bytes) {
    bytes_ = dataset.type.size;
    for (const uint64_t d : dataset.chunk)
      if (d == 0 || __builtin_mul_overflow(bytes_, d, &bytes_))
        file.refuse(where + " has chunks whose size overflows");
    if (bytes_ > kWidest * file.size() + kAlwaysFree)
      file.refuse(where + " has chunks of " + std::to_string(bytes_) + " bytes");
  }

  std::vector<Hdf5Chunk> read() {
    if (dataset_.index == UINT64_MAX) return {};
    if (dataset_.index_kind == 0) {
      node(dataset_.index, 16);
    } else if (dataset_.index_kind == 1) {
      const uint64_t packed = dataset_.only_chunk_bytes ? dataset_.only_chunk_bytes : bytes_;
      add(dataset_.index, packed, 0, std::vector<uint64_t>(dataset_.dims.size(), 0));
    } else {
      implicit();
    }
    // Unpacking is bounded by the data, not by how large a chunk says it is.
    uint64_t all = 0, data = dataset_.elements() * dataset_.type.size;
    if (__builtin_mul_overflow(bytes_, uint64_t(out_.size()), &all) ||
        all / 64 > data + kAlwaysFree)
      file_.refuse(where_ + " has chunks of " + std::to_string(bytes_) + " bytes for data of " +
                   std::to_string(data));
    return std::move(out_);
  }

 private:
  Cursor at(uint64_t address) const {
    if (address > size_)
      file_.refuse("address " + std::to_string(address) + " lies behind its " +
                   std::to_string(size_) + " bytes");
    return Cursor(first_ + address, size_ - address, file_.where());
  }
  void add(uint64_t address, uint64_t bytes, uint32_t skipped, std::vector<uint64_t> start) {
    Cursor in = at(address);
    Hdf5Chunk chunk;
    chunk.data = in.bytes(bytes, "a chunk");
    chunk.bytes = bytes;
    chunk.skipped_filters = skipped;
    for (size_t d = 0; d < start.size(); d++)
      if (start[d] >= uint64_t(dataset_.dims[d]) || start[d] % dataset_.chunk[d])
        file_.refuse(where_ + " has a chunk outside of it");
    if (!starts_.insert(start).second) file_.refuse(where_ + " has the same chunk twice");
    chunk.start = std::move(start);
    host::charge_metadata(sizeof chunk + 64 + 2 * chunk.start.size() * sizeof(uint64_t));
    out_.push_back(std::move(chunk));
  }
  void node(uint64_t address, int depth) {
    if (!seen_.insert(address).second || depth == 0)
      file_.refuse("the index of " + where_ + " leads in a circle");
    Cursor in = at(address);
    in.expect("TREE", 4);
    if (in.number(1, "an index") != 1) in.refuse("an index of another kind");
    const uint64_t level = in.number(1, "an index"), used = in.number(2, "an index");
    in.bytes(2 * offset_bytes_, "an index");
    for (uint64_t i = 0; i < used; i++) {
      const uint64_t bytes = in.number(4, "an index"), skipped = in.number(4, "an index");
      std::vector<uint64_t> start;
      for (size_t d = 0; d < dataset_.dims.size(); d++) start.push_back(in.number(8, "an index"));
      in.bytes(8, "an index");
      const uint64_t child = in.number(offset_bytes_, "an index");
      if (level)
        node(child, depth - 1);
      else
        add(child, bytes, uint32_t(skipped), std::move(start));
    }
  }
  /// One behind the other, in the order of their places.
  void implicit() {
    std::vector<uint64_t> start(dataset_.dims.size(), 0);
    for (uint64_t n = 0;; n++) {
      add(dataset_.index + n * bytes_, bytes_, 0, start);
      size_t d = start.size();
      while (d-- > 0) {
        start[d] += dataset_.chunk[d];
        if (start[d] < uint64_t(dataset_.dims[d])) break;
        start[d] = 0;
      }
      if (d == SIZE_MAX) return;
    }
  }

  const Hdf5File& file_;
  const Hdf5Object& dataset_;
  const std::string& where_;
  const uint8_t* first_;
  uint64_t size_, bytes_ = 0;
  uint32_t offset_bytes_;
  std::vector<Hdf5Chunk> out_;
  std::set<std::vector<uint64_t>> starts_;
  std::set<uint64_t> seen_;
};

std::shared_ptr<const Storage> Hdf5File::storage(const Hdf5Object& dataset,
                                                 const std::string& where) const {
  uint64_t bytes;
  if (__builtin_mul_overflow(dataset.elements(), dataset.type.size, &bytes))
    refuse(where + ": its size overflows");
  if (dataset.layout != Hdf5Layout::kChunked) {
    if (dataset.data)
      return std::make_shared<SliceStorage>(Bytes{bytes_.owner, dataset.data, bytes});
    if (bytes > kAlwaysFree)
      refuse(where + " has " + std::to_string(bytes) + " bytes that were never written");
    return memory_storage(filled(dataset));
  }
  check_hdf5_filters(dataset.filters, where_ + ": " + where);
  if (bytes > kWidest * size() + kAlwaysFree)
    refuse(where + " takes " + std::to_string(bytes) + " bytes, and the file has " +
           std::to_string(size()));
  if (bytes == 0) return memory_storage({});
  std::vector<Hdf5Chunk> chunks =
      Hdf5ChunkIndex(*this, dataset, where, bytes_.data + base_, size() - base_, offset_bytes_)
          .read();
  uint64_t packed = 0;
  for (const Hdf5Chunk& chunk : chunks) packed += chunk.bytes;
  if (bytes / kWidest > packed + kAlwaysFree / kWidest)
    refuse(where + " has " + std::to_string(bytes) + " bytes from " + std::to_string(packed));
  return std::make_shared<PackedStorage>(bytes_.owner, dataset, std::move(chunks),
                                         where_ + ": " + where);
}

}  // namespace ingot::checkpoint
