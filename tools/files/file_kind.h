// SPDX-License-Identifier: Apache-2.0
// tools/files/file_kind.h - what a file is, by its content; the extension decides nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace ingot::host {

enum class FileKind {
  kIngot,
  kOnnx,
  kTflite,
  kNumpyArray,
  kZip,
  kPickle,
  kSafetensors,
  kGguf,
  kHdf5,
  kBson,
  kMobile,       // a program of PyTorch Mobile as FlatBuffers; as a zip archive it is kZip
  kDistributed,  // a folder: what the ranks of a training have saved
  kIngotState,
  kOther
};

/// Looks at the first 64 KiB, and at the names in a folder. Recognizes what is often met by mistake
/// and fails with a line of its own for each: missing file, directory, no permission, empty file,
/// git-LFS pointer, HTML page.
/// @throws Failure kUnavailable (missing, directory, permission), kCorrupt (empty, LFS pointer,
/// HTML page).
FileKind file_kind(const std::string& path);

/// For people: "an ONNX model", "a zip archive (a PyTorch checkpoint, an .npz or the like)", "a PNG
/// image", "text".
std::string kind_text(const std::string& path, FileKind kind);

/// A folder with what torch.distributed.checkpoint writes.
bool is_distributed_checkpoint(const std::string& path);

/// The name of what a rank of a training saved in the layout of Hugging Face:
/// "shard-00001-model-00001-of-00001.safetensors".
bool is_rank_shard(const std::string& name);

/// Regular file's bytes on disk.
uint64_t file_bytes(const std::string& path);

/// True when the bytes could be the start of a serialized ONNX ModelProto.
bool looks_like_onnx(const uint8_t* bytes, size_t count);

}  // namespace ingot::host
