# What the folders are made into: the library, the command line, the benchmarks, and the tests that span folders.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(tokamak_folders support graph passes fusion kernel schedule codegen_host library runtime sparse sim search
    driver)
list(TRANSFORM tokamak_folders PREPEND tokamak_ OUTPUT_VARIABLE folder_targets)

# libtokamak: one shared library of all folders. What they need (SQLite, {fmt}) stays its own business: a program
# that links it needs none of their headers. The objects are named so that all are in, whoever calls them; linking the
# folders as well brings what they link.
add_library(libtokamak SHARED)
foreach(target ${folder_targets})
  target_sources(libtokamak PRIVATE $<TARGET_OBJECTS:${target}>)
endforeach()
target_link_libraries(libtokamak PRIVATE ${folder_targets})
set_target_properties(libtokamak PROPERTIES OUTPUT_NAME tokamak EXPORT_NAME tokamak LINKER_LANGUAGE CXX
                                            VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_compile_features(libtokamak PUBLIC cxx_std_20)
# tokamak.h includes headers of the folders by their names in src; installed, they live under include/tokamak/internal.
target_include_directories(
  libtokamak INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tokamak/internal>)
add_library(tokamak::tokamak ALIAS libtokamak)

# The command line: a library, for the wheel has it too, and the program.
file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/tokamak/*.cpp)
list(REMOVE_ITEM tool_sources ${PROJECT_SOURCE_DIR}/tools/tokamak/main.cpp)
add_library(tokamak_tool STATIC ${tool_sources} bench/machine.cpp)
target_include_directories(tokamak_tool PRIVATE ${PROJECT_SOURCE_DIR} INTERFACE ${PROJECT_SOURCE_DIR}/tools/tokamak)
target_link_libraries(tokamak_tool PUBLIC tokamak_driver tokamak_search tokamak_sim
                                   PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json fmt::fmt)
target_compile_definitions(tokamak_tool PRIVATE TOKAMAK_VERSION="${PROJECT_VERSION}")
tokamak_precompile(tokamak_tool tokamak_support)
add_executable(tokamak tools/tokamak/main.cpp)
target_link_libraries(tokamak PRIVATE tokamak_tool)
if(TARGET tokamak_mlir)
  add_dependencies(tokamak tokamak_mlir)
endif()
install(TARGETS tokamak RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

# Benchmarks: the sources of bench/ are one program.
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
if(TOKAMAK_BENCH AND bench_sources)
  add_executable(tokamak_bench ${bench_sources})
  target_include_directories(tokamak_bench PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(tokamak_bench PRIVATE tokamak_driver tokamak_sparse tokamak_sim nlohmann_json::nlohmann_json)
  target_compile_definitions(tokamak_bench PRIVATE TOKAMAK_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endif()

# Random graphs, their inputs, the comparison of outputs and the shrinker: a library for whoever fuzzes.
if(TOKAMAK_TESTS OR TOKAMAK_FUZZ)
  set(random_graph_sources compare generator random_composite random_elementwise random_graph random_shape
                           random_structured shrink)
  list(TRANSFORM random_graph_sources REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/tests/fuzz/\\1.cpp")
  add_library(tokamak_random_graph STATIC ${random_graph_sources})
  target_include_directories(tokamak_random_graph PUBLIC ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(tokamak_random_graph PUBLIC tokamak_graph)
  tokamak_precompile(tokamak_random_graph tokamak_support)
endif()

# libFuzzer targets: each tests/fuzz/NAME_fuzz.cpp is a program, all together `fuzzers`. What they reach is built with
# the fuzzer's counters by the preset (fuzzer-no-link), or it would mutate blindly.
if(TOKAMAK_FUZZ)
  file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
  add_custom_target(fuzzers)
  foreach(source ${fuzz_sources})
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE tokamak_driver tokamak_random_graph)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  endforeach()
endif()

if(TOKAMAK_TESTS)
  # The vector math on every float; `make fuzz` runs it.
  add_executable(exhaustive_math ${PROJECT_SOURCE_DIR}/tests/fuzz/exhaustive_math.cpp)
  target_link_libraries(exhaustive_math PRIVATE tokamak_codegen_llvm)
  include(cmake/tests.cmake)
endif()

# The component `library` is what a program needs to be built against Tokamak: the shared library, tokamak.h, the
# folders' headers it includes, those of sparse programs, and the package config.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tokamak)
install(TARGETS libtokamak EXPORT tokamak LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
                                                   NAMELINK_COMPONENT library)
install(DIRECTORY include/tokamak DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
foreach(folder support graph fusion kernel schedule library runtime sparse driver)
  install(DIRECTORY src/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tokamak/internal COMPONENT library
          FILES_MATCHING PATTERN "*.h" PATTERN "onednn*" EXCLUDE PATTERN "testing*" EXCLUDE)
endforeach()
install(FILES src/codegen/cuda/compile.h src/codegen/cuda/emit.h src/codegen/cuda/nvrtc.h COMPONENT library
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tokamak/internal/codegen/cuda)
install(FILES src/codegen/llvm/compile.h src/codegen/llvm/host_target.h src/codegen/llvm/load.h COMPONENT library
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tokamak/internal/codegen/llvm)
install(FILES src/codegen/host/back_end.h COMPONENT library
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tokamak/internal/codegen/host)
install(EXPORT tokamak NAMESPACE tokamak:: FILE tokamakTargets.cmake DESTINATION ${package_dir} COMPONENT library)
configure_package_config_file(cmake/tokamakConfig.cmake.in tokamakConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(tokamakConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tokamakConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tokamakConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT library)
