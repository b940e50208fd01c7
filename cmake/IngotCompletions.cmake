# SPDX-License-Identifier: Apache-2.0
# Shell completions are what the command line says of itself, so that it has to run here: under an
# emulator in a cross build.
if(CMAKE_CROSSCOMPILING)
  list(GET CMAKE_CROSSCOMPILING_EMULATOR 0 emulator)
  find_program(INGOT_EMULATOR NAMES ${emulator})
  if(NOT INGOT_EMULATOR)
    message(STATUS
      "no emulator: shell completions are not installed (on the device: ingot completion bash)")
    return()
  endif()
endif()
if(INGOT_SANITIZE OR INGOT_FUZZ)
  return()
endif()
set(completions ${PROJECT_BINARY_DIR}/completions)
file(MAKE_DIRECTORY ${completions})
add_custom_command(TARGET ingot_cli POST_BUILD
  COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:ingot_cli> completion bash >
    ${completions}/ingot
  COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:ingot_cli> completion zsh >
    ${completions}/_ingot
  COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:ingot_cli> completion fish >
    ${completions}/ingot.fish VERBATIM)
