# Flags of our own code, linked PRIVATE so that they reach nobody else's.
add_library(gaussflow_options INTERFACE)
target_compile_features(gaussflow_options INTERFACE cxx_std_20)
target_compile_options(gaussflow_options INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers)
if(GAUSSFLOW_SANITIZE)
  # GCC 12 warns of uninitialised members inside <regex> in instrumented code.
  target_compile_options(gaussflow_options INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer -g1
                                                     -Wno-maybe-uninitialized)
  target_link_options(gaussflow_options INTERFACE -fsanitize=address,undefined)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Every output says which revision made it; a header would rebuild the world at each commit, so only version.cpp sees it.
find_package(Git QUIET)
set(GAUSSFLOW_REVISION "unknown")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(GAUSSFLOW_REVISION "${revision}")
  endif()
endif()
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/core/version.cpp APPEND PROPERTY COMPILE_DEFINITIONS
             GAUSSFLOW_VERSION="${PROJECT_VERSION}" GAUSSFLOW_REVISION="${GAUSSFLOW_REVISION}")
