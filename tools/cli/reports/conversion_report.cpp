// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/reports/conversion_report.h"

#include <cstdio>

#include "tools/cli/output/terminal.h"

namespace ingot::cli {

void print_conversion_report(const convert::ConversionReport& report) {
  Table passes({"pass", ">changed", "remarks"});
  for (const passes::PassRecord& pass : report.passes) {
    passes.row(
        {pass.name, std::to_string(pass.changed), pass.remarks.empty() ? "" : pass.remarks[0]});
    for (size_t i = 1; i < pass.remarks.size(); i++) passes.row({"", "", pass.remarks[i]});
  }
  printf("Passes\n%s\n", passes.text().c_str());
  Table instructions({"instruction", "output", ">MMAC", ">weights", "from", "choice"});
  for (const convert::InstructionReport& i : report.instructions) {
    instructions.row({i.op, i.dims, i.macs > 0 ? number(i.macs / 1e6, 3) : "",
                      i.weight_bytes ? short_bytes(i.weight_bytes) : "", i.node, i.note});
  }
  printf("Instructions\n%s\n", instructions.text().c_str());
  if (!report.copies.empty()) {
    printf("Copies and transposes that remain\n");
    for (const std::string& copy : report.copies) printf("  %s\n", copy.c_str());
    printf("\n");
  }
  if (!report.storage.tensors.empty()) {
    Table storage({"stored as " + std::string(dtype_name(report.storage.dtype)), ">numbers",
                   ">largest error", ">mean", ">to zero", ">subnormal", ">infinite"});
    for (const convert::StorageLoss& loss : report.storage.tensors)
      storage.row({loss.name, std::to_string(loss.elements), number(loss.largest, 3),
                   number(loss.mean, 3), std::to_string(loss.to_zero),
                   std::to_string(loss.subnormal), std::to_string(loss.overflowed)});
    printf("Weights that were rounded (relative errors)\n%s\n", storage.text().c_str());
  }
  Table summary({"", ""});
  std::string binding;
  for (const auto& [name, value] : report.binding)
    binding += (binding.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  if (!binding.empty()) summary.row({"chosen for", binding});
  summary.row({"views", std::to_string(report.views) + ", in place " +
                            std::to_string(report.in_place) + ", chains " +
                            std::to_string(report.chains) + ", Winograd " +
                            std::to_string(report.winograd)});
  if (report.states)
    summary.row({"states", std::to_string(report.states) + ", of them updated in place " +
                               std::to_string(report.states_in_place) +
                               ", the others by a copy at the end"});
  summary.row(
      {"weights", short_bytes(report.weight_bytes) +
                      (report.winograd_extra_bytes
                           ? ", of it for Winograd " + short_bytes(report.winograd_extra_bytes)
                           : "")});
  summary.row({"activations", short_bytes(report.arena_bytes) + ", " + number(report.ratio(), 4) +
                                  " of the lower bound " + short_bytes(report.lower_bound) +
                                  (report.order.empty() ? "" : " (order: " + report.order + ")")});
  printf("Summary\n%s\n", summary.text().c_str());
}

}  // namespace ingot::cli
