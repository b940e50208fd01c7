// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_variables.cpp - resource variables, which a program keeps from run to
// run.
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

void var_handle(Call& call) {
  const std::string container = call.text("container"), name = call.text("shared_name");
  call.outputs = {Slot{kAbsent, false, name + "\nresource/" + container}};
}
const std::string& handle(Call& call) {
  const Slot& slot = call.slot(0);
  if (slot.refused) throw aten::Reported{};
  if (slot.variable.empty()) call.refuse("", "its handle is none of VAR_HANDLE");
  return slot.variable;
}
void read_variable(Call& call) {
  call.give(call.translator.read_variable(handle(call), call.output_dtype(0),
                                          ModelFile::shape(call.output_tensor(0))));
}
void assign_variable(Call& call) { call.translator.write_variable(handle(call), call.input(1)); }

}  // namespace

void add_variables(TranslateTable& table) {
  table["VAR_HANDLE"] = {0, 0, var_handle};
  table["READ_VARIABLE"] = {1, 1, read_variable};
  table["ASSIGN_VARIABLE"] = {2, 2, assign_variable};
}

}  // namespace ingot::tflite
