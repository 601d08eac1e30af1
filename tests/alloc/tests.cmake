# The request path allocates nothing once warm: counted by standing in for malloc, so not with sanitizers.
if(SLUICE_BUILD_TESTS AND NOT SLUICE_SANITIZE AND NOT SLUICE_FUZZ)
  add_executable(native_alloc ${CMAKE_CURRENT_LIST_DIR}/native_alloc.c)
  target_compile_options(native_alloc PRIVATE -Wall -Wextra -Wshadow -Werror)
  target_link_libraries(native_alloc PRIVATE sluice_wire)
  add_test(NAME unit.native_alloc COMMAND native_alloc)
endif()
