// SPDX-License-Identifier: Apache-2.0
// tools/cli/inspect/inspect.h - what `ingot inspect` gathers: one report, printed as text or as
// JSON.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/files/file_kind.h"

namespace ingot::cli {

struct InspectArguments {
  std::string file;
  bool json = false, ops = false, tensors = false, plan = false, metadata = false, hashes = false,
       weights = false;
  std::vector<std::string> dims;
};

/// Everything about an .ingot file. The keys are documented in docs/cli.md and only ever added to.
nlohmann::ordered_json inspect_file(const InspectArguments& arguments);
/// `dims`, all integers, -1 where an extent is open, and `dim_names`, all texts, "" where it is a
/// number. `texts` has one or the other of each.
void put_dims(nlohmann::ordered_json* object, const std::vector<std::string>& texts);
/// `scale` and `zero_point` of each port in the list of which the entries of the metadata say them.
void put_quantization(nlohmann::ordered_json* ports,
                      const std::vector<std::pair<std::string, std::string>>& entries);
/// What is in a source, and whether it can be converted: all that stands in the way.
nlohmann::ordered_json inspect_source(const InspectArguments& arguments);
/// Every model in a folder, those in folders below too, or in a zip archive: a row each, and the
/// operators and reasons of all of them, counted. Links are not followed.
nlohmann::ordered_json inspect_folder(const InspectArguments& arguments);
nlohmann::ordered_json inspect_archive(const InspectArguments& arguments);
/// Of a zip: it is no model itself and has files in it that are named as models.
bool is_archive_of_models(const std::string& path);
void print_folder(const nlohmann::ordered_json& report);
/// Weights alone: a PyTorch checkpoint, safetensors, the index of a sharded one. Of a torch.export
/// archive, which is a program, --hashes asks for its tensors.
bool is_checkpoint(const InspectArguments& arguments, host::FileKind kind);
nlohmann::ordered_json inspect_checkpoint(const InspectArguments& arguments);
void print_checkpoint(const nlohmann::ordered_json& report, const InspectArguments& arguments);
void print_inspection(const nlohmann::ordered_json& report, const InspectArguments& arguments);

}  // namespace ingot::cli
