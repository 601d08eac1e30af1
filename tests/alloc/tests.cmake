# The request path allocates nothing once warm: counted by standing in for malloc, so not with sanitizers.
if(SLUICE_BUILD_TESTS AND NOT SLUICE_SANITIZE AND NOT SLUICE_FUZZ)
  foreach(name native_alloc resp_alloc http_alloc)
    add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
    target_compile_options(${name} PRIVATE -Wall -Wextra -Wshadow -Werror)
    target_link_libraries(${name} PRIVATE sluice_wire)
    add_test(NAME unit.${name} COMMAND ${name})
  endforeach()
endif()
