# The house rules. Symbols are looked at where objects hold machine code (no LTO): the Debug builds.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  if(CMAKE_INTERPROCEDURAL_OPTIMIZATION OR SLUICE_SANITIZE OR SLUICE_FUZZ)
    add_test(NAME tidy COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/tidy/tidy.py)
  else()
    add_test(NAME tidy COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/tidy/tidy.py
                               ${CMAKE_BINARY_DIR})
  endif()
endif()
