// SPDX-License-Identifier: Apache-2.0
// runtime/api/error_text.cpp - one line for an error: what is wrong, expected and found; what to
// do.
//
// `need` and `have` are what is expected and what is found. What `need` is to `have` stands at the
// end of the field, where it is not the one right number: "options.threads: at most", "state:
// bytes: at least"; some codes say it by themselves.
#include "runtime/api/text_line.h"
#include "runtime/api/translate.h"
#include "runtime/base/os/file.h"
#include "runtime/base/os/platform.h"

namespace ingot::api {
namespace {

/// Sentences for codes whose field is not one already.
const char* sentence(ingot_code code) {
  switch (code) {
    case INGOT_INVALID_ARGUMENT: return "invalid argument";
    case INGOT_NOT_FOUND: return "not found";
    case INGOT_SHAPE_MISMATCH: return "wrong shape";
    case INGOT_DTYPE_MISMATCH: return "wrong element type";
    case INGOT_UNBOUND_DIMENSION: return "a symbolic dimension has no value";
    case INGOT_DIMENSION_OUT_OF_BOUNDS: return "a symbolic dimension is out of its bounds";
    case INGOT_MISALIGNED: return "memory is not aligned";
    case INGOT_WRONG_STATE: return "not possible now";
    case INGOT_CANCELLED: return "cancelled";
    case INGOT_DEADLINE_EXCEEDED: return "the deadline has passed";
    case INGOT_BAD_INDEX_VALUE: return "an index is out of range";
    case INGOT_BAD_STATE_VALUE: return "the state is not a number";
    case INGOT_STATE_MISMATCH: return "a saved state that does not belong here";
    case INGOT_CONTROL_REFUSED: return "a branch or trip count that the file was not converted for";
    case INGOT_CUSTOM_FAILED: return "an operator of the application failed";
    case INGOT_NOT_INGOT: return "not a file of Ingot's";
    case INGOT_TRUNCATED: return "the file ends too early";
    case INGOT_HEADER_INVALID: return "the file's header is damaged";
    case INGOT_HASH_MISMATCH: return "bytes of the file are not those that were written";
    case INGOT_UNSUPPORTED_VERSION: return "the file is of a newer format than this library";
    case INGOT_UNSUPPORTED_FEATURE: return "the file needs a feature that this library lacks";
    case INGOT_STRUCTURE_INVALID: return "the file's structure is damaged";
    case INGOT_MEANING_INVALID: return "the file contradicts its operators' rules";
    case INGOT_PLAN_INVALID: return "the file's memory plan is invalid";
    case INGOT_UNSUPPORTED_OPERATOR: return "an operator that the kernel table does not have";
    case INGOT_NO_KERNEL: return "no kernel for these types";
    case INGOT_LIMIT_EXCEEDED: return "beyond the limits of this library";
    case INGOT_ARENA_TOO_SMALL: return "arena too small";
    case INGOT_OUT_OF_MEMORY: return "out of memory";
    case INGOT_FILE_OPEN: return "the file cannot be opened";
    case INGOT_FILE_READ: return "the file cannot be read";
    case INGOT_MAP_FAILED: return "the file cannot be mapped";
    case INGOT_THREAD_FAILED: return "no thread could be started";
    case INGOT_LOCK_FAILED: return "memory cannot be locked";
    case INGOT_NO_SUCH_DEVICE: return "no such device";
    case INGOT_DEVICE_LOST: return "the device was lost";
    case INGOT_DEVICE_FAULT: return "the device failed";
  }
  return "a fault of the library";
}

bool numbers_are_bytes(ingot_code code) {
  return code == INGOT_ARENA_TOO_SMALL || code == INGOT_OUT_OF_MEMORY || code == INGOT_TRUNCATED;
}
bool have_is_errno(ingot_code code) {
  return code == INGOT_FILE_OPEN || code == INGOT_FILE_READ || code == INGOT_MAP_FAILED ||
         code == INGOT_LOCK_FAILED || code == INGOT_THREAD_FAILED;
}
/// What kind of limit `need` is: " at most " and " at least " where the field does not say so
/// already, ": expected " for one right value.
const char* relation(const ingot_error& e) {
  const size_t length = e.field ? std::strlen(e.field) : 0;
  if (length >= 7 && (!std::memcmp(e.field + length - 4, "most", 4) ||
                      !std::memcmp(e.field + length - 4, "east", 4)))
    return " ";
  if (e.code == INGOT_NO_SUCH_DEVICE) return ": needs ";
  if (e.code == INGOT_LIMIT_EXCEEDED || e.code == INGOT_UNSUPPORTED_VERSION) return ": at most ";
  return ": expected ";
}

/// The first bytes of what is no .ingot file, as a person knows them: "PK\x03\x04".
void write_magic(uint64_t bytes, TextLine* text) {
  static const char* const kHex = "0123456789abcdef";
  if (!bytes) return (void)text->add(": it is empty or begins with zeros");
  text->add(": begins with \"");
  for (int i = 0; i < 8 && bytes >> (8 * i); i++) {
    const uint8_t byte = uint8_t(bytes >> (8 * i));
    if (byte >= ' ' && byte < 127 && byte != '"' && byte != '\\') {
      text->add(char(byte));
    } else {
      text->add("\\x").add(kHex[byte >> 4]).add(kHex[byte & 15]);
    }
  }
  text->add('"');
}

/// The number of the error that a device's driver gave.
bool have_is_result(const ingot_error& e) {
  return e.need == 0 && e.code >= INGOT_NO_SUCH_DEVICE && e.code <= INGOT_DEVICE_FAULT;
}

void write_numbers(const ingot_error& e, TextLine* text) {
  if (have_is_result(e)) {
    if (e.have) text->add(" (").add(e.have).add(")");
    return;
  }
  if (have_is_errno(e.code)) {
    char room[96];
    if (e.have) text->add(": ").add(os::system_error_text(e.have, room, sizeof room));
    return;
  }
  // Of a hash both numbers would be noise, of a name there is no number.
  if ((e.need == 0 && e.have == 0) || e.code == INGOT_HASH_MISMATCH ||
      (e.code == INGOT_NOT_FOUND && e.name[0]))
    return;
  if (e.code == INGOT_NOT_INGOT) return write_magic(e.have, text);
  if (e.code == INGOT_DEADLINE_EXCEEDED && e.have >= e.need) {
    text->add(", by ").add_grouped(e.have - e.need).add(" ns");
  } else if (e.code == INGOT_MISALIGNED) {
    text->add(": expected a multiple of ")
        .add(e.need)
        .add(", found ")
        .add(e.have)
        .add(" beyond one");
  } else if (e.code == INGOT_NOT_FOUND) {
    text->add(": there ")
        .add(e.need == 1 ? "is " : "are ")
        .add(e.need)
        .add(", asked for number ")
        .add_signed(int64_t(e.have));
  } else if (e.code == INGOT_DTYPE_MISMATCH) {
    text->add(": expected ").add(ingot_dtype_name(ingot_dtype(e.need)));
    text->add(", found ").add(ingot_dtype_name(ingot_dtype(e.have)));
  } else if (numbers_are_bytes(e.code)) {
    text->add(": needs ").add_grouped(e.need).add(" B");
    if (e.code == INGOT_OUT_OF_MEMORY && e.have == 0) return;  // nobody knows how much there is
    text->add(", has ").add_grouped(e.have).add(" B");
    if (e.need > e.have) text->add(" (").add_grouped(e.need - e.have).add(" short)");
  } else if (e.need != e.have) {  // else the rule is of more: the extents of one rank
    text->add(relation(e)).add_signed(int64_t(e.need)).add(", found ").add_signed(int64_t(e.have));
  }
}

/// Whether the field adds to the sentence of the code.
bool field_says_more(const ingot_error& e) {
  return e.field && e.field[0] && e.code != INGOT_CANCELLED && e.code != INGOT_BAD_INDEX_VALUE &&
         std::strcmp(e.field, "header.magic") != 0;
}

/// What a name that was not found should have been one of; null where the field does not say.
const char* kind_of_name(const ingot_error& e) {
  if (e.code != INGOT_NOT_FOUND || !e.name[0] || !e.field) return nullptr;
  static constexpr const char* kKinds[][2] = {{"inputs", "input"},
                                              {"outputs", "output"},
                                              {"options.bindings", "dimension"},
                                              {"bindings", "dimension"},
                                              {"options.upper_bounds", "dimension"},
                                              {"upper_bounds", "dimension"},
                                              {"states", "state"},
                                              {"values", "value"},
                                              {"metadata key", "metadata key"}};
  for (const auto& kind : kKinds)
    if (std::strcmp(e.field, kind[0]) == 0) return kind[1];
  return nullptr;
}

/// What `operand` counts.
const char* counted(const ingot_error& e) {
  if (e.code == INGOT_HEADER_INVALID || e.code == INGOT_HASH_MISMATCH) return ", part ";
  return e.instruction != INGOT_NO_INSTRUCTION ? ", operand " : ", number ";
}

/// What to do, where the one who found the error did not say.
const char* advice(ingot_code code) {
  switch (code) {
    case INGOT_TRUNCATED:
    case INGOT_HEADER_INVALID:
    case INGOT_HASH_MISMATCH:
    case INGOT_STRUCTURE_INVALID: return "copy or convert it again";
    case INGOT_MEANING_INVALID:
    case INGOT_PLAN_INVALID: return "convert it again, with a converter that you trust";
    case INGOT_UNSUPPORTED_VERSION:
    case INGOT_UNSUPPORTED_FEATURE: return "use a newer library, or convert the model again";
    case INGOT_UNSUPPORTED_OPERATOR:
    case INGOT_NO_KERNEL:
      return "link ingot_cpu, or a table made by `ingot kernels` from this file";
    case INGOT_OUT_OF_MEMORY: return "free memory, or bind smaller dimensions";
    case INGOT_FILE_OPEN: return "check the path and its permissions";
    case INGOT_DEVICE_LOST: return "make another session";
    case INGOT_INTERNAL: return "please report it";
    default: return "";
  }
}

}  // namespace

size_t write_error(const ingot_error& e, char* out, size_t size) {
  TextLine text(out, size);
  if (!os::kHasErrorTexts) return text.add(ingot_code_name(e.code)).end();
  if (e.code == INGOT_OK) return text.add("no error").end();
  if (e.instruction != INGOT_NO_INSTRUCTION)
    text.add("instruction ").add(uint64_t{e.instruction}).add(": ");
  const char* const kind = kind_of_name(e);
  if (kind)
    text.add("no ").add(kind).add(" named");
  else
    text.add(sentence(e.code));
  if (e.name[0]) text.add(" '").add(e.name).add("'");
  if (!kind && field_says_more(e)) text.add(": ").add(e.field);
  write_numbers(e, &text);
  if (e.offset) text.add(", at byte ").add_grouped(e.offset);
  if (e.operand >= 0) text.add(counted(e)).add(uint64_t(e.operand));
  const char* const todo = e.hint && e.hint[0] ? e.hint : advice(e.code);
  if (todo[0]) text.add("; ").add(todo);
  return text.end();
}

}  // namespace ingot::api

extern "C" {

size_t ingot_error_text(const ingot_error* error, char* out, size_t size) {
  if (!out) size = 0;
  if (error) return ingot::api::write_error(*error, out, size);
  return ingot::api::TextLine(out, size).end();
}

const char* ingot_code_name(ingot_code code) {
  return code < 0 || code > 0xffff ? "unknown" : ingot::code_name(ingot::Code(code));
}

const char* ingot_dtype_name(ingot_dtype dtype) {
  return dtype <= 0 || dtype > INGOT_BOOL ? "invalid" : ingot::dtype_name(ingot::DType(dtype));
}

size_t ingot_dtype_bytes(ingot_dtype dtype) {
  return dtype <= 0 || dtype > INGOT_BOOL ? 0 : size_t(ingot::dtype_bytes(ingot::DType(dtype)));
}

}  // extern "C"
