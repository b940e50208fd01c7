# SPDX-License-Identifier: Apache-2.0
# Sources that `ingot firmware` copies into a project, as constant data of the command line: one
# assembly file with a .incbin for each, and a table of their names.
function(ingot_firmware_sources target)
  set(root ${PROJECT_SOURCE_DIR})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${root}
    ${root}/runtime/base/*.h ${root}/runtime/base/sha256*.cpp ${root}/runtime/base/status.cpp
    ${root}/runtime/op/*.h ${root}/runtime/op/*.cpp ${root}/runtime/op/*.def
    ${root}/runtime/micro/*.h ${root}/runtime/micro/*.cpp ${root}/runtime/micro/*.def
    ${root}/runtime/format/file_layout.h ${root}/runtime/include/ingot/micro.h
    ${root}/kernels/cpu/*.h ${root}/kernels/cpu/*.inl ${root}/examples/firmware/*)
  list(APPEND files LICENSE)  # above, it would find every LICENSE below the root
  list(FILTER files EXCLUDE REGEX "/(os|oracle|bench|isa)/|simd/(avx|neon)")
  set(assembly "")
  set(declarations "")
  set(rows "")
  set(index 0)
  foreach(file ${files})
    string(APPEND assembly
      "  .global ingot_source_${index}\n  .hidden ingot_source_${index}\n"
      "ingot_source_${index}:\n  .incbin \"${root}/${file}\"\n")
    string(APPEND declarations "extern \"C\" const char ingot_source_${index}[];\n")
    math(EXPR next "${index} + 1")
    string(APPEND rows
      "    {\"${file}\", ingot_source_${index}, ingot_source_${next}},\n")
    set(index ${next})
  endforeach()
  string(APPEND assembly "  .global ingot_source_${index}\n  .hidden ingot_source_${index}\n"
    "ingot_source_${index}:\n  .byte 0\n  .section .note.GNU-stack, \"\", %progbits\n")
  string(APPEND declarations "extern \"C\" const char ingot_source_${index}[];\n")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/firmware)
  file(CONFIGURE OUTPUT ${folder}/sources.S
    CONTENT "  .section .rodata.ingot_sources, \"a\", %progbits\n${assembly}" @ONLY)
  file(CONFIGURE OUTPUT ${folder}/sources.cpp CONTENT
"#include \"tools/compile/firmware/sources.h\"

${declarations}
namespace ingot::firmware {
namespace {
const SourceFile kSources[] = {
${rows}};
}  // namespace
Span<const SourceFile> source_files() { return kSources; }
}  // namespace ingot::firmware
" @ONLY)
  list(JOIN files "\n" lines)
  file(CONFIGURE OUTPUT ${folder}/sources.txt CONTENT "${lines}\n" @ONLY)  # of packaging/worlds
  list(TRANSFORM files PREPEND ${root}/)
  set_source_files_properties(${folder}/sources.S PROPERTIES OBJECT_DEPENDS "${files}")
  set_source_files_properties(${folder}/sources.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${folder}/sources.S ${folder}/sources.cpp)
endfunction()
