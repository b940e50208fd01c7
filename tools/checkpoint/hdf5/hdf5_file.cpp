// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/hdf5/hdf5_file.h"

#include <algorithm>
#include <cstring>

#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr char kSignature[] = "\x89HDF\r\n\x1a\n";
constexpr uint64_t kMaxHdf5Text = 64u << 20;

/// A number of the type's own width and order; `type` is a plain integer or float of at most 8
/// bytes.
uint64_t bits_of(const Hdf5Type& type, const uint8_t* data) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < type.size; i++)
    n |= uint64_t(data[type.big_endian ? type.size - 1 - i : i]) << (8 * i);
  return n;
}

}  // namespace

uint64_t Hdf5Object::elements() const {
  uint64_t n = is_null ? 0 : 1;
  for (const int64_t d : dims) n *= uint64_t(d);
  return n;
}

const Hdf5Attribute* Hdf5Object::attribute(const std::string& name) const {
  for (const Hdf5Attribute& a : attributes)
    if (a.name == name) return &a;
  return nullptr;
}

std::shared_ptr<const Hdf5File> Hdf5File::open(Bytes bytes, const std::string& where) {
  std::shared_ptr<Hdf5File> file(new Hdf5File);
  file->where_ = where;
  file->bytes_ = std::move(bytes);
  file->read_superblock();
  return file;
}

void Hdf5File::refuse(const std::string& why) const {
  host::fail(host::Exit::kCorrupt,
             where_ + ": is no sound HDF5 file: " + why + "; get the file anew");
}

void Hdf5File::read_superblock() {
  uint64_t start = 0;
  while (start + 8 <= size() && std::memcmp(bytes_.data + start, kSignature, 8) != 0)
    start = start ? start * 2 : 512;
  if (start + 8 > size()) refuse("has no signature");
  Cursor in(bytes_.data + start, size() - start, where_);
  in.bytes(8, "the superblock");
  const uint64_t version = in.number(1, "the superblock");
  if (version > 3) refuse("its superblock has version " + std::to_string(version));
  if (version < 2) in.bytes(4, "the superblock");
  offset_bytes_ = uint32_t(in.number(1, "the superblock"));
  length_bytes_ = uint32_t(in.number(1, "the superblock"));
  if ((offset_bytes_ != 4 && offset_bytes_ != 8) || (length_bytes_ != 4 && length_bytes_ != 8))
    refuse("addresses of " + std::to_string(offset_bytes_) + " bytes and lengths of " +
           std::to_string(length_bytes_));
  undefined_ = offset_bytes_ == 8 ? UINT64_MAX : UINT32_MAX;
  in.bytes(version < 2 ? (version == 1 ? 13 : 9) : 1, "the superblock");
  base_ = in.number(offset_bytes_, "the superblock");
  in.bytes(offset_bytes_, "the superblock");
  const uint64_t end = in.number(offset_bytes_, "the superblock");
  if (base_ > start || end < start) refuse("its addresses begin at " + std::to_string(base_));
  if (end > size())
    host::fail(host::Exit::kCorrupt, where_ + ": is an HDF5 file of " + std::to_string(end) +
                                         " bytes, and " + std::to_string(size()) +
                                         " are here: the download is incomplete; get it again");
  // driver's block, name of the root
  if (version < 2) in.bytes(2 * offset_bytes_, "the superblock");
  root_ = in.number(offset_bytes_, "the superblock");
}

Cursor Hdf5File::at(uint64_t address, uint64_t most) const {
  if (address > size() || base_ > size() - address)
    refuse("address " + std::to_string(address) + " lies behind its " + std::to_string(size()) +
           " bytes");
  return Cursor(bytes_.data + base_ + address, std::min(most, size() - base_ - address), where_);
}

Cursor Hdf5File::heap_object(const uint8_t* element, uint64_t* items) const {
  Cursor in(element, variable_bytes(), where_);
  *items = in.number(4, "an element");
  const uint64_t address = in.number(offset_bytes_, "an element"),
                 index = in.number(4, "an element");
  static const uint8_t kNothing = 0;
  if (*items == 0 || address == 0 || !defined(address)) {
    *items = 0;
    return Cursor(&kNothing, 0, where_);
  }
  const HeapObjects& known = heap(address);
  const auto found = known.find(index);
  if (found != known.end()) return Cursor(found->second.first, found->second.second, where_);
  refuse("object " + std::to_string(index) + " of the heap at " + std::to_string(address) +
         " is missing");
}

const Hdf5File::HeapObjects& Hdf5File::heap(uint64_t address) const {
  const auto known = heaps_.find(address);
  if (known != heaps_.end()) return known->second;
  HeapObjects objects;
  Cursor head = at(address);
  head.expect("GCOL", 4);
  head.bytes(4, "a heap");
  const uint64_t total = head.number(length_bytes_, "a heap");
  Cursor in = at(address, total);
  in.bytes(8 + length_bytes_, "a heap");
  const uint64_t entry = 8 + length_bytes_;
  while (in.left() >= entry) {
    const uint64_t number = in.number(2, "a heap");
    in.bytes(6, "a heap");
    const uint64_t bytes = in.number(length_bytes_, "a heap");
    if (number == 0) break;  // free space, the last
    if (bytes > in.left()) break;
    const uint8_t* data = in.bytes(bytes, "a heap's object");
    host::charge_work(1);
    host::charge_metadata(sizeof(HeapObjects::value_type) + 48);
    objects.emplace(number, std::make_pair(data, bytes));
    in.bytes(std::min<uint64_t>((8 - bytes % 8) % 8, in.left()), "a heap");
  }
  return heaps_[address] = std::move(objects);
}

std::vector<std::string> Hdf5File::texts(const Hdf5Type& type, const uint8_t* data,
                                         uint64_t count) const {
  std::vector<std::string> out;
  uint64_t total = 0;
  if (count > size()) refuse(std::to_string(count) + " texts");
  for (uint64_t i = 0; i < count; i++) {
    const char* text = reinterpret_cast<const char*>(data + i * type.size);
    uint64_t length = type.size;
    if (type.kind == Hdf5Class::kVariable) {
      if (type.size != variable_bytes())
        refuse("a text of " + std::to_string(type.size) + " bytes");
      Cursor in = heap_object(data + i * type.size, &length);
      if (length > in.left()) refuse("a text that is longer than its place");
      text = reinterpret_cast<const char*>(in.here());
    }
    std::string made(text, strnlen(text, size_t(length)));
    if (type.kind == Hdf5Class::kText && type.padding == 2)
      while (!made.empty() && made.back() == ' ') made.pop_back();
    if ((total += made.size()) > kMaxHdf5Text)
      refuse("texts of more than " + std::to_string(kMaxHdf5Text) + " bytes");
    host::charge_work(1);
    host::charge_metadata(sizeof made + host::text_memory(made.size()));
    out.push_back(std::move(made));
  }
  return out;
}

FactValue Hdf5File::value(const Hdf5Attribute& attribute) const {
  if (attribute.elements != 1) return std::monostate();
  const Hdf5Type& type = attribute.type;
  if (type.kind == Hdf5Class::kText || (type.kind == Hdf5Class::kVariable && type.is_text))
    return texts(type, attribute.data, 1)[0];
  ElementType element;
  bool swapped;
  if (!hdf5_element_type(type, &element, &swapped)) return std::monostate();
  if (element == ElementType::kBool) return attribute.data[0] != 0;
  if (type.kind == Hdf5Class::kInteger) {
    const uint64_t bits = bits_of(type, attribute.data);
    const uint32_t unused = 64 - 8 * uint32_t(type.size);
    return type.is_signed ? int64_t(bits << unused) >> unused : int64_t(bits);
  }
  if (element == ElementType::kF32) {
    const uint32_t bits = uint32_t(bits_of(type, attribute.data));
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return double(x);
  }
  if (element != ElementType::kF64) return std::monostate();
  const uint64_t bits = bits_of(type, attribute.data);
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

}  // namespace ingot::checkpoint
