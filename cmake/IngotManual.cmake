# SPDX-License-Identifier: Apache-2.0
# Man pages are made of what the command line says of itself, so that it has to run here, as for
# completions; IngotCompletions.cmake.
find_program(INGOT_HELP2MAN help2man)
if(NOT INGOT_HELP2MAN)
  message(STATUS "help2man not found: no man pages (install help2man)")
elseif(NOT CMAKE_CROSSCOMPILING AND NOT INGOT_SANITIZE AND NOT INGOT_FUZZ)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man/ingot.1
    COMMAND sh ${PROJECT_SOURCE_DIR}/packaging/man_pages.sh $<TARGET_FILE:ingot_cli>
      ${PROJECT_BINARY_DIR}/man
    DEPENDS ingot_cli ${PROJECT_SOURCE_DIR}/packaging/man_pages.sh VERBATIM)
  add_custom_target(ingot_manual ALL DEPENDS ${PROJECT_BINARY_DIR}/man/ingot.1)
endif()
