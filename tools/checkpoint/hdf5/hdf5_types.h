// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/hdf5/hdf5_types.h - HDF5's datatype messages as values.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/cursor.h"
#include "tools/checkpoint/tensors/element_type.h"

namespace ingot::checkpoint {

enum class Hdf5Class : uint8_t {  // as the file numbers them
  kInteger = 0,
  kFloat = 1,
  kTime = 2,
  kText = 3,
  kBits = 4,
  kOpaque = 5,
  kCompound = 6,
  kReference = 7,
  kEnumeration = 8,
  kVariable = 9,
  kArray = 10,
};

struct Hdf5Member;
struct Hdf5Type {
  Hdf5Class kind = Hdf5Class::kInteger;
  uint64_t size = 0;  // bytes of one element
  bool big_endian = false, is_signed = false;
  bool is_text = false;  // of kVariable
  uint8_t padding = 0;   // of kText: 0 ends with a zero byte, 1 padded with them, 2 with blanks
  uint32_t exponent_bits = 0, mantissa_bits = 0;  // of kFloat
  // integers and floats that fill their bytes as numpy's do
  bool plain = false;
  // of kCompound, and of kEnumeration (offset: its value)
  std::vector<Hdf5Member> members;
  std::vector<uint64_t> dims;            // of kArray
  std::shared_ptr<const Hdf5Type> base;  // of kEnumeration, kVariable, kArray
  uint64_t committed = 0;                // address of the object that holds it; 0: none
};
struct Hdf5Member {
  std::string name;
  uint64_t offset = 0;
  Hdf5Type type;
};

/// Reads one datatype message. `depth`: how far it may still nest.
Hdf5Type read_hdf5_type(Cursor& in, int depth = 8);

/// A number type of ours; false for any other class, size or order of bits.
bool hdf5_element_type(const Hdf5Type& type, ElementType* out, bool* swapped);

}  // namespace ingot::checkpoint
