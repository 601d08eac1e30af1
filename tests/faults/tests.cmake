# Each allocation fails once: plain programs with a malloc of their own, so no sanitizer's.
if(SLUICE_BUILD_TESTS AND NOT SLUICE_SANITIZE AND NOT SLUICE_FUZZ)
  add_executable(faults_limits_file ${CMAKE_CURRENT_LIST_DIR}/limits_file.c)
  target_compile_options(faults_limits_file PRIVATE -Wall -Wextra -Wshadow -Werror)
  target_link_libraries(faults_limits_file PRIVATE sluice_engine)
  add_test(NAME unit.limits_file_faults COMMAND faults_limits_file)
endif()
