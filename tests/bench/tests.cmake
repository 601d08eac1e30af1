# Programs for tests/bench/run; not tests: nothing here is timed by ctest.
if(NOT SLUICE_FUZZ AND NOT SLUICE_SANITIZE)
  foreach(name echo bare_http2 load resp_load decide feed)
    add_executable(bench_${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
    target_compile_options(bench_${name} PRIVATE -Wall -Wextra -Werror -O2)
    set_target_properties(bench_${name} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/bench)
    sluice_whole(bench_${name})
  endforeach()
  target_link_libraries(bench_echo PRIVATE PkgConfig::UV)
  target_link_libraries(bench_bare_http2 PRIVATE PkgConfig::UV PkgConfig::NGHTTP2)
  target_link_libraries(bench_decide PRIVATE sluice_engine)
  target_link_libraries(bench_feed PRIVATE sluice_wire)
endif()
