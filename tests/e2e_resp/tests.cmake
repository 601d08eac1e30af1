# The Redis protocol end to end: the real daemon, redis-cli, redis-benchmark and client libraries with
# their defaults. Each test_*.py is one test; one that lacks its program (tests/e2e_resp/install) is skipped.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND TARGET sluiced AND NOT SLUICE_FUZZ)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${name})
    add_test(NAME e2e.resp_${name}
             COMMAND ${Python3_EXECUTABLE} -B ${script} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    set_tests_properties(e2e.resp_${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
      ENVIRONMENT "SLUICE_SANITIZE=${SLUICE_SANITIZE}")
  endforeach()
endif()
