# Each case file is a test of its own: what `sluice simulate` answers, exactly.
if(TARGET sluice AND NOT SLUICE_FUZZ)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.case)
  foreach(case ${cases})
    get_filename_component(name ${case} NAME_WE)
    add_test(NAME cases.${name}
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run.py
                     $<TARGET_FILE:sluice> ${case})
    set_tests_properties(cases.${name} PROPERTIES TIMEOUT 300)
  endforeach()
  add_test(NAME cases.simulate
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/cli.py $<TARGET_FILE:sluice>
                   ${CMAKE_SOURCE_DIR})
  set_tests_properties(cases.simulate PROPERTIES TIMEOUT 300)
  add_test(NAME model.simulate
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/model.py $<TARGET_FILE:sluice> 30)
  set_tests_properties(model.simulate PROPERTIES TIMEOUT 600)
endif()
