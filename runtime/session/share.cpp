#include "runtime/session/share.h"

#include "runtime/session/fallback.h"

namespace ingot {
namespace {

/// Of several devices.
Status split_share(const SplitPlan& plan, uint64_t home_bytes, uint32_t index, NamedShare* out) {
  const DeviceAssignment& a = *plan.assignment;
  if (index >= a.device_count) return Code::kNotFound;
  static_cast<DeviceShare&>(*out) = plan.shares[index];
  if (index == 0) out->bytes = home_bytes;
  out->device = a.devices[index].name;
  out->reason = a.devices[index].reason;
  return {};
}

/// Of one, but for what a run transfers.
void whole_share(const OpenModel& model, const Device& device, const Layout& layout, NamedShare* out) {
  out->device = device.name;
  out->reason = device.reason;
  out->bytes = layout.bytes;
  out->weights_bytes = model.weights_bytes;
  out->instructions = uint32_t(model.program.instructions.size);
  out->launches = 1;
  out->waits = device.interface->host_memory ? 0 : 1;
}

void add_port(const TensorType& type, uint32_t* count, uint64_t* bytes) {
  uint64_t more;
  ++*count;
  if (storage_bytes(type, &more)) *bytes += more;
}

}  // namespace

Status session_share(const RunSession& s, uint32_t index, NamedShare* out) {
  if (s.split) return split_share(*s.split, s.layout.bytes, index, out);
  if (index != 0) return Code::kNotFound;
  whole_share(*s.model, s.device, s.layout, out);
  if (s.device.interface->host_memory) return {};
  const ProgramDef& program = s.model->program;
  for (size_t i = 0; i < program.inputs.size; i++) add_port(s.tables.inputs[i].most, &out->uploads, &out->upload_bytes);
  for (size_t i = 0; i < program.outputs.size; i++)
    add_port(s.tables.outputs[i].most, &out->downloads, &out->download_bytes);
  return {};
}

Status model_share(const OpenModel& model, const SessionRequest& asked, uint32_t index, NamedShare* out,
                   ErrorDetail* detail) {
  const Fallback fallback(model, asked);
  INGOT_TRY(fallback.status(detail));
  const WorkspaceLock lock(model);
  Preparation p;
  INGOT_TRY(prepare(model, fallback.request(), &p, detail));
  if (p.split) {
    const Status status = split_share(*p.split, p.layout.bytes, index, out);
    return status.ok() ? status
                       : fail(detail, Code::kNotFound, "device index", p.split->assignment->device_count, index);
  }
  if (index != 0) return fail(detail, Code::kNotFound, "device index", 1, index);
  whole_share(model, p.device, p.layout, out);
  if (p.device.interface->host_memory) return {};
  const auto type = [&](const PortDef& port) { return value_type(model.program, p.planned.bound, port.value); };
  for (const PortDef& port : model.program.inputs) add_port(type(port), &out->uploads, &out->upload_bytes);
  for (const PortDef& port : model.program.outputs) add_port(type(port), &out->downloads, &out->download_bytes);
  return {};
}

}  // namespace ingot
