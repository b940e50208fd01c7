// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/hdf5/hdf5_types.h"

#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr uint64_t kMaxMembers = 4096;

uint32_t offset_width(uint64_t size) {
  uint32_t width = 1;
  while (width < 4 && size >> (8 * width)) width++;
  return width;
}

std::string member_name(Cursor& in, int version) {
  const uint64_t start = in.at();
  std::string name = in.text("a member's name");
  if (version < 3) {
    const uint64_t used = in.at() - start;
    in.bytes((8 - used % 8) % 8, "a member's padding");
  }
  return name;
}

void read_float(Cursor& in, uint64_t bits, Hdf5Type* out) {
  const uint64_t offset = in.number(2, "a float"), precision = in.number(2, "a float"),
                 exponent = in.number(1, "a float"), exponent_bits = in.number(1, "a float"),
                 mantissa = in.number(1, "a float"), mantissa_bits = in.number(1, "a float"),
                 bias = in.number(4, "a float");
  const uint64_t sign = (bits >> 8) & 0xff;
  out->exponent_bits = uint32_t(exponent_bits);
  out->mantissa_bits = uint32_t(mantissa_bits);
  out->plain = offset == 0 && precision == 8 * out->size && mantissa == 0 &&
               exponent == mantissa_bits && sign == exponent + exponent_bits &&
               sign + 1 == precision && exponent_bits > 0 && exponent_bits < 16 &&
               bias == (uint64_t{1} << (exponent_bits - 1)) - 1;
}

void read_compound(Cursor& in, int version, uint64_t count, int depth, Hdf5Type* out) {
  if (count > kMaxMembers) in.refuse("a compound type of " + std::to_string(count) + " members");
  for (uint64_t i = 0; i < count; i++) {
    Hdf5Member member;
    member.name = member_name(in, version);
    member.offset = in.number(version < 3 ? 4 : offset_width(out->size), "a member's offset");
    uint64_t rank = 0, dims[4] = {};
    if (version == 1) {
      rank = in.number(1, "a member's rank");
      in.bytes(11, "a member");
      for (uint64_t& d : dims) d = in.number(4, "a member's extents");
    }
    member.type = read_hdf5_type(in, depth - 1);
    if (rank > 4) in.refuse("a member of rank " + std::to_string(rank));
    if (rank) {  // the oldest way to say array
      Hdf5Type array;
      array.kind = Hdf5Class::kArray;
      array.size = member.type.size;
      for (uint64_t d = 0; d < rank; d++) {
        array.dims.push_back(dims[d]);
        if (__builtin_mul_overflow(array.size, dims[d], &array.size))
          in.refuse("a member's size overflows");
      }
      array.base = std::make_shared<const Hdf5Type>(std::move(member.type));
      member.type = std::move(array);
    }
    if (member.offset > out->size || member.type.size > out->size - member.offset)
      in.refuse("member '" + member.name + "' lies outside of its compound type");
    host::charge_metadata(sizeof member + host::text_memory(member.name.size()));
    out->members.push_back(std::move(member));
  }
}

void read_enumeration(Cursor& in, int version, uint64_t count, int depth, Hdf5Type* out) {
  if (count > kMaxMembers) in.refuse("an enumeration of " + std::to_string(count) + " members");
  Hdf5Type base = read_hdf5_type(in, depth - 1);
  if (base.size == 0 || base.size > 8 || base.size != out->size)
    in.refuse("an enumeration over a strange type");
  for (uint64_t i = 0; i < count; i++) {
    Hdf5Member member;
    member.name = member_name(in, version);
    host::charge_metadata(sizeof member + host::text_memory(member.name.size()));
    out->members.push_back(std::move(member));
  }
  for (Hdf5Member& member : out->members)
    member.offset = in.number(uint32_t(base.size), "an enumeration's value");
  out->base = std::make_shared<const Hdf5Type>(std::move(base));
}

}  // namespace

Hdf5Type read_hdf5_type(Cursor& in, int depth) {
  if (depth <= 0) in.refuse("types nest too deep");
  Hdf5Type out;
  const uint64_t head = in.number(1, "a type"), bits = in.number(3, "a type");
  const int version = int(head >> 4);
  out.kind = Hdf5Class(head & 15);
  out.size = in.number(4, "a type's size");
  if (version < 1 || version > 4) in.refuse("a type of version " + std::to_string(version));
  switch (out.kind) {
    case Hdf5Class::kInteger: {
      out.big_endian = bits & 1;
      out.is_signed = bits & 8;
      const uint64_t offset = in.number(2, "an integer"), precision = in.number(2, "an integer");
      out.plain = offset == 0 && precision == 8 * out.size;
      return out;
    }
    case Hdf5Class::kFloat: out.big_endian = bits & 1; return read_float(in, bits, &out), out;
    case Hdf5Class::kTime: in.bytes(2, "a time"); return out;
    case Hdf5Class::kText: out.padding = bits & 15; return out;
    case Hdf5Class::kBits:
      out.big_endian = bits & 1;
      in.bytes(4, "bits");
      return out;
    case Hdf5Class::kOpaque: in.bytes(bits & 0xff, "a tag"); return out;
    case Hdf5Class::kCompound: return read_compound(in, version, bits & 0xffff, depth, &out), out;
    case Hdf5Class::kReference: return out;
    case Hdf5Class::kEnumeration:
      return read_enumeration(in, version, bits & 0xffff, depth, &out), out;
    case Hdf5Class::kVariable:
      out.is_text = (bits & 15) == 1;
      out.base = std::make_shared<const Hdf5Type>(read_hdf5_type(in, depth - 1));
      return out;
    case Hdf5Class::kArray: {
      const uint64_t rank = in.number(1, "an array's rank");
      if (version < 3) in.bytes(3, "an array");
      if (rank > 32) in.refuse("an array of rank " + std::to_string(rank));
      for (uint64_t d = 0; d < rank; d++) out.dims.push_back(in.number(4, "an array's extents"));
      if (version < 3) in.bytes(4 * rank, "an array");
      out.base = std::make_shared<const Hdf5Type>(read_hdf5_type(in, depth - 1));
      uint64_t bytes = out.base->size;
      for (const uint64_t d : out.dims)
        if (__builtin_mul_overflow(bytes, d, &bytes)) in.refuse("an array's size overflows");
      if (bytes != out.size) in.refuse("an array of another size than its elements");
      return out;
    }
  }
  in.refuse("a type of class " + std::to_string(head & 15));
}

bool hdf5_element_type(const Hdf5Type& type, ElementType* out, bool* swapped) {
  const bool negative = type.is_signed;
  *swapped = type.big_endian && type.size > 1;
  switch (type.kind) {
    case Hdf5Class::kFloat:
      if (!type.plain) return false;
      if (type.size == 2 && type.exponent_bits == 5) return *out = ElementType::kF16, true;
      if (type.size == 2 && type.exponent_bits == 8) return *out = ElementType::kBf16, true;
      if (type.size == 4 && type.exponent_bits == 8) return *out = ElementType::kF32, true;
      if (type.size == 8 && type.exponent_bits == 11) return *out = ElementType::kF64, true;
      return false;
    case Hdf5Class::kInteger:
      if (!type.plain) return false;
      if (type.size == 1) return *out = negative ? ElementType::kI8 : ElementType::kU8, true;
      if (type.size == 2) return *out = negative ? ElementType::kI16 : ElementType::kU16, true;
      if (type.size == 4) return *out = negative ? ElementType::kI32 : ElementType::kU32, true;
      if (type.size == 8) return *out = negative ? ElementType::kI64 : ElementType::kU64, true;
      return false;
    case Hdf5Class::kEnumeration:  // h5py's truth: FALSE 0, TRUE 1 of one byte
      if (type.size != 1 || type.members.size() != 2 || type.members[0].name != "FALSE" ||
          type.members[0].offset != 0 || type.members[1].name != "TRUE" ||
          type.members[1].offset != 1)
        return false;
      return *out = ElementType::kBool, true;
    case Hdf5Class::kCompound: {  // complex numbers: two floats
      if (type.members.size() != 2) return false;
      const Hdf5Member &real = type.members[0], &imaginary = type.members[1];
      ElementType a, b;
      bool swapped_b;
      if ((real.name != "r" && real.name != "re") || real.type.kind != Hdf5Class::kFloat ||
          imaginary.type.kind != Hdf5Class::kFloat || !hdf5_element_type(real.type, &a, swapped) ||
          !hdf5_element_type(imaginary.type, &b, &swapped_b) || a != b || *swapped != swapped_b ||
          real.offset != 0 || imaginary.offset != element_bytes(a) ||
          type.size != 2 * element_bytes(a))
        return false;
      if (a == ElementType::kF32) return *out = ElementType::kC64, true;
      if (a == ElementType::kF64) return *out = ElementType::kC128, true;
      return false;
    }
    default: return false;
  }
}

}  // namespace ingot::checkpoint
