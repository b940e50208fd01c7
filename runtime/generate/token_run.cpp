// SPDX-License-Identifier: Apache-2.0
#include "runtime/generate/token_run.h"

#include <cstring>

namespace ingot {
namespace {

constexpr const char* kLength = "T";  // the symbol of tokens in a run

const Port* find_port(Span<const PortDef> defs, const Port* ports, const char* name) {
  for (size_t i = 0; i < defs.size; i++)
    if (std::strcmp(defs[i].name, name) == 0) return &ports[i];
  return nullptr;
}

/// The port is there, of this type, and has memory of a row of `count` elements, or of any (0).
Status check_port(const Port* port, const char* name, DType dtype, uint64_t count,
                  ErrorDetail* detail) {
  const auto refuse = [&](Code code, const char* field, uint64_t need, uint64_t have) {
    const Status status = fail(detail, code, field, need, have);
    name_error(detail, name);
    return status;
  };
  if (!port) return refuse(Code::kNotFound, "a language model has this port", 0, 0);
  uint64_t bytes = 0;
  if (port->view.dtype != dtype)
    return refuse(Code::kDtypeMismatch, "a port of a language model", uint64_t(dtype),
                  uint64_t(port->view.dtype));
  const uint64_t one = uint64_t(dtype_bytes(dtype)), rows = uint64_t(port->view.rows());
  const bool has_rows = dtype == DType::kF32;  // logits of several slots
  if ((rows != 1 && !has_rows) || !storage_bytes(port->view, &bytes))
    return refuse(Code::kShapeMismatch, "rows of a language model's port", 1, rows);
  if (count ? bytes != count * one : bytes == 0)
    return refuse(Code::kShapeMismatch, "bytes of a language model's port",
                  (count ? count : 1) * one, bytes);
  if (!port->view.data)
    return refuse(Code::kWrongState, "a port of a language model has no memory; bind it", 0, 0);
  return {};
}

}  // namespace

Status TokenRun::open(RunSession* session, ErrorDetail* detail) {
  const ProgramDef& program = session->model->program;
  const auto input = [&](const char* name) {
    return find_port(program.inputs, session->tables.inputs, name);
  };
  session_ = session;
  tokens_ = input("tokens"), position_ = input("position"), slot_ = input("slot"),
  rows_ = input("rows");
  logits_ = find_port(program.outputs, session->tables.outputs, "logits");
  INGOT_TRY(check_ports(detail));
  vocabulary_ = logits_->view.row_length();
  most_ = tokens_->view.row_length();
  context_ = snapshots_ = 0, slots_ = most_rows_ = 1;
  for (size_t i = 0; i < program.states.size; i++) {  // rows of the largest cache
    const TensorType& type = session->tables.states[i].view;
    const bool has_slots = slot_ && type.rank == 3, is_snapshots = has_snapshots(program.states[i]),
               is_ring = has_window(program.states[i]);
    const int64_t slots = has_slots ? int64_t{type.dims[0]} : 1,
                  rows = type.rank ? int64_t{type.dims[has_slots]} : 0;
    int64_t of_ring = 0;  // bounds nothing
    int64_t* const most = is_ring ? &of_ring : is_snapshots ? &snapshots_ : &context_;
    const bool other_slots = slot_ && i > 0 && slots != slots_,
               alike = is_snapshots || (slot_ && i > 0);  // as many rows as those before
    if (other_slots || (is_snapshots && rows < 1) || (alike && *most && rows != *most)) {
      const Status status =
          other_slots ? fail(detail, Code::kShapeMismatch, "slots of a language model's caches",
                             uint64_t(slots_), uint64_t(slots))
                      : fail(detail, Code::kShapeMismatch, "rows of a language model's caches",
                             uint64_t(*most ? *most : 1), uint64_t(rows));
      name_error(detail, program.states[i].name);
      return status;
    }
    slots_ = slots;
    if (rows > *most) *most = rows;
  }
  if (context_ == 0)
    return fail(detail, Code::kNotFound, "a language model has caches, which are state");
  const Rebinding& r = session->tables.rebinding;
  for (size_t i = 0; i < program.free_symbols && r.binding_bytes; i++)
    if (std::strcmp(program.symbols[i].name, kLength) == 0) most_ = r.symbol_highs[i];
  if (!r.binding_bytes && most_ != 1)
    return fail(detail, Code::kWrongState,
                "a session of a language model is made with INGOT_REBINDABLE, or for one token");
  if (slots_ < 1 || slots_ > kMaxSlots)
    return fail(detail, Code::kLimitExceeded, "slots of a language model", uint64_t(kMaxSlots),
                uint64_t(slots_));
  if (most_ > context_) most_ = context_;
  if (rows_ && r.binding_bytes)
    most_rows_ = int64_t(r.capacities[logits_->value] / (uint64_t(vocabulary_) * sizeof(float)));
  if (most_rows_ > most_) most_rows_ = most_;
  if (snapshots_ && most_rows_ >= snapshots_) most_rows_ = snapshots_ - 1;
  if (most_rows_ < 1) most_rows_ = 1;
  if (most_ < slots_)
    return fail(detail, Code::kShapeMismatch, "tokens of a run: one for each slot at least",
                uint64_t(slots_), uint64_t(most_));
  return {};
}

/// @pre the ports are those of the binding
Status TokenRun::check_ports(ErrorDetail* detail) const {
  INGOT_TRY(check_port(tokens_, "tokens", DType::kI32, 0, detail));
  const uint64_t each = slot_ ? uint64_t(tokens_->view.row_length()) : 1;
  INGOT_TRY(check_port(position_, "position", DType::kI64, each, detail));
  if (slot_) INGOT_TRY(check_port(slot_, "slot", DType::kI64, each, detail));
  if (slot_ || rows_)
    INGOT_TRY(check_port(rows_, "rows", DType::kI64, uint64_t(tokens_->view.row_length()), detail));
  return check_port(logits_, "logits", DType::kF32, 0, detail);
}

Status TokenRun::bind(int64_t count, ErrorDetail* detail) {
  if (tokens_->view.row_length() != count) {
    const DimBinding binding = {kLength, count};
    INGOT_TRY(rebind_session(session_, {&binding, 1}, detail));
  }
  INGOT_TRY(check_ports(detail));  // a binding that failed here stays
  return check_port(tokens_, "tokens", DType::kI32, uint64_t(count), detail);
}

Status TokenRun::run(Span<const TokenPart> parts, uint64_t deadline_ns, ErrorDetail* detail) {
  int64_t count = 0, wanted = 0;
  for (const TokenPart& part : parts) {
    count += int64_t(part.ids.size);
    wanted += part.logits;
  }
  INGOT_TRY(bind(count, detail));
  if (logits_->view.rows() < wanted || logits_->view.row_length() != vocabulary_)
    return fail(detail, Code::kShapeMismatch, "logits of a language model: rows", uint64_t(wanted),
                uint64_t(logits_->view.rows()));
  int32_t* const ids = tokens_->view.as<int32_t>();
  int64_t* const position = position_->view.as<int64_t>();
  int64_t* const rows = rows_ ? rows_->view.as<int64_t>() : nullptr;
  int64_t at = 0, asked = 0;
  for (const TokenPart& part : parts) {
    const int64_t n = int64_t(part.ids.size);
    std::memcpy(ids + at, part.ids.data, part.ids.size * sizeof(int32_t));
    for (int64_t i = 0; i < (slot_ ? n : 1); i++) position[at + i] = part.position + i;
    for (int64_t i = 0; slot_ && i < n; i++) slot_->view.as<int64_t>()[at + i] = part.slot;
    at += n;
    for (int64_t i = part.logits; rows && i > 0; i--) rows[asked++] = at - i;
  }
  for (; rows && asked < count; asked++) rows[asked] = 0;
  return run_session(session_, deadline_ns, detail);
}

Span<float> TokenRun::logits(int64_t i) const {
  return {logits_->view.as<float>() + i * logits_->view.row_stride, size_t(vocabulary_)};
}

}  // namespace ingot
