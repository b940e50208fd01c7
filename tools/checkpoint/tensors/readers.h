// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/tensors/readers.h - one function for each container; read_checkpoint() chooses
// by content.
#pragma once
#include "tools/checkpoint/tensors/archive.h"
#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::checkpoint {

/// Any zip archive: its members decide which of the readers below.
Checkpoint read_zip(const std::string& path, const ReadLimits& limits);
/// torch.save() since 1.6 and TorchScript: a zip with one pickle. `path` is what errors call it.
Checkpoint read_torch_archive(const std::shared_ptr<Archive>& archive, const std::string& path,
                              const ReadLimits& limits);
/// A program that PyTorch Mobile keeps as FlatBuffers.
Checkpoint read_mobile_weights(const std::string& path, const ReadLimits& limits);
/// torch.export.save(), of all versions. Constants lie below "constants".
Checkpoint read_torch_pt2(const std::shared_ptr<Archive>& archive, const std::string& path,
                          const ReadLimits& limits);
/// numpy.savez(): every member an array.
bool is_npz(const Archive& archive);
Checkpoint read_npz(const std::shared_ptr<Archive>& archive, const std::string& path,
                    const ReadLimits& limits);
/// One array of numpy.save(), named "array".
Checkpoint read_npy(const std::string& path, const ReadLimits& limits);
/// Constants of a TFLite model; 4-bit integers are given as int8.
Checkpoint read_tflite(const std::string& path, const ReadLimits& limits);
/// torch.save() before 1.6: pickles, then storages one behind the other.
Checkpoint read_torch_legacy(const std::string& path, const ReadLimits& limits);
/// torch.save() before 0.1.10: a tar archive.
Checkpoint read_torch_tar(const std::string& path, const ReadLimits& limits);
/// A folder of torch.distributed.checkpoint: .metadata, and files of its ranks (.distcp).
Checkpoint read_torch_distributed(const std::string& folder, const ReadLimits& limits);
Checkpoint read_safetensors(const std::string& path, const ReadLimits& limits);
/// A folder of such files, one for each rank of a training, with chunks of its tensors.
Checkpoint read_safetensors_shards(const std::string& folder, const ReadLimits& limits);
/// Block types are given as float32.
Checkpoint read_gguf(const std::string& path, const ReadLimits& limits);
/// Keras weights and whole models (.h5), and any HDF5 file of plain datasets.
Checkpoint read_hdf5(const std::string& path, const ReadLimits& limits);
/// Keras 3: a zip of config.json and model.weights.h5.
Checkpoint read_keras(const std::string& path, const ReadLimits& limits);
/// model.safetensors.index.json, pytorch_model.bin.index.json: the files that it names, which must
/// lie beside it.
Checkpoint read_sharded_index(const std::string& path, const ReadLimits& limits);
/// Of the files that such an index names; 0 where it is none.
uint64_t sharded_bytes(const std::string& path);

/// True for HDF5 that JLD2 wrote (julia_value.h).
bool is_jld2(const std::string& path);
/// True when the bytes are a legacy torch file's magic number.
bool is_torch_legacy(const uint8_t* bytes, size_t count);

}  // namespace ingot::checkpoint
