# The examples of deploy/gateways, each with the real gateway; one that is not installed is skipped.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND TARGET sluiced AND NOT SLUICE_FUZZ)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${name})
    add_test(NAME e2e.gateway_${name}
             COMMAND ${Python3_EXECUTABLE} -B ${script} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    set_tests_properties(e2e.gateway_${name} PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
  endforeach()
endif()
