# cmake -DSOURCE= -DFOLDER= -P bundle_test.cmake: an npm that fails must not fail the build; what is
# left is an empty bundle, which turns the charts off.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
file(WRITE ${FOLDER}/npm "#!/bin/sh\necho 'no registry answers' >&2\nexit 7\n")
file(CHMOD ${FOLDER}/npm PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
execute_process(
  COMMAND ${CMAKE_COMMAND} -DNPM=${FOLDER}/npm -DSOURCE=${SOURCE} -DFOLDER=${FOLDER}/out
          "-DINPUTS=package.json;package-lock.json;bundle.mjs;charts.js" -P ${SOURCE}/bundle.cmake
  RESULT_VARIABLE result ERROR_VARIABLE message)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "a failing npm failed the build (${result}): ${message}")
endif()
foreach(words "tables but no charts" "no registry answers" "To try again")
  if(NOT message MATCHES "${words}")
    message(FATAL_ERROR "the message does not say \"${words}\": ${message}")
  endif()
endforeach()
foreach(name charts.min.js licences.txt)
  file(SIZE ${FOLDER}/out/${name} size)
  if(NOT size EQUAL 0)
    message(FATAL_ERROR "${name} holds ${size} bytes after a failed npm")
  endif()
endforeach()
