# Programs that let threads meet, one a file: race.<file>. They are what the ThreadSanitizer build
# is for, so they do without the unit tests' library.
file(GLOB races CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/race/*.c)
if(NOT SLUICE_FUZZ)
  foreach(source ${races})
    get_filename_component(race ${source} NAME_WE)
    add_executable(race_${race} ${source})
    target_compile_options(race_${race} PRIVATE -Wall -Wextra -Wshadow -Werror)
    target_link_libraries(race_${race} PRIVATE sluice_engine sluice_persist Threads::Threads)
    add_test(NAME race.${race} COMMAND race_${race})
    set_tests_properties(race.${race} PROPERTIES TIMEOUT 300)
  endforeach()
endif()
