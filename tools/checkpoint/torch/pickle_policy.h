// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/pickle_policy.h - which callables of a pickle stand for data.
#pragma once
#include <string>

namespace ingot::checkpoint {

/// True for constructors of plain data (OrderedDict, torch.Size, torch's and numpy's rebuild
/// functions) and for classes, whose instances are kept as inert records without their class. False
/// for functions of any other module, and for everything in modules that reach the system.
bool stands_for_data(const std::string& module, const std::string& name);

/// The same where the opcode makes an instance (NEWOBJ), as whole modules are saved: only a class
/// can stand there, however its name is written.
bool makes_instance(const std::string& module, const std::string& name);

}  // namespace ingot::checkpoint
