// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/hdf5/hdf5_file.h - the structure of an HDF5 file: objects, links, attributes,
// datasets. Our own, because libhdf5 reads and writes outside of its memory on damaged files
// (docs/decisions.md). Nothing outside of the given bytes is ever opened.
//   read     superblocks 0 to 3, object headers 1 and 2, symbol tables and compact links,
//            attributes in headers, layouts compact, contiguous and
//            chunked (B-tree 1, one chunk, implicit), filters deflate, shuffle, fletcher32,
//            committed types, global heaps
//   refused  by name: links and storage in other files (kUnsafe), other filters and indices, dense
//            links and attributes (kUnsupported)
// Errors   host::Failure kCorrupt, kUnsafe, kUnsupported.
// Memory   objects are read when asked for; nothing is kept but the file's bytes.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/checkpoint/hdf5/hdf5_types.h"
#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::checkpoint {

struct Hdf5Link {
  std::string name;
  uint64_t object = 0;   // address
  bool is_soft = false;  // leads to a name, which is not followed
};

struct Hdf5Attribute {
  std::string name;
  Hdf5Type type;
  std::vector<int64_t> dims;
  const uint8_t* data = nullptr;  // all elements, in the file
  uint64_t elements = 0;
};

struct Hdf5Filter {
  uint32_t id = 0;
  std::vector<uint32_t> values;
};

enum class Hdf5Layout : uint8_t { kNone, kCompact, kContiguous, kChunked };

struct Hdf5Object {
  uint64_t address = 0;
  bool is_group = false;
  std::vector<Hdf5Link> links;
  std::vector<Hdf5Attribute> attributes;
  bool has_type = false, has_space = false;  // both: a dataset; a type alone is a committed one
  Hdf5Type type;
  std::vector<int64_t> dims;  // slowest first
  bool is_null = false;       // a dataset without elements
  Hdf5Layout layout = Hdf5Layout::kNone;
  // compact and contiguous: in the file; null where nothing was ever written
  const uint8_t* data = nullptr;
  uint64_t data_bytes = 0;
  std::vector<uint64_t> chunk;  // extents of a chunk, of the dataset's rank
  // address of the chunks' index; UINT64_MAX: nothing was ever written
  uint64_t index = UINT64_MAX;
  uint8_t index_kind = 0;         // 0: B-tree 1; 1: one chunk; 2: implicit
  uint64_t only_chunk_bytes = 0;  // of index kind 1
  std::vector<Hdf5Filter> filters;
  std::vector<uint8_t> fill;  // one element; empty: zeros

  bool is_dataset() const { return has_type && has_space; }
  uint64_t elements() const;
  const Hdf5Attribute* attribute(const std::string& name) const;
};

class Hdf5File {
 public:
  /// `bytes` hold the whole file. `where` begins every error.
  static std::shared_ptr<const Hdf5File> open(Bytes bytes, const std::string& where);

  const std::string& where() const { return where_; }
  uint64_t size() const { return bytes_.size; }
  uint64_t root() const { return root_; }
  [[noreturn]] void refuse(const std::string& why) const;

  /// The object at an address, as links and references have them.
  Hdf5Object object(uint64_t address) const;
  /// Where a dataset's elements lie: a part of the file, or what is unpacked when it is loaded.
  std::shared_ptr<const Storage> storage(const Hdf5Object& dataset, const std::string& where) const;
  /// Texts of fixed or variable length that lie one behind the other.
  std::vector<std::string> texts(const Hdf5Type& type, const uint8_t* data, uint64_t count) const;
  /// A plain attribute of one element: number, truth or text. monostate for anything else.
  FactValue value(const Hdf5Attribute& attribute) const;
  /// An element of variable length: its items' bytes and their number. `element` has the file's
  /// width of one.
  Cursor heap_object(const uint8_t* element, uint64_t* items) const;
  uint32_t address_bytes() const { return offset_bytes_; }
  uint64_t variable_bytes() const { return 8 + offset_bytes_; }  // of an element of variable length

 private:
  friend class Hdf5ObjectReader;
  Hdf5File() = default;
  void read_superblock();
  /// The bytes at an address; `most` of them or as many as there are.
  Cursor at(uint64_t address, uint64_t most = UINT64_MAX) const;
  bool defined(uint64_t address) const { return address != undefined_; }
  /// Objects of a heap by number, listed once: each text of an array asks for one.
  using HeapObjects = std::unordered_map<uint64_t, std::pair<const uint8_t*, uint64_t>>;
  const HeapObjects& heap(uint64_t address) const;

  Bytes bytes_;
  std::string where_;
  uint64_t base_ = 0, root_ = 0, undefined_ = UINT64_MAX;
  uint32_t offset_bytes_ = 8, length_bytes_ = 8;
  mutable std::map<uint64_t, HeapObjects> heaps_;  // a file is read by one thread
};

/// Chunks of a dataset one by one: address in the file, packed bytes, where they begin in the
/// dataset.
struct Hdf5Chunk {
  const uint8_t* data = nullptr;
  uint64_t bytes = 0;
  uint32_t skipped_filters = 0;
  std::vector<uint64_t> start;
};

/// Unpacks chunks into `out`, which has the dataset's bytes. @throws Failure kCorrupt.
void unpack_hdf5_chunks(const Hdf5Object& dataset, const std::vector<Hdf5Chunk>& chunks,
                        const std::string& where, uint8_t* out);
/// @throws Failure kUnsupported for filters that are not read.
void check_hdf5_filters(const std::vector<Hdf5Filter>& filters, const std::string& where);

}  // namespace ingot::checkpoint
