# cmake -DNPM= -DSOURCE= -DFOLDER= -DINPUTS= -P bundle.cmake: makes FOLDER/charts.min.js and
# FOLDER/licences.txt. Never fails the build: without a registry both files are left empty, the page
# then shows tables only, and the message says why.
file(MAKE_DIRECTORY ${FOLDER})
foreach(input IN LISTS INPUTS)
  configure_file(${SOURCE}/${input} ${FOLDER}/${input} COPYONLY)
endforeach()

function(step what limit)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${FOLDER} TIMEOUT ${limit}
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(REGEX REPLACE "\n+$" "" output "${output}")
    set(problem "${what} failed (${result}):\n${output}" PARENT_SCOPE)
  endif()
endfunction()

set(problem "")
# npm writes this file last; older than the lock file means that the packages are not those.
if(${FOLDER}/package-lock.json IS_NEWER_THAN ${FOLDER}/node_modules/.package-lock.json)
  step("npm ci" 180 ${NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries=1
       --fetch-timeout=30000)
endif()
if(NOT problem)
  step("npm run build" 60 ${NPM} run --silent build)
endif()
if(problem)
  message(WARNING "report pages of this build have tables but no charts: ${problem}\n"
                  "To try again: run cmake once more on this build directory, then build.")
  file(WRITE ${FOLDER}/charts.min.js "")
  file(WRITE ${FOLDER}/licences.txt "")
endif()
