# SPDX-License-Identifier: Apache-2.0
# conform.cmake - every schema must stay readable by what was released: flatc --conform, for each
# released/v*/NAME.fbs. And the check itself must bite: a schema with a field taken away has to be
# refused.
file(GLOB released ${SCHEMA}/released/v*/*.fbs)
list(LENGTH released count)
if(count EQUAL 0)
  message(FATAL_ERROR "no released schemas below ${SCHEMA}/released")
endif()
foreach(old ${released})
  get_filename_component(name ${old} NAME)
  execute_process(COMMAND ${FLATC} --conform ${old} ${SCHEMA}/${name} RESULT_VARIABLE failed
    OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(failed)
    message(FATAL_ERROR "schema/${name} breaks ${old}: ${text}")
  endif()
endforeach()
file(READ ${SCHEMA}/ingot.fbs text)
string(REPLACE "  packing:Packing;" "" broken "${text}")
if(broken STREQUAL text)
  message(FATAL_ERROR "the field to take away is not there; mend this test")
endif()
file(WRITE ${WORK}/broken.fbs "${broken}")
list(GET released 0 any)
get_filename_component(folder ${any} DIRECTORY)
execute_process(COMMAND ${FLATC} --conform ${folder}/ingot.fbs ${WORK}/broken.fbs RESULT_VARIABLE
  failed OUTPUT_QUIET ERROR_QUIET)
if(NOT failed)
  message(FATAL_ERROR "flatc --conform accepted a schema with a field taken away")
endif()
message("${count} released schemas conform")
