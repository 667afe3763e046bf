# Run by every build (cmake -P): writes build_info.cpp, and touches it only when something changed,
# so that the commit in a report is the commit that was built and not the one first configured.
set(GIT_COMMIT "")
set(GIT_DIRTY false)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse HEAD RESULT_VARIABLE failed
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${GIT} --no-optional-locks -C ${SOURCE_DIR} status --porcelain
                          --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(NOT failed)
    set(GIT_COMMIT "${commit}")
    if(changes)
      set(GIT_DIRTY true)
    endif()
  endif()
endif()
foreach(text VERSION COMPILER FLAGS BUILD_TYPE)
  string(REPLACE "\\" "\\\\" ${text} "${${text}}")
  string(REPLACE "\"" "\\\"" ${text} "${${text}}")
endforeach()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
