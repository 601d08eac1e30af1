# Bounded memory and the sweep, by the real daemon. Each test_*.py is one test.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND TARGET sluiced AND TARGET sluice AND NOT SLUICE_FUZZ)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${name})
    add_test(NAME e2e.memory_${name}
             COMMAND ${Python3_EXECUTABLE} -B ${script} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    set_tests_properties(e2e.memory_${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
      ENVIRONMENT "SLUICE_SANITIZE=${SLUICE_SANITIZE}")
  endforeach()
endif()
