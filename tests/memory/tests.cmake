# What counters cost in memory, and what a reload costs with many of them. SLUICE_FULL_TESTS=1 in the
# environment measures 5 to 15 million.
if(SLUICE_BUILD_TESTS AND NOT SLUICE_SANITIZE AND NOT SLUICE_FUZZ)
  add_executable(store_memory ${CMAKE_CURRENT_LIST_DIR}/store_memory.c)
  target_compile_options(store_memory PRIVATE -Wall -Wextra -Wshadow -Werror)
  target_link_libraries(store_memory PRIVATE sluice_store)
  add_test(NAME model.memory COMMAND store_memory)
  set_tests_properties(model.memory PROPERTIES TIMEOUT 600)
  add_executable(reload_pause ${CMAKE_CURRENT_LIST_DIR}/reload_pause.c)
  target_compile_options(reload_pause PRIVATE -Wall -Wextra -Wshadow -Werror)
  target_link_libraries(reload_pause PRIVATE sluice_engine)
  add_test(NAME model.reload_pause COMMAND reload_pause)
  set_tests_properties(model.reload_pause PROPERTIES TIMEOUT 600)
endif()
