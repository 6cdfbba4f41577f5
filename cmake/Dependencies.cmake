# Every third party, once, with its reason. scripts/setup installs what is missing.

# LibTorch: tensors, flash attention, TorchScript. Plain imported targets: the wheel's own CMake package wants the CUDA toolkit.
# Taken from GAUSSFLOW_TORCH_DIR (the folder that holds include/ and lib/), else where scripts/setup put it.
set(GAUSSFLOW_TORCH_VERSION 2.11.0)
set(GAUSSFLOW_TORCH_DIR "" CACHE PATH "LibTorch folder with include/ and lib/ (empty: the one that scripts/setup fetched)")
if(DEFINED ENV{XDG_CACHE_HOME})
  set(gaussflow_cache "$ENV{XDG_CACHE_HOME}/gaussflow")
else()
  set(gaussflow_cache "$ENV{HOME}/.cache/gaussflow")
endif()
set(torch_dir "${GAUSSFLOW_TORCH_DIR}")
if(NOT torch_dir)
  set(torch_dir "${gaussflow_cache}/torch-${GAUSSFLOW_TORCH_VERSION}/torch")
endif()
if(NOT EXISTS "${torch_dir}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "No LibTorch in ${torch_dir}. Run scripts/setup, or pass -DGAUSSFLOW_TORCH_DIR=/path/to/torch")
endif()
add_library(torch::c10 SHARED IMPORTED)
set_target_properties(torch::c10 PROPERTIES IMPORTED_LOCATION "${torch_dir}/lib/libc10.so")
add_library(torch::cpu SHARED IMPORTED)
set_target_properties(torch::cpu PROPERTIES IMPORTED_LOCATION "${torch_dir}/lib/libtorch_cpu.so")
target_include_directories(torch::cpu SYSTEM INTERFACE "${torch_dir}/include" "${torch_dir}/include/torch/csrc/api/include")
target_link_libraries(torch::cpu INTERFACE torch::c10)
# OpenMP for the fused kernel: torch's own libgomp, the only one in the process.
add_library(torch::gomp INTERFACE IMPORTED)
target_compile_options(torch::gomp INTERFACE -fopenmp)
file(GLOB torch_gomp "${torch_dir}/lib/libgomp*.so*")
target_link_libraries(torch::gomp INTERFACE ${torch_gomp})
# The wheel's neighbours (CUDA runtime, CUPTI) are found through its own run path once its folder is on ours.
list(APPEND CMAKE_BUILD_RPATH "${torch_dir}/lib" "${torch_dir}/../nvidia/cu13/lib")
add_link_options("LINKER:-rpath-link,${torch_dir}/lib" "LINKER:-rpath-link,${torch_dir}/../nvidia/cu13/lib")

# HDF5: samples, checkpoints, trajectories. The C interface: closes and flushes report their errors there, where the C++
# classes swallow them in destructors.
find_package(HDF5 1.10 REQUIRED COMPONENTS C)
add_library(HDF5::C INTERFACE IMPORTED)
target_include_directories(HDF5::C SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(HDF5::C INTERFACE ${HDF5_C_LIBRARIES})

# yaml-cpp: YAML syntax; our own strict layer sits on it. 0.7 exports no namespaced target.
find_package(yaml-cpp 0.7 REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()

# libzip: NumPy's .npz archives. Its CMake package of Debian 12 wants command-line tools that nobody here calls.
find_path(zip_include zip.h REQUIRED)
find_library(zip_library zip REQUIRED)
add_library(libzip::zip UNKNOWN IMPORTED)
set_target_properties(libzip::zip PROPERTIES IMPORTED_LOCATION "${zip_library}" INTERFACE_INCLUDE_DIRECTORIES "${zip_include}")

find_package(CLI11 2.1 REQUIRED)           # command line
# Text, shortest round-trip numbers. Header-only: LibTorch carries headers of its own fmt, and whichever is found must be whole.
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)  # JSON: status, log, schema, resolved config
find_package(OpenSSL REQUIRED)             # SHA-256
find_package(hwy REQUIRED)                 # SIMD with run-time dispatch for the fused kernel
if(NOT TARGET hwy::hwy)
  add_library(hwy::hwy ALIAS hwy)
endif()

if(GAUSSFLOW_TESTS)
  find_package(doctest 2.4 REQUIRED)  # unit tests
  find_package(Eigen3 3.4 REQUIRED)   # independent fp64 oracles in the tests
endif()
