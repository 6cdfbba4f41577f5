#include "io/hdf5_handle.hpp"

namespace gaussflow::io::hdf5 {

void prepare_library() {
  static const bool once = [] {
    H5dont_atexit();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    H5PLset_loading_state(0);
    return true;
  }();
  (void)once;
}

std::string last_error() {
  std::string text;
  const auto innermost = [](unsigned, const H5E_error2_t* entry, void* out) -> herr_t {
    if (entry->desc != nullptr) *static_cast<std::string*>(out) = entry->desc;
    return 1;  // stops after the first
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &text);
  H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "HDF5 gave no reason" : text;
}

Handle file_access() {
  prepare_library();
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  H5Pset_file_locking(access, false, true);
  return access;
}

Handle dataspace(int rank, const hsize_t* shape) {
  return {rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, shape, nullptr), H5Sclose};
}

}  // namespace gaussflow::io::hdf5
