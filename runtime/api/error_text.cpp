// runtime/api/error_text.cpp - one line for an error: what is wrong, expected and found; what to do.
#include "runtime/api/text.h"
#include "runtime/api/translate.h"
#include "runtime/base/os/memory.h"

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
    case INGOT_CONTROL_REFUSED: return "a branch or trip count that the file was not cast for";
    case INGOT_NOT_INGOT: return "not an .ingot file";
    case INGOT_TRUNCATED: return "the file ends too early; copied incompletely?";
    case INGOT_HEADER_INVALID: return "the file's header is not sound";
    case INGOT_HASH_MISMATCH: return "bytes of the file are not those that were written; copy it again";
    case INGOT_UNSUPPORTED_VERSION: return "the file is of a newer format than this library";
    case INGOT_UNSUPPORTED_FEATURE: return "the file needs a feature that this library lacks";
    case INGOT_STRUCTURE_INVALID: return "the file's structure is not sound";
    case INGOT_MEANING_INVALID: return "the file contradicts its operators' rules";
    case INGOT_PLAN_INVALID: return "the file's memory plan is not sound";
    case INGOT_UNSUPPORTED_OPERATOR: return "an operator that the kernel table does not have";
    case INGOT_NO_KERNEL: return "no kernel for these types";
    case INGOT_LIMIT_EXCEEDED: return "beyond the limits of this library";
    case INGOT_ARENA_TOO_SMALL: return "arena too small";
    case INGOT_OUT_OF_MEMORY: return "out of memory";
    case INGOT_FILE_OPEN: return "the file cannot be opened";
    case INGOT_FILE_READ: return "the file cannot be read";
    case INGOT_MAP_FAILED: return "the file cannot be mapped";
    case INGOT_THREAD_FAILED: return "threads cannot be had";
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
  return code == INGOT_FILE_OPEN || code == INGOT_FILE_READ || code == INGOT_MAP_FAILED || code == INGOT_LOCK_FAILED ||
         code == INGOT_THREAD_FAILED;
}
bool numbers_are_dtypes(ingot_code code) { return code == INGOT_DTYPE_MISMATCH; }

/// The number of the error that a device's driver gave.
bool have_is_result(const ingot_error& e) {
  return e.need == 0 && e.code >= INGOT_NO_SUCH_DEVICE && e.code <= INGOT_DEVICE_FAULT;
}

void write_numbers(const ingot_error& e, Text* text) {
  if (have_is_result(e)) {
    if (e.have) text->add(" (").add(e.have).add(")");
    return;
  }
  if (have_is_errno(e.code)) {
    if (e.have) text->add(" (system error ").add(e.have).add(")");
    return;
  }
  if (e.need == 0 && e.have == 0) return;
  text->add(": needs ");
  if (numbers_are_dtypes(e.code)) {
    text->add(ingot_dtype_name(ingot_dtype(e.need))).add(", found ").add(ingot_dtype_name(ingot_dtype(e.have)));
  } else if (numbers_are_bytes(e.code)) {
    text->add_grouped(e.need).add(" B");
    if (e.code == INGOT_OUT_OF_MEMORY && e.have == 0) return;  // nobody knows how much there is
    text->add(", has ").add_grouped(e.have).add(" B");
    if (e.need > e.have) text->add(" (").add_grouped(e.need - e.have).add(" short)");
  } else {
    text->add_signed(int64_t(e.need)).add(", found ").add_signed(int64_t(e.have));
  }
}

}  // namespace

size_t write_error(const ingot_error& e, char* out, size_t size) {
  Text text(out, size);
  if (!os::kHasPages) return text.add(ingot_code_name(e.code)).end();
  if (e.code == INGOT_OK) return text.add("no error").end();
  if (e.instruction != INGOT_NO_INSTRUCTION) text.add("instruction ").add(uint64_t{e.instruction}).add(": ");
  text.add(sentence(e.code));
  if (e.name[0]) text.add(" '").add(e.name).add("'");
  if (e.field && e.field[0]) text.add(": ").add(e.field);
  write_numbers(e, &text);
  if (e.offset) text.add(", at byte ").add_grouped(e.offset);
  if (e.operand >= 0) text.add(", operand ").add(uint64_t(e.operand));
  if (e.hint && e.hint[0]) text.add("; ").add(e.hint);
  return text.end();
}

}  // namespace ingot::api

extern "C" {

size_t ingot_error_text(const ingot_error* error, char* out, size_t size) {
  if (!out) size = 0;
  if (error) return ingot::api::write_error(*error, out, size);
  return ingot::api::Text(out, size).end();
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
