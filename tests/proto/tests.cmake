# The public contract and the dialect derived from it describe the same bytes; the examples of
# proto/PROTOCOLS.md are what the daemon says.
find_package(Python3 COMPONENTS Interpreter)
find_program(PROTOC protoc)
if(Python3_FOUND AND PROTOC AND NOT SLUICE_FUZZ)
  add_test(NAME proto.dialect
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/dialect.py ${PROTOC}
                   ${CMAKE_SOURCE_DIR}/proto ${CMAKE_BINARY_DIR}/gen)
endif()
if(Python3_FOUND AND TARGET sluiced AND NOT SLUICE_FUZZ)
  add_test(NAME proto.examples
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/examples.py
                   ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${CMAKE_SOURCE_DIR}/proto/PROTOCOLS.md)
  add_test(NAME proto.resp_examples
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/resp_examples.py
                   ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${CMAKE_SOURCE_DIR}/proto/PROTOCOLS.md)
  add_test(NAME proto.http_examples
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/http_examples.py
                   ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${CMAKE_SOURCE_DIR}/proto/PROTOCOLS.md)
  add_test(NAME proto.http2_examples
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/http2_examples.py
                   ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${CMAKE_SOURCE_DIR}/proto/PROTOCOLS.md)
  find_program(SYSTEM_PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH)
  if(SYSTEM_PYTHON3)
    add_test(NAME proto.envoy_examples
             COMMAND ${SYSTEM_PYTHON3} -B ${CMAKE_CURRENT_LIST_DIR}/envoy_examples.py
                     ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${CMAKE_SOURCE_DIR}/proto/PROTOCOLS.md)
    set_tests_properties(proto.envoy_examples PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()
