# SPDX-License-Identifier: Apache-2.0
# Writes build_identity.h where it changes: cmake -DOUT= -DSOURCE= -DBUILD= -DDEVICE_CODE= -P FILE
set(commit "")
if(EXISTS ${SOURCE}/.git)  # not the repository that a copy of the sources may lie in
  find_program(git git)
  if(git)
    execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(commit STREQUAL "")
  set(commit "unknown: not built in a git checkout")
endif()
if(DEVICE_CODE STREQUAL "")
  set(DEVICE_CODE "none")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define INGOT_COMMIT \"${commit}\"
#define INGOT_BUILD \"${BUILD}\"
#define INGOT_DEVICE_CODE \"${DEVICE_CODE}\"
")
