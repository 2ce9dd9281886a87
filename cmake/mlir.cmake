# The reader of MLIR text, src/sparse/mlir: a shared object of its own that `tokamak` opens when the first .mlir file comes,
# so that nothing else links MLIR. It wants libMLIR.so and its headers of the LLVM that everything else uses.
#
# Paths are looked up by hand: find_package(MLIR) also wants MLIR's tools, which nothing here needs. The folder is compiled as
# one file, for MLIR's headers take longer than all of it.
find_path(TOKAMAK_MLIR_INCLUDE mlir/IR/MLIRContext.h HINTS ${LLVM_INCLUDE_DIRS} NO_DEFAULT_PATH)
find_library(TOKAMAK_MLIR_LIBRARY MLIR HINTS ${LLVM_LIBRARY_DIR} NO_DEFAULT_PATH)
if(TOKAMAK_MLIR_INCLUDE AND TOKAMAK_MLIR_LIBRARY AND NOT TOKAMAK_STATIC)
  set(mlir_found ON)
else()
  set(mlir_found OFF)
endif()
option(TOKAMAK_MLIR "Build the reader of MLIR text" ${mlir_found})
if(NOT TOKAMAK_MLIR)
  message(STATUS "Without MLIR: install libmlir-${LLVM_VERSION_MAJOR}-dev to read .mlir files")
  return()
endif()

tokamak_folder(sparse/mlir EXCLUDE sparse/mlir/component DEPENDS sparse ${TOKAMAK_MLIR_LIBRARY} LLVM
               SYSTEM_INCLUDES ${TOKAMAK_MLIR_INCLUDE})
set_target_properties(tokamak_sparse_mlir PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
separate_arguments(mlir_definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(tokamak_sparse_mlir PRIVATE ${mlir_definitions})

add_library(tokamak_mlir SHARED src/sparse/mlir/component/entry.cpp)
target_link_libraries(tokamak_mlir PRIVATE tokamak_sparse_mlir)
target_link_options(tokamak_mlir PRIVATE -Wl,--exclude-libs,ALL)  # it shows one name
set_target_properties(tokamak_mlir PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
                                              INSTALL_RPATH ${LLVM_LIBRARY_DIR})
include(GNUInstallDirs)
install(TARGETS tokamak_mlir LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT program OPTIONAL)
