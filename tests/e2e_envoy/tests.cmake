# Envoy's rate limit service end to end: asked by grpcio and over HTTP, and by a real Envoy (install
# puts it into .cache/). Each test_*.py is one test; one that lacks its program is skipped.
find_program(SYSTEM_PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(SYSTEM_PYTHON3 AND TARGET sluiced AND NOT SLUICE_FUZZ)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${name})
    add_test(NAME e2e.envoy_${name}
             COMMAND ${SYSTEM_PYTHON3} -B ${script} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    set_tests_properties(e2e.envoy_${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
      ENVIRONMENT "SLUICE_SANITIZE=${SLUICE_SANITIZE}")
  endforeach()
endif()
