# The LLVM back end, src/codegen/llvm: a shared object of its own that src/codegen/host opens when the first kernel is wanted, so
# that nothing else links LLVM. Its tests link it directly.
tokamak_folder(codegen/llvm EXCLUDE codegen/llvm/component DEPENDS kernel SYSTEM_INCLUDES ${LLVM_INCLUDE_DIRS})
tokamak_link_llvm(tokamak_codegen_llvm)
tokamak_source_hash(codegen/llvm codegen_hash)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/codegen/llvm/compile.cpp PROPERTIES
  COMPILE_DEFINITIONS TOKAMAK_CODEGEN_HASH="${codegen_hash}")

# What crosses the border is laid out by these headers: a component that was built from others is refused.
file(GLOB_RECURSE border CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernel/*.h ${PROJECT_SOURCE_DIR}/src/support/*.h
     ${PROJECT_SOURCE_DIR}/src/codegen/host/*.h)
tokamak_hash_files(back_end_hash ${border} ${PROJECT_SOURCE_DIR}/src/codegen/llvm/compile.h
                   ${PROJECT_SOURCE_DIR}/src/codegen/llvm/host_target.h ${PROJECT_SOURCE_DIR}/src/codegen/llvm/load.h)

tokamak_folder(codegen/host DEPENDS kernel)
add_library(tokamak_llvm SHARED src/codegen/llvm/component/entry.cpp)
target_link_libraries(tokamak_llvm PRIVATE tokamak_codegen_llvm)
target_link_options(tokamak_llvm PRIVATE -Wl,--exclude-libs,ALL)  # it shows one name
foreach(target tokamak_llvm tokamak_codegen_host)
  target_compile_definitions(${target} PRIVATE TOKAMAK_BACK_END="${back_end_hash}")
endforeach()
set_target_properties(tokamak_llvm PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
if(NOT TOKAMAK_STATIC)
  set_target_properties(tokamak_llvm PROPERTIES INSTALL_RPATH ${LLVM_LIBRARY_DIR})
endif()
add_dependencies(tokamak_codegen_host tokamak_llvm)  # whoever may open it has it
include(GNUInstallDirs)
install(TARGETS tokamak_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
