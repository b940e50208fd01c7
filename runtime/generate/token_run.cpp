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
  const uint64_t rows = uint64_t(port->view.rows()), one = uint64_t(dtype_bytes(dtype));
  if (rows != 1 || !storage_bytes(port->view, &bytes))
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
  session_ = session;
  tokens_ = find_port(program.inputs, session->tables.inputs, "tokens");
  position_ = find_port(program.inputs, session->tables.inputs, "position");
  logits_ = find_port(program.outputs, session->tables.outputs, "logits");
  INGOT_TRY(check_port(tokens_, "tokens", DType::kI32, 0, detail));
  INGOT_TRY(check_port(position_, "position", DType::kI64, 1, detail));
  INGOT_TRY(check_port(logits_, "logits", DType::kF32, 0, detail));
  vocabulary_ = logits_->view.row_length();
  most_ = tokens_->view.row_length();
  context_ = 0;
  for (size_t i = 0; i < program.states.size; i++) {  // rows of the largest cache
    const TensorType& type = session->tables.states[i].view;
    if (type.rank > 0 && type.dims[0] > context_) context_ = type.dims[0];
  }
  if (context_ == 0)
    return fail(detail, Code::kNotFound, "a language model has caches, which are state");
  const Rebinding& r = session->tables.rebinding;
  for (size_t i = 0; i < program.free_symbols && r.binding_bytes; i++)
    if (std::strcmp(program.symbols[i].name, kLength) == 0) most_ = r.symbol_highs[i];
  if (!r.binding_bytes && most_ != 1)
    return fail(detail, Code::kWrongState,
                "a session of a language model is made with INGOT_REBINDABLE, or for one token");
  if (most_ > context_) most_ = context_;
  return {};
}

Status TokenRun::bind(int64_t count, ErrorDetail* detail) {
  if (tokens_->view.row_length() == count) return {};
  const DimBinding binding = {kLength, count};
  INGOT_TRY(rebind_session(session_, {&binding, 1}, detail));
  return check_port(tokens_, "tokens", DType::kI32, uint64_t(count), detail);
}

Status TokenRun::run(Span<const int32_t> ids, int64_t position, uint64_t deadline_ns,
                     ErrorDetail* detail) {
  INGOT_TRY(bind(int64_t(ids.size), detail));
  std::memcpy(tokens_->view.data, ids.data, ids.size * sizeof(int32_t));
  std::memcpy(position_->view.data, &position, sizeof position);
  return run_session(session_, deadline_ns, detail);
}

Span<float> TokenRun::logits() const { return {logits_->view.as<float>(), size_t(vocabulary_)}; }

}  // namespace ingot
