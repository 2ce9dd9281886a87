# The Python packages as a build makes them: build/PRESET/python holds tokamak/ with the extension module, fusionbench/, and
# the metadata by which torch finds the back end, so that PYTHONPATH=build/PRESET/python is as good as an installed wheel.
find_path(TOKAMAK_PYTHON_INCLUDE Python.h HINTS /usr/include/python3.13 /usr/include/python3.12 /usr/include/python3.11)
if(NOT TOKAMAK_PYTHON_INCLUDE)
  message(STATUS "tokamak: Python.h not found; the Python package is left out")
  return()
endif()

file(GLOB extension_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/tokamak/ext/*.cpp)
add_library(tokamak_python MODULE ${extension_sources})
target_compile_definitions(tokamak_python PRIVATE Py_LIMITED_API=0x030B0000)
target_include_directories(tokamak_python SYSTEM PRIVATE ${TOKAMAK_PYTHON_INCLUDE})
target_link_libraries(tokamak_python PRIVATE tokamak_driver tokamak_sparse tokamak_sim tokamak_tool nlohmann_json::nlohmann_json)
target_link_options(tokamak_python PRIVATE -Wl,--exclude-libs,ALL)
set(python_build ${CMAKE_BINARY_DIR}/python)
set_target_properties(tokamak_python PROPERTIES PREFIX "" SUFFIX ".abi3.so" OUTPUT_NAME _ext
                                                CXX_VISIBILITY_PRESET hidden
                                                LIBRARY_OUTPUT_DIRECTORY ${python_build}/tokamak)
file(MAKE_DIRECTORY ${python_build}/tokamak ${python_build}/tokamak-${PROJECT_VERSION}.dist-info)
file(WRITE ${python_build}/tokamak-${PROJECT_VERSION}.dist-info/METADATA
     "Metadata-Version: 2.1\nName: tokamak\nVersion: ${PROJECT_VERSION}\n")
file(WRITE ${python_build}/tokamak-${PROJECT_VERSION}.dist-info/entry_points.txt
     "[torch_dynamo_backends]\ntokamak = tokamak.backend:tokamak\n")
file(GLOB modules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/tokamak/*)
list(FILTER modules EXCLUDE REGEX "__pycache__$")
foreach(module IN LISTS modules)
  get_filename_component(name ${module} NAME)
  file(CREATE_LINK ${module} ${python_build}/tokamak/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/bench/fusionbench ${python_build}/fusionbench SYMBOLIC)
# The wheel's component alone: `make install` neither builds it nor has a place for it.
install(TARGETS tokamak_python tokamak_llvm LIBRARY DESTINATION tokamak COMPONENT python EXCLUDE_FROM_ALL)
