# What was found, and what is missing with what that turns off. The same list is compiled into
# `plimsoll doctor`.
message(STATUS "plimsoll ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} "
               "${CMAKE_CXX_COMPILER_VERSION}")
foreach(part IN LISTS PLIMSOLL_PARTS)
  if(part)
    string(REPLACE "|" ";" field "${part}")
    list(GET field 0 name)
    list(GET field 1 state)
    list(GET field 2 loses)
    list(GET field 3 fix)
    if(state STREQUAL "on")
      message(STATUS "  ${name}: on")
    else()
      message(STATUS "  ${name}: ${state}; without it: no ${loses}; ${fix}")
    endif()
  endif()
endforeach()
