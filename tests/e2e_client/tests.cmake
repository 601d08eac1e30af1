# The client's programs against a real daemon, on port 0 of loopback. Each test_*.py is one test; it
# gets the folder of sluiced and sluice, and of `gate`, a program that links libsluice and nothing
# else of ours.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND TARGET sluiced AND TARGET sluice AND NOT SLUICE_FUZZ)
  add_executable(client_gate ${CMAKE_CURRENT_LIST_DIR}/gate.c)
  target_compile_options(client_gate PRIVATE ${SLUICE_WARNINGS})
  target_link_libraries(client_gate PRIVATE libsluice)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${name})
    add_test(NAME e2e.client_${name}
             COMMAND ${Python3_EXECUTABLE} -B ${script} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    set_tests_properties(e2e.client_${name} PROPERTIES TIMEOUT 300)
  endforeach()
endif()
