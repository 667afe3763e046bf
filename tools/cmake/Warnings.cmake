# One interface target that every target of ours links: warnings, and nothing about the build
# machine (no -march=native: kernels choose their instruction set at run time).
add_library(plimsoll_options INTERFACE)
target_include_directories(plimsoll_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(plimsoll_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${PLIMSOLL_WERROR}>>:-Werror>)
# gcc 12 reports overlaps in std::string's own operator+ (gcc bug 105651) and, at -O3 and under
# sanitizers, uninitialized members inside std::optional, std::string and std::regex (105562).
set(old_gcc "$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>")
string(REGEX MATCH "-fsanitize" sanitized "${CMAKE_CXX_FLAGS}")
target_compile_options(plimsoll_options INTERFACE
  $<$<AND:${old_gcc}>:-Wno-restrict>
  $<$<AND:${old_gcc},$<OR:$<CONFIG:Release>,$<BOOL:${sanitized}>>>:-Wno-maybe-uninitialized>)
# A designated initializer names what differs; the members it leaves out have their defaults.
target_compile_options(plimsoll_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
if(CMAKE_CXX_FLAGS MATCHES "-ffast-math|-Ofast|-ffinite-math-only")
  message(FATAL_ERROR "plimsoll relies on NaN and infinity checks: remove -ffast-math, -Ofast and "
                      "-ffinite-math-only from CMAKE_CXX_FLAGS (now: ${CMAKE_CXX_FLAGS})")
endif()

# plimsoll_library(<name> SOURCES ... [PUBLIC lib...] [PRIVATE lib...]): a static library with an
# alias plimsoll::<name without prefix>.
function(plimsoll_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:plimsoll_options>
                                ${ARG_PRIVATE})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/plimsoll>)
  string(REGEX REPLACE "^plimsoll_" "" short ${name})
  add_library(plimsoll::${short} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short} POSITION_INDEPENDENT_CODE ON)
endfunction()
