// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/steps/operand_type.h"

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/device/device.h"
#include "tools/diagnose/golden/tolerance.h"
#include "tools/session/half_kernels.h"
#include "tools/session/program_view.h"

namespace ingot::cli {

DType operand_type(Engine* engine) {
  const DType stored = stored_type(engine->path());
  ingot_placement placement = {};
  placement.size = sizeof placement;
  (void)ingot_session_placement(engine->session().get(), &placement);
  bool on_gpu = false;
  for (uint32_t i = 0; const char* const name = engine->session().share(i).device; i++)
    on_gpu |= find_backend(name) != nullptr;
  const uint8_t precision = ProgramView(engine->path(), {}).program().precision;
  if (on_gpu) return precision ? check::narrower(stored, DType::kF16) : stored;
  return check::narrower(
      stored, product_type(precision, placement.isa ? cpu_kernels(placement.isa) : nullptr));
}

}  // namespace ingot::cli
