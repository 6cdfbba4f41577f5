#pragma once
/// Sealed segments of frames: H5MD 1.1 names, chunk = one frame, fletcher32, never appended in place.

#include "gaussflow/core/tensor.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gaussflow::io {

struct Frame {
  std::int64_t step = 0;
  double time = 0;
  Tensor position;                            ///< [N, D], original units
  std::map<std::string, double> observables;  ///< the same names in every frame of a segment
};

/// Collects frames and writes them as `seg-<first step>.h5` by `.part`, fsync, rename.
class TrajectoryWriter {
 public:
  explicit TrajectoryWriter(std::filesystem::path directory) : directory_(std::move(directory)) {}
  void add(Frame frame) { frames_.push_back(std::move(frame)); }
  /// Writes what was collected, if anything. Throws IoError; the frames then stay collected.
  void seal();

 private:
  std::filesystem::path directory_;
  std::vector<Frame> frames_;
};

/// Verifies the digest. Throws InputError.
std::vector<Frame> read_segment(const std::filesystem::path& file);

/// Removes `.part` files and segments with a frame beyond `step` (a segment that straddles it is cut and sealed anew).
void truncate_trajectory(const std::filesystem::path& directory, std::int64_t step);

}  // namespace gaussflow::io
