# The house rules. Symbols are looked at in plain Debug builds, where they are what was written.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  if(SLUICE_LTO OR SLUICE_SANITIZE OR SLUICE_FUZZ)
    add_test(NAME tidy COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/tidy/tidy.py)
  else()
    add_test(NAME tidy COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/tidy/tidy.py
                               ${CMAKE_BINARY_DIR})
  endif()
endif()
