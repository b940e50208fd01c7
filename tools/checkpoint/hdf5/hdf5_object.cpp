// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/hdf5/hdf5_object.cpp - object headers and their messages, symbol tables.
#include <set>

#include "tools/checkpoint/hdf5/hdf5_file.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {

constexpr uint64_t kMaxHdf5Messages = 1u << 20, kMaxHdf5Rank = 32;
constexpr const char* kRepack =
    "write it again with h5repack --low=0 --high=0, or h5py's libver='earliest'";

/// One object header while it is read.
class Hdf5ObjectReader {
 public:
  explicit Hdf5ObjectReader(const Hdf5File& file) : file_(file) {}

  Hdf5Object read(uint64_t address) {
    out_.address = address;
    Cursor in = file_.at(address);
    if (in.left() >= 4 && in.here()[0] == 'O')
      read_header_2(in, address);
    else
      read_header_1(in, address);
    validate();
    return std::move(out_);
  }

 private:
  void read_header_1(Cursor in, uint64_t address) {
    if (in.number(1, "an object") != 1)
      file_.refuse("no object at address " + std::to_string(address));
    in.bytes(1, "an object");
    messages_left_ = in.number(2, "an object");
    in.bytes(4, "an object");
    const uint64_t size = in.number(4, "an object");
    in.bytes(4, "an object");
    if (size > in.left()) in.refuse("an object header of " + std::to_string(size) + " bytes");
    read_block_1(Cursor(in.here(), size, in.where()));
  }
  void read_block_1(Cursor in) {
    while (in.left() >= 8 && messages_left_ > 0) {
      messages_left_--;
      const uint64_t type = in.number(2, "a message"), size = in.number(2, "a message"),
                     flags = in.number(1, "a message");
      in.bytes(3, "a message");
      message(type, flags, Cursor(in.bytes(size, "a message"), size, in.where()), false);
    }
  }
  void read_header_2(Cursor in, uint64_t address) {
    in.expect("OHDR", 4);
    if (in.number(1, "an object") != 2)
      file_.refuse("an object of another version at address " + std::to_string(address));
    flags_ = in.number(1, "an object");
    if (flags_ & 0x20) in.bytes(16, "an object");
    if (flags_ & 0x10) in.bytes(4, "an object");
    const uint64_t size = in.number(1u << (flags_ & 3), "an object");
    if (size > in.left()) in.refuse("an object header of " + std::to_string(size) + " bytes");
    messages_left_ = kMaxHdf5Messages;
    read_block_2(Cursor(in.here(), size, in.where()));
  }
  void read_block_2(Cursor in) {
    const uint64_t head = flags_ & 4 ? 6 : 4;
    while (in.left() >= head && messages_left_ > 0) {
      messages_left_--;
      const uint64_t type = in.number(1, "a message"), size = in.number(2, "a message"),
                     flags = in.number(1, "a message");
      if (flags_ & 4) in.bytes(2, "a message");
      message(type, flags, Cursor(in.bytes(size, "a message"), size, in.where()), true);
    }
  }
  void continuation(Cursor in, bool second) {
    const uint64_t address = in.number(file_.offset_bytes_, "a continuation"),
                   size = in.number(file_.length_bytes_, "a continuation");
    if (!blocks_.insert(address).second) file_.refuse("an object continues in itself");
    if (blocks_.size() > 512) file_.refuse("an object in more than 512 pieces");
    Cursor block = file_.at(address, size);
    if (block.left() < size) block.refuse("a continuation of " + std::to_string(size) + " bytes");
    if (!second) return read_block_1(block);
    block.expect("OCHK", 4);
    if (block.left() < 4) block.refuse("a continuation of " + std::to_string(size) + " bytes");
    read_block_2(Cursor(block.here(), block.left() - 4, block.where()));
  }

  void message(uint64_t type, uint64_t flags, Cursor in, bool second) {
    host::charge_work(1 + in.left() / 16);
    switch (type) {
      case 0x01: out_.has_space = true; return space(in, &out_.dims, &out_.is_null);
      case 0x02: return link_info(in);
      case 0x03:
        out_.has_type = true;
        out_.type = flags & 2 ? committed(in) : read_hdf5_type(in);
        return;
      case 0x05: return fill(in);
      case 0x06: return link(in);
      case 0x07:
        host::fail(
            host::Exit::kUnsafe,
            file_.where() +
                ": a dataset keeps its elements in another file, which is never opened; copy "
                "them into this file");
      case 0x08: return layout(in);
      case 0x0b: return pipeline(in);
      case 0x0c: return attribute(in);
      case 0x10: return continuation(in, second);
      case 0x11: return symbol_table(in);
      case 0x15: return attribute_info(in);
      default: return;
    }
  }

  void space(Cursor in, std::vector<int64_t>* dims, bool* null) {
    const uint64_t version = in.number(1, "extents"), rank = in.number(1, "extents"),
                   flags = in.number(1, "extents");
    if (version < 1 || version > 2 || rank > kMaxHdf5Rank)
      in.refuse("extents of rank " + std::to_string(rank));
    (void)flags;
    const uint64_t kind = in.number(1, "extents");  // reserved in version 1
    if (version == 1) in.bytes(4, "extents");
    *null = version == 2 && kind == 2;
    dims->clear();
    uint64_t elements = 1;
    for (uint64_t d = 0; d < rank; d++) {
      const uint64_t n = in.number(file_.length_bytes_, "extents");
      if (n > (uint64_t{1} << 48) || __builtin_mul_overflow(elements, n ? n : 1, &elements))
        in.refuse("extents that overflow");
      dims->push_back(int64_t(n));
    }
  }

  /// A type that is an object of its own.
  Hdf5Type committed(Cursor in) {
    const uint64_t version = in.number(1, "a shared type"), kind = in.number(1, "a shared type");
    if (version == 1) in.bytes(6, "a shared type");
    if (version < 1 || version > 3 || (version == 3 && kind != 2))
      in.refuse("a shared type of kind " + std::to_string(kind));
    const uint64_t address = in.number(file_.offset_bytes_, "a shared type");
    return committed_type(address);
  }
  Hdf5Type committed_type(uint64_t address) {
    if (sharing_) file_.refuse("a committed type shares its own type");
    Hdf5ObjectReader inner(file_);
    inner.sharing_ = true;
    Hdf5Object object = inner.read(address);
    if (!object.has_type || object.has_space)
      file_.refuse("no committed type at address " + std::to_string(address));
    object.type.committed = address;
    return std::move(object.type);
  }

  void attribute(Cursor in) {
    // of a committed type: its attributes are read when it is asked for itself
    if (sharing_) return;
    Hdf5Attribute a;
    const uint64_t version = in.number(1, "an attribute"), flags = in.number(1, "an attribute");
    if (version < 1 || version > 3) in.refuse("an attribute of version " + std::to_string(version));
    const uint64_t name = in.number(2, "an attribute"), type = in.number(2, "an attribute"),
                   extents = in.number(2, "an attribute");
    if (version == 3) in.bytes(1, "an attribute");
    const uint64_t unit = version == 1 ? 8 : 1;
    const auto part = [&](uint64_t size, const char* what) {
      const uint8_t* data = in.bytes(size, what);
      in.bytes((unit - size % unit) % unit, what);
      return Cursor(data, size, in.where());
    };
    Cursor text = part(name, "an attribute's name");
    a.name = text.text("an attribute's name");
    Cursor type_in = part(type, "an attribute's type");
    a.type = version > 1 && (flags & 1) ? committed(type_in) : read_hdf5_type(type_in);
    if (version > 1 && (flags & 2))
      unsupported("attribute '" + a.name + "' shares its extents with another");
    bool null = false;
    space(part(extents, "an attribute's extents"), &a.dims, &null);
    a.elements = null ? 0 : 1;
    for (const int64_t d : a.dims) a.elements *= uint64_t(d);
    uint64_t bytes;
    if (__builtin_mul_overflow(a.elements, a.type.size, &bytes))
      in.refuse("an attribute whose size overflows");
    a.data = in.bytes(bytes, "an attribute's value");
    host::charge_metadata(sizeof a + host::text_memory(a.name.size()));
    out_.attributes.push_back(std::move(a));
  }

  [[noreturn]] void unsupported(const std::string& what) const {
    host::fail(host::Exit::kUnsupported,
               file_.where() + ": " + what + ", which is not read; " + kRepack);
  }

  void link_info(Cursor in) {
    in.bytes(1, "a group");
    out_.is_group = true;
    const uint64_t flags = in.number(1, "a group");
    if (flags & 1) in.bytes(8, "a group");
    if (file_.defined(in.number(file_.offset_bytes_, "a group")))
      unsupported("a group keeps its links in a heap of the newer kind");
  }
  void attribute_info(Cursor in) {
    in.bytes(1, "attributes");
    const uint64_t flags = in.number(1, "attributes");
    if (flags & 1) in.bytes(2, "attributes");
    if (file_.defined(in.number(file_.offset_bytes_, "attributes")))
      unsupported("an object keeps its attributes in a heap of the newer kind");
  }

  [[noreturn]] void leads_out(const std::string& name) const {
    host::fail(host::Exit::kUnsafe, file_.where() + ": '" + name +
                                        "' is a link to another file, which is never followed; "
                                        "copy what it names into this file");
  }
  void link(Cursor in) {
    out_.is_group = true;
    if (in.number(1, "a link") != 1) in.refuse("a link of another version");
    const uint64_t flags = in.number(1, "a link"), kind = flags & 8 ? in.number(1, "a link") : 0;
    if (flags & 4) in.bytes(8, "a link");
    if (flags & 0x10) in.bytes(1, "a link");
    const uint64_t length = in.number(1u << (flags & 3), "a link");
    const uint8_t* name = in.bytes(length, "a link's name");
    Hdf5Link made;
    made.name.assign(reinterpret_cast<const char*>(name), size_t(length));
    if (kind > 1) leads_out(made.name);
    made.is_soft = kind == 1;
    if (kind == 0) made.object = in.number(file_.offset_bytes_, "a link");
    add_link(std::move(made));
  }
  void add_link(Hdf5Link made) {
    host::charge_work(1);
    host::charge_metadata(sizeof made + host::text_memory(made.name.size()));
    out_.links.push_back(std::move(made));
  }

  void symbol_table(Cursor in) {
    out_.is_group = true;
    const uint64_t tree = in.number(file_.offset_bytes_, "a group"),
                   heap = in.number(file_.offset_bytes_, "a group");
    Cursor head = file_.at(heap);
    head.expect("HEAP", 4);
    head.bytes(4, "a group's names");
    const uint64_t size = head.number(file_.length_bytes_, "a group's names");
    head.bytes(file_.length_bytes_, "a group's names");
    const Cursor names = file_.at(head.number(file_.offset_bytes_, "a group's names"), size);
    std::set<uint64_t> seen;
    tree_node(tree, names, &seen, 16);
  }
  void tree_node(uint64_t address, const Cursor& names, std::set<uint64_t>* seen, int depth) {
    if (!seen->insert(address).second || depth == 0)
      file_.refuse("a group's links lead in a circle");
    Cursor in = file_.at(address);
    if (in.left() >= 4 && in.here()[0] == 'S') return symbols(in, names);
    in.expect("TREE", 4);
    if (in.number(1, "a group's links") != 0) in.refuse("an index of another kind");
    in.bytes(1, "a group's links");
    const uint64_t used = in.number(2, "a group's links");
    in.bytes(2 * file_.offset_bytes_, "a group's links");
    for (uint64_t i = 0; i < used; i++) {
      in.bytes(file_.length_bytes_, "a group's links");
      tree_node(in.number(file_.offset_bytes_, "a group's links"), names, seen, depth - 1);
    }
  }
  void symbols(Cursor in, const Cursor& names) {
    in.expect("SNOD", 4);
    in.bytes(2, "a group's links");
    const uint64_t count = in.number(2, "a group's links");
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t name = in.number(file_.offset_bytes_, "a link");
      Hdf5Link made;
      made.object = in.number(file_.offset_bytes_, "a link");
      made.is_soft = in.number(4, "a link") == 2;
      in.bytes(20, "a link");
      Cursor text = names;
      text.bytes(name, "a link's name");
      made.name = text.text("a link's name");
      add_link(std::move(made));
    }
  }

  void fill(Cursor in) {
    const uint64_t version = in.number(1, "a fill value");
    uint64_t size = 0;
    if (version == 3) {
      if (in.number(1, "a fill value") & 0x20) size = in.number(4, "a fill value");
    } else if (version >= 1) {
      in.bytes(2, "a fill value");
      if (in.number(1, "a fill value") || version == 1) size = in.number(4, "a fill value");
    }
    const uint8_t* data = in.bytes(size, "a fill value");
    out_.fill.assign(data, data + size);
  }

  void layout(Cursor in) {
    const uint64_t version = in.number(1, "a layout");
    if (version == 1 || version == 2) return old_layout(in);
    if (version != 3 && version != 4) in.refuse("a layout of version " + std::to_string(version));
    switch (in.number(1, "a layout")) {
      case 0:
        out_.layout = Hdf5Layout::kCompact;
        out_.data_bytes = in.number(2, "a layout");
        out_.data = in.bytes(out_.data_bytes, "a layout");
        return;
      case 1: {
        out_.layout = Hdf5Layout::kContiguous;
        const uint64_t address = in.number(file_.offset_bytes_, "a layout");
        return contiguous(address, in.number(file_.length_bytes_, "a layout"));
      }
      case 2: return version == 3 ? chunked_3(in) : chunked_4(in);
      case 3:
        host::fail(host::Exit::kUnsafe,
                   file_.where() +
                       ": a virtual dataset takes its elements from other files, which are never "
                       "opened; copy them into this file");
      default: in.refuse("a layout of another class");
    }
  }
  void old_layout(Cursor in) {
    const uint64_t rank = in.number(1, "a layout"), kind = in.number(1, "a layout");
    in.bytes(5, "a layout");
    if (rank > kMaxHdf5Rank + 1 || kind > 2) in.refuse("a layout of rank " + std::to_string(rank));
    const uint64_t address = kind == 0 ? 0 : in.number(file_.offset_bytes_, "a layout");
    std::vector<uint64_t> dims;
    for (uint64_t d = 0; d < rank; d++) dims.push_back(in.number(4, "a layout"));
    if (kind == 0) {
      out_.layout = Hdf5Layout::kCompact;
      out_.data_bytes = in.number(4, "a layout");
      out_.data = in.bytes(out_.data_bytes, "a layout");
    } else if (kind == 1) {
      out_.layout = Hdf5Layout::kContiguous;
      uint64_t bytes = 1;
      for (const uint64_t d : dims)
        if (__builtin_mul_overflow(bytes, d, &bytes)) in.refuse("a layout that overflows");
      contiguous(address, bytes);
    } else {
      if (!dims.empty()) dims.pop_back();  // the element's bytes
      out_.layout = Hdf5Layout::kChunked;
      out_.chunk = dims;
      out_.index = file_.defined(address) ? address : UINT64_MAX;
    }
  }
  void contiguous(uint64_t address, uint64_t bytes) {
    if (!file_.defined(address) || bytes == 0) return;
    Cursor in = file_.at(address, bytes);
    if (in.left() < bytes)
      in.refuse("a dataset of " + std::to_string(bytes) + " bytes at " + std::to_string(address));
    out_.data = in.here();
    out_.data_bytes = bytes;
  }
  void chunked_3(Cursor in) {
    out_.layout = Hdf5Layout::kChunked;
    const uint64_t rank = in.number(1, "a layout"),
                   address = in.number(file_.offset_bytes_, "a layout");
    if (rank < 1 || rank > kMaxHdf5Rank + 1) in.refuse("a layout of rank " + std::to_string(rank));
    for (uint64_t d = 0; d + 1 < rank; d++) out_.chunk.push_back(in.number(4, "a layout"));
    out_.index = file_.defined(address) ? address : UINT64_MAX;
  }
  void chunked_4(Cursor in) {
    out_.layout = Hdf5Layout::kChunked;
    const uint64_t flags = in.number(1, "a layout"), rank = in.number(1, "a layout"),
                   width = in.number(1, "a layout");
    if (rank < 1 || rank > kMaxHdf5Rank + 1 || width < 1 || width > 8)
      in.refuse("a layout of rank " + std::to_string(rank));
    for (uint64_t d = 0; d < rank; d++)
      out_.chunk.push_back(in.number(uint32_t(width), "a layout"));
    out_.chunk.pop_back();
    const uint64_t kind = in.number(1, "a layout");
    if (kind == 1 && (flags & 2)) {
      out_.only_chunk_bytes = in.number(file_.length_bytes_, "a layout");
      in.bytes(4, "a layout");
    } else if (kind > 2) {
      unsupported("a dataset's chunks have an index of the newer kind " + std::to_string(kind));
    }
    const uint64_t address = in.number(file_.offset_bytes_, "a layout");
    out_.index_kind = uint8_t(kind);
    out_.index = file_.defined(address) ? address : UINT64_MAX;
  }

  void pipeline(Cursor in) {
    const uint64_t version = in.number(1, "filters"), count = in.number(1, "filters");
    if (version < 1 || version > 2 || count > 32) in.refuse(std::to_string(count) + " filters");
    if (version == 1) in.bytes(6, "filters");
    for (uint64_t i = 0; i < count; i++) {
      Hdf5Filter filter;
      filter.id = uint32_t(in.number(2, "a filter"));
      const uint64_t name = version == 1 || filter.id >= 256 ? in.number(2, "a filter") : 0;
      in.bytes(2, "a filter");
      const uint64_t values = in.number(2, "a filter");
      in.bytes(version == 1 ? (name + 7) / 8 * 8 : name, "a filter's name");
      for (uint64_t v = 0; v < values; v++)
        filter.values.push_back(uint32_t(in.number(4, "a filter")));
      if (version == 1 && values % 2) in.bytes(4, "a filter");
      out_.filters.push_back(std::move(filter));
    }
  }

  /// What several messages say together.
  void validate() {
    if (!out_.is_dataset()) return;
    uint64_t bytes;
    if (__builtin_mul_overflow(out_.elements(), out_.type.size, &bytes))
      file_.refuse("a dataset whose size overflows");
    if ((out_.layout == Hdf5Layout::kCompact || out_.layout == Hdf5Layout::kContiguous) &&
        out_.data && out_.data_bytes < bytes)
      file_.refuse("a dataset of " + std::to_string(bytes) + " bytes has a place of " +
                   std::to_string(out_.data_bytes));
    if (out_.layout == Hdf5Layout::kChunked && out_.chunk.size() != out_.dims.size())
      file_.refuse("a dataset of rank " + std::to_string(out_.dims.size()) +
                   " has chunks of rank " + std::to_string(out_.chunk.size()));
    if (!out_.fill.empty() && out_.fill.size() != out_.type.size) out_.fill.clear();
  }

  const Hdf5File& file_;
  Hdf5Object out_;
  std::set<uint64_t> blocks_;
  uint64_t messages_left_ = 0, flags_ = 0;
  bool sharing_ = false;  // a committed type is read on behalf of another object
};

Hdf5Object Hdf5File::object(uint64_t address) const {
  return Hdf5ObjectReader(*this).read(address);
}

}  // namespace ingot::checkpoint
