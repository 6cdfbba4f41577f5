#include "gaussflow/io/trajectory.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/version.hpp"
#include "gaussflow/io/durable.hpp"

#include "io/numbered_file.hpp"
#include "io/sealed_file.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <system_error>

namespace gaussflow::io {

namespace {

/// The step in the seal is the last one, the step in the name the first: a truncation reads no more than that.
const Seal trajectory_seal{"gaussflow-trajectory", 1, 0};

constexpr const char* position = "/particles/all/position";

template <class Value>
Tensor column(const std::vector<Frame>& frames, at::ScalarType dtype, const Value& value) {
  std::vector<Tensor> values;
  for (const Frame& frame : frames) values.push_back(at::scalar_tensor(value(frame), dtype));
  return at::stack(values);
}

Arrays arrays_of(const std::vector<Frame>& frames) {
  std::vector<Tensor> positions;
  for (const Frame& frame : frames) positions.push_back(frame.position.detach().to(at::kCPU));
  Arrays arrays{
      {position + std::string("/step"), column(frames, at::kLong, [](const Frame& frame) { return frame.step; })},
      {position + std::string("/time"), column(frames, at::kDouble, [](const Frame& frame) { return frame.time; })},
      {position + std::string("/value"), at::stack(positions)}};
  for (const auto& [name, first] : frames.front().observables)
    arrays["/observables/" + name + "/value"] =
        column(frames, at::kDouble, [&name = name](const Frame& frame) { return frame.observables.at(name); });
  return arrays;
}

/// The root of an H5MD file: version, author, creator.                     [H5MD 1.1, "H5MD metadata"]
void write_metadata(hdf5::Writer& out) {
  out.group("/h5md");
  out.attribute("/h5md", "version", std::vector<std::int64_t>{1, 1});
  out.group("/h5md/author");
  out.attribute("/h5md/author", "name", "gaussflow");
  out.group("/h5md/creator");
  out.attribute("/h5md/creator", "name", "gaussflow");
  out.attribute("/h5md/creator", "version", version());
}

void write_contents(hdf5::Writer& out, const Frame& first, const Arrays& arrays) {
  write_metadata(out);
  for (const char* group : {"/particles", "/particles/all", "/particles/all/box", position, "/observables"})
    out.group(group);
  out.attribute("/particles/all/box", "dimension", first.position.size(1));
  out.attribute("/particles/all/box", "boundary",
                std::vector<std::string>(static_cast<std::size_t>(first.position.size(1)), "none"));
  for (const auto& [name, value] : first.observables) out.group("/observables/" + name);
  for (const auto& [path, values] : arrays) {
    if (values.dim() == 3)
      out.frames(path, values);
    else
      out.tensor(path, values);
  }
  for (const auto& [name, value] : first.observables)
    for (const char* axis : {"/step", "/time"}) out.link(position + std::string(axis), "/observables/" + name + axis);
}

Tensor read_dataset(const hdf5::Reader& in, const std::string& path, std::int64_t frames, std::size_t rank) {
  const hdf5::Dataset dataset = in.dataset(path);
  if (dataset.null || dataset.shape.size() != rank || (frames >= 0 && dataset.shape[0] != frames))
    throw InputError(fmt::format("{} has shape [{}], which no trajectory of this program has", dataset.where,
                                 fmt::join(dataset.shape, ", ")));
  hdf5::check_memory(dataset, dataset.info.size);
  hdf5::check_storage(dataset);
  return hdf5::read(dataset, hdf5::exact_dtype(dataset));
}

std::vector<Frame> read_contents(const std::filesystem::path& file) {
  const hdf5::Reader in(file, hdf5::Seals::checked);
  const Tensor step = read_dataset(in, "/particles/all/position/step", -1, 1);
  const std::int64_t count = step.size(0);
  const Tensor time = read_dataset(in, "/particles/all/position/time", count, 1);
  const Tensor value = read_dataset(in, "/particles/all/position/value", count, 3);
  std::vector<Frame> frames(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) frames[i] = {step[i].item<std::int64_t>(), time[i].item<double>(), value[i], {}};
  for (const hdf5::Link& link : in.links("/observables", 1000)) {
    const Tensor values = read_dataset(in, "/observables/" + link.name + "/value", count, 1);
    for (std::int64_t i = 0; i < count; ++i) frames[i].observables[link.name] = values[i].item<double>();
  }
  return frames;
}

void write_segment(const std::filesystem::path& directory, const std::vector<Frame>& frames) {
  Seal seal = trajectory_seal;
  seal.step = frames.back().step;
  const Arrays arrays = arrays_of(frames);
  std::size_t bytes = 1 << 16;
  for (const auto& [path, values] : arrays) bytes += values.nbytes() + 1024;
  write_sealed(directory / numbered_name("seg-", frames.front().step), seal, static_cast<std::int64_t>(bytes), arrays,
               [&](hdf5::Writer& out) { write_contents(out, frames.front(), arrays); });
}

}  // namespace

void TrajectoryWriter::add(Frame frame) {
  if (!frame.position.defined() || frame.position.dim() != 2) throw std::logic_error("a frame needs positions [N, D]");
  for (const auto& [name, value] : frame.observables)
    if (name.empty() || name == "." || name.find('/') != std::string::npos)
      throw std::logic_error(fmt::format("observable '{}' cannot be stored", name));
  if (!frames_.empty()) {
    const Frame& last = frames_.back();
    const auto names = [](const Frame& f) {
      std::vector<std::string> result;
      for (const auto& [name, value] : f.observables) result.push_back(name);
      return result;
    };
    if (frame.step <= last.step || frame.position.sizes() != last.position.sizes() ||
        frame.position.scalar_type() != last.position.scalar_type() || names(frame) != names(last))
      throw std::logic_error(fmt::format("frame {} does not follow frame {}", frame.step, last.step));
  }
  frames_.push_back(std::move(frame));
}

void TrajectoryWriter::seal() {
  if (frames_.empty()) return;
  write_segment(directory_, frames_);
  frames_.clear();
}

std::vector<std::filesystem::path> list_segments(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (NumberedFile& found : numbered_files(directory, "seg-")) files.push_back(std::move(found.path));
  return files;
}

std::vector<Frame> read_segment(const std::filesystem::path& file) {
  verify_seal(file, trajectory_seal);
  return read_contents(file);
}

std::vector<std::string> truncate_trajectory(const std::filesystem::path& directory, std::int64_t step) {
  std::vector<std::string> notes;
  remove_leftovers(directory);
  for (const NumberedFile& segment : numbered_files(directory, "seg-")) {
    try {
      if (segment.number > step) {
        std::filesystem::remove(segment.path);
      } else if (read_seal(segment.path, trajectory_seal).step > step) {
        std::vector<Frame> frames = read_segment(segment.path);
        std::erase_if(frames, [&](const Frame& frame) { return frame.step > step; });
        if (frames.empty())
          std::filesystem::remove(segment.path);
        else
          write_segment(directory, frames);
      }
    } catch (const DamagedError& error) {
      notes.push_back(put_aside(segment.path, error.what()));
    } catch (const std::filesystem::filesystem_error& error) {
      throw IoError(fmt::format("cannot remove {}: {}", segment.path.string(), error.code().message()));
    }
  }
  return notes;
}

}  // namespace gaussflow::io
