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

/// Collects frames and writes them as `seg-<first step>.h5`: .part → read back → seal → fsync → rename.
class TrajectoryWriter {
 public:
  explicit TrajectoryWriter(std::filesystem::path directory) : directory_(std::move(directory)) {}
  /// Steps increase; position and observables are of one kind within a segment.
  void add(Frame frame);
  std::size_t size() const { return frames_.size(); }
  /// Writes what was collected, if anything. Throws IoError; the frames then stay collected.
  void seal();

 private:
  std::filesystem::path directory_;
  std::vector<Frame> frames_;
};

/// The segments in `directory`, by first step, unread; none when there is no such folder.
/// Throws  IoError when it cannot be listed.
std::vector<std::filesystem::path> list_segments(const std::filesystem::path& directory);

/// Verifies the seal. Throws InputError.
std::vector<Frame> read_segment(const std::filesystem::path& file);

/// Removes `.part` files and segments with a frame beyond `step` (a segment that straddles it is cut and sealed anew).
/// A damaged segment that it has to look into is kept as *.bad and said in the result.
std::vector<std::string> truncate_trajectory(const std::filesystem::path& directory, std::int64_t step);

}  // namespace gaussflow::io
