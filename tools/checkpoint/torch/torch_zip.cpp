// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/tensors/readers.h"
#include "tools/checkpoint/torch/pickle.h"
#include "tools/checkpoint/torch/torch_archive.h"
#include "tools/files/failure.h"

namespace ingot::checkpoint {
namespace {

constexpr uint64_t kMaxPickle = uint64_t{1} << 30;

}  // namespace

Checkpoint read_torch_archive(const std::shared_ptr<Archive>& archive, const std::string& path,
                              const ReadLimits& limits) {
  const std::string root = torch_root(*archive, path);
  if (root.empty()) {
    if (const std::string models = archive->bundled_models(); !models.empty())
      host::fail(host::Exit::kUnsupported, path + ": is a bundle of TFLite models (" + models +
                                               "), and no checkpoint; choose one: ingot convert " +
                                               path + " --member NAME");
    host::fail(host::Exit::kUnsupported,
               path +
                   ": is a zip archive, but no checkpoint: expected the data.pkl of "
                   "torch.save(), a torch.export program, or the arrays of an .npz");
  }
  Checkpoint out;
  out.file = path;
  const bool is_program =
      archive->has(root + "constants.pkl") || archive->has(root + "bytecode.pkl");
  out.format = is_program ? "torchscript" : "torch zip";
  const bool swapped = is_big_endian(*archive, root, path);
  if (swapped) out.notes.push_back("was saved on a big-endian machine; its bytes are swapped");
  const std::vector<uint8_t> pickle = archive->read(root + "data.pkl", kMaxPickle);
  const std::string_view bytes(reinterpret_cast<const char*>(pickle.data()), pickle.size());
  const ValueTree tree = read_pickle(bytes, path + ": " + root + "data.pkl");
  ZipStorages storages(archive, root + "data/", swapped);
  collect_torch(tree, &storages, limits, &out);
  return out;
}

}  // namespace ingot::checkpoint
