# SPDX-License-Identifier: Apache-2.0
# The command line of a device: run, generate, chat, embed, tokenize, bench, check, verify, inspect,
# doctor and completion of .ingot files. It converts nothing, so that it needs none of the libraries
# that importers do, and a cross build has all of it: CLI11 and nlohmann-json are headers.
file(GLOB sources CONFIGURE_DEPENDS files/*.cpp files/npz/*.cpp diagnose/golden/*.cpp plugins/*.cpp
  registry/*.cpp
  diagnose/steps/*.cpp cli/options/*.cpp cli/inputs/*.cpp cli/doctor/*.cpp)
list(FILTER sources EXCLUDE REGEX "/golden_steps.cpp$")
foreach(name arguments as_fp16 embedding engine engine_states feed file_parts generation
    half_kernels make_inputs metadata placing precision_record program_view run_watch source_tensors
    state_files)
  list(APPEND sources session/${name}.cpp)
endforeach()
foreach(name grammar grammar_automaton grammar_compiler grammar_parser json_pattern json_pieces
    json_schema json_schema_merge loaded_tokenizer rendered_chat)
  list(APPEND sources text/${name}.cpp)
endforeach()
list(APPEND sources diagnose/program/kernel_hook.cpp checkpoint/tensors/bounded_json.cpp)
foreach(name main device_conversion output/json_text output/standard_output output/terminal
    profile/profile profile/traced_kernels reports/memory_parts reports/would_fit inspect/inspect
    inspect/inspect_file
    commands/bench commands/bench_generation commands/chat commands/check commands/completion
    commands/embed commands/generate commands/run commands/tokenize commands/verify)
  list(APPEND sources cli/${name}.cpp)
endforeach()
add_executable(ingot_cli ${sources} compile/write/tunings.cpp)
set_target_properties(ingot_cli PROPERTIES OUTPUT_NAME ingot RUNTIME_OUTPUT_DIRECTORY
  ${PROJECT_BINARY_DIR}/bin)
target_compile_definitions(ingot_cli PRIVATE INGOT_DEVICE_CLI=1
  INGOT_VERSION_TEXT="${PROJECT_VERSION}")
target_link_libraries(ingot_cli PRIVATE ingot_host_flags ingot_schema ${INGOT_BACKEND_LIBRARIES}
  ingot_cpu ingot_runtime)
ingot_build_identity(ingot_cli)
ingot_standard_output(ingot_cli)
include(IngotHeaders)
ingot_host_headers(ingot_cli CLI CLI.hpp)
ingot_host_headers(ingot_cli nlohmann json.hpp)
# Images as inputs of `ingot run`, where the device's libraries are there to build with.
foreach(kind PNG JPEG)
  find_package(${kind} QUIET)
  if(${kind}_FOUND)
    target_compile_definitions(ingot_cli PRIVATE INGOT_HAVE_${kind}=1)
    target_link_libraries(ingot_cli PRIVATE ${kind}::${kind})
  endif()
endforeach()
include(IngotCompletions)
include(IngotManual)
