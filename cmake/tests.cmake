# Tests that span folders. Unit tests stand beside their sources and are found by tokamak_folder.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Random graphs and the passes on them; the library is products.cmake's.
add_executable(random_graph_test ${PROJECT_SOURCE_DIR}/tests/fuzz/random_graph_test.cpp)
target_link_libraries(random_graph_test PRIVATE tokamak_random_graph GTest::gtest GTest::gtest_main)
tokamak_precompile(random_graph_test support_test)
gtest_discover_tests(random_graph_test DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 900)
add_executable(fuzz_passes_test ${PROJECT_SOURCE_DIR}/tests/fuzz/passes_test.cpp)
target_link_libraries(fuzz_passes_test PRIVATE tokamak_passes tokamak_random_graph GTest::gtest GTest::gtest_main)
tokamak_precompile(fuzz_passes_test support_test)
gtest_discover_tests(fuzz_passes_test DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 900)

# A libcuda and a libcublasLt for machines without a GPU, opened by the tests of tests/cuda.
add_library(fake_cuda SHARED ${PROJECT_SOURCE_DIR}/tests/cuda/fake/fake_cuda.cpp)
add_library(fake_cublaslt SHARED ${PROJECT_SOURCE_DIR}/tests/cuda/fake/fake_cublaslt.cpp)
target_include_directories(fake_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(fake_cublaslt PRIVATE tokamak_support)

# The sources of tests/FOLDER are one GoogleTest program, FOLDER_test.
foreach(folder e2e golden errors gpu_plans cuda)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  if(sources)
    add_executable(${folder}_test ${sources})
    target_link_libraries(${folder}_test PRIVATE tokamak_driver tokamak_random_graph nlohmann_json::nlohmann_json GTest::gtest
                                                 GTest::gtest_main)
    target_compile_definitions(${folder}_test PRIVATE TOKAMAK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    tokamak_precompile(${folder}_test support_test)
    gtest_discover_tests(${folder}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_TIMEOUT 120
                         PROPERTIES TIMEOUT 900)
  endif()
endforeach()
add_dependencies(cuda_test fake_cuda fake_cublaslt)
target_compile_definitions(cuda_test PRIVATE TOKAMAK_FAKE_CUDA="$<TARGET_FILE:fake_cuda>"
                                             TOKAMAK_FAKE_CUBLASLT="$<TARGET_FILE:fake_cublaslt>")

# The op sweep of e2e and the tests of tests/gpu on a real GPU: `make gpu-test` runs it, ctest does not.
file(GLOB gpu_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/gpu/*.cpp ${PROJECT_SOURCE_DIR}/tests/e2e/every_*.cpp)
add_executable(gpu_test ${gpu_sources} ${PROJECT_SOURCE_DIR}/tests/e2e/sweep.cpp)
target_link_libraries(gpu_test PRIVATE tokamak_driver tokamak_random_graph GTest::gtest)
tokamak_precompile(gpu_test support_test)

# The tree's own rules.
foreach(rule arrows sizes errors guide)
  add_test(NAME rules.${rule} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/check_${rule}.py)
endforeach()

# Examples are programs against the public header; each runs and must succeed.
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/cpp/*.cpp)
foreach(source ${examples})
  cmake_path(GET source STEM name)
  add_executable(example_${name} ${source})
  target_link_libraries(example_${name} PRIVATE tokamak::tokamak)
  add_test(NAME example.${name} COMMAND example_${name})
endforeach()

# The command line from outside. The virtual environment's Python has numpy.
if(TARGET tokamak)
  find_program(TOKAMAK_PYTHON NAMES python3 PATHS ${PROJECT_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
  if(TOKAMAK_PYTHON)
    set(cli_tests cli sparse sim)
    if(TARGET tokamak_mlir)
      list(APPEND cli_tests mlir)
    endif()
    set(cli_timeout 900)
    if(TOKAMAK_SANITIZE)
      set(cli_timeout 3600)
    endif()
    foreach(name ${cli_tests})
      add_test(NAME cli.${name} COMMAND ${TOKAMAK_PYTHON} ${PROJECT_SOURCE_DIR}/tests/cli/test_${name}.py)
      set_tests_properties(cli.${name} PROPERTIES TIMEOUT ${cli_timeout} ENVIRONMENT
                           "TOKAMAK=$<TARGET_FILE:tokamak>;TOKAMAK_SANITIZE=${TOKAMAK_SANITIZE}")
    endforeach()
  endif()
endif()

# An installed Tokamak is found by find_package and is all that a program needs.
set(consumer_flags "")
if(TOKAMAK_SANITIZE)
  set(consumer_flags -fsanitize=${TOKAMAK_SANITIZE})
endif()
add_test(NAME install.consumer
         COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${CMAKE_BINARY_DIR} -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
                 -DWORK_DIR=${CMAKE_BINARY_DIR}/consumer -DCXX=${CMAKE_CXX_COMPILER}
                 "-DCXX_FLAGS=${consumer_flags}" -P
                 ${PROJECT_SOURCE_DIR}/tests/consumer/run.cmake)
