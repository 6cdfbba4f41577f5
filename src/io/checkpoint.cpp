#include "gaussflow/io/checkpoint.hpp"

#include "gaussflow/core/digest.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/io/durable.hpp"

#include "io/numbered_file.hpp"
#include "io/sealed_file.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace gaussflow::io {

namespace {

static_assert(std::endian::native == std::endian::little, "digests are defined over little-endian bytes");

const Seal checkpoint_seal{"gaussflow-checkpoint", checkpoint_version, 0};
constexpr const char* state_digest_name = "state_sha256";

/// Root attributes that are not provenance.
bool reserved(const std::string& name) { return name == "format" || name == "format_version" || name == state_digest_name; }

void add(Digest& digest, const std::string& name, const Tensor& values) {
  const Tensor plain = values.detach().to(at::kCPU).contiguous();
  digest.update(name).update(std::string_view(c10::toString(plain.scalar_type()))).update(shape_text(plain));
  digest.update(plain.const_data_ptr(), plain.nbytes());
}

void check_finite(const State& state) {
  if (const NonFinite bad = find_non_finite(state.x); bad.count > 0)
    throw NumericalError(
        fmt::format("particle {} is not finite in coordinate {} after step {} ({} such numbers): no checkpoint is "
                    "written; the last good one stands",
                    bad.row, bad.column, state.step, bad.count));
  if (state.log_weights.defined() && at::isnan(state.log_weights).any().item<bool>())
    throw NumericalError(
        fmt::format("a log weight is NaN after step {}: no checkpoint is written; the last good one stands", state.step));
  if (!std::isfinite(state.time))
    throw NumericalError(fmt::format("the time is {} after step {}: no checkpoint is written; the last good one stands",
                                     state.time, state.step));
}

/// Mistakes of the program, not of its user.
void check_storable(const State& state) {
  const bool good = state.x.defined() && state.x.dim() == 2 &&
                    (state.x.scalar_type() == at::kFloat || state.x.scalar_type() == at::kDouble);
  if (!good) throw std::logic_error("a checkpoint needs particles [N, D] in fp32 or fp64");
  for (const auto& [name, values] : state.slots)
    if (name.empty() || name == "." || name.find('/') != std::string::npos || !values.defined())
      throw std::logic_error(fmt::format("slot '{}' cannot be stored", name));
}

/// The state where it can be hashed, written and compared without being fetched again.
State on_cpu(const State& state) {
  const auto plain = [](const Tensor& t) { return t.defined() ? t.detach().to(at::kCPU).contiguous() : t; };
  State result{plain(state.x), plain(state.log_weights), {}, state.step, state.time};
  for (const auto& [name, values] : state.slots) result.slots[name] = plain(values);
  return result;
}

Arrays arrays_of(const State& state) {
  Arrays arrays{{"/state/particles", state.x},
                {"/state/step", at::scalar_tensor(state.step, at::kLong)},
                {"/state/time", at::scalar_tensor(state.time, at::kDouble)}};
  if (state.log_weights.defined()) arrays["/state/log_weights"] = state.log_weights;
  for (const auto& [name, values] : state.slots) arrays["/state/slots/" + name] = values;
  return arrays;
}

/// Bytes of the file, headers and all, with some to spare.
std::int64_t size_of(const Checkpoint& checkpoint, const Arrays& arrays) {
  std::size_t bytes = (1 << 15) + checkpoint.config.size() + checkpoint.fixed.size();
  for (const auto& [path, values] : arrays) bytes += values.nbytes() + 1024;
  for (const auto& [name, value] : checkpoint.provenance) bytes += name.size() + value.size() + 1024;
  return static_cast<std::int64_t>(bytes);
}

void write_contents(hdf5::Writer& out, const Checkpoint& checkpoint, const Arrays& arrays) {
  out.attribute("/", "format", checkpoint_seal.format);
  out.attribute("/", "format_version", std::int64_t{checkpoint_version});
  out.attribute("/", state_digest_name, checkpoint.state_sha256);
  for (const auto& [name, value] : checkpoint.provenance)
    if (!reserved(name)) out.attribute("/", name, value);
  out.group("/state");
  out.group("/state/slots");
  for (const auto& [path, values] : arrays) out.tensor(path, values);
  out.group("/target");
  out.attribute("/target", "kind", checkpoint.target.kind);
  out.attribute("/target", "digest", checkpoint.target.digest);
  out.attribute("/target", "shape", checkpoint.target.shape);
  out.text("/config", checkpoint.config);
  out.text("/fixed", checkpoint.fixed);
}

Tensor read_tensor(const hdf5::Reader& in, const std::string& path) {
  const hdf5::Dataset dataset = in.dataset(path);
  if (dataset.null) throw InputError(fmt::format("{} has no value", dataset.where));
  hdf5::check_memory(dataset, dataset.info.size);
  hdf5::check_storage(dataset);
  return hdf5::read(dataset, hdf5::exact_dtype(dataset));
}

Tensor read_tensor(const hdf5::Reader& in, const std::string& path, at::IntArrayRef shape, at::ScalarType dtype) {
  const Tensor values = read_tensor(in, path);
  if (values.scalar_type() != dtype || values.sizes() != shape)
    throw InputError(fmt::format("{} should be {} [{}], it is {} {}", in.where(path), dtype_name(dtype),
                                 fmt::join(shape, ", "), dtype_name(values.scalar_type()), shape_text(values)));
  return values;
}

std::string read_string(const hdf5::Reader& in, const std::string& path) {
  const auto lines = hdf5::read_texts(in.dataset(path));
  return lines.empty() ? "" : lines.front();
}

template <class T>
T present(std::optional<T> value, const hdf5::Reader& in, const std::string& object, const std::string& name) {
  if (!value) throw InputError(fmt::format("{} has no attribute '{}'", in.where(object), name));
  return *std::move(value);
}

std::string read_attribute(const hdf5::Reader& in, const hdf5::Handle& object, const std::string& path,
                           const std::string& name) {
  return present(hdf5::text_attribute(object, name), in, path, name);
}

Checkpoint read_contents(const std::filesystem::path& file) {
  const hdf5::Reader in(file, hdf5::Seals::checked);
  const hdf5::Handle root = in.object("/");
  Checkpoint result;
  State& state = result.state;
  state.x = read_tensor(in, "/state/particles");
  if (state.x.dim() != 2 || !state.x.is_floating_point())
    throw InputError(fmt::format("{} should be particles [N, D], it is {} {}", in.where("/state/particles"),
                                 dtype_name(state.x.scalar_type()), shape_text(state.x)));
  if (in.has_dataset("/state/log_weights"))
    state.log_weights = read_tensor(in, "/state/log_weights", {state.x.size(0)}, at::kDouble);
  state.step = read_tensor(in, "/state/step", {}, at::kLong).item<std::int64_t>();
  state.time = read_tensor(in, "/state/time", {}, at::kDouble).item<double>();
  if (state.step < 0) throw InputError(fmt::format("{} is {}", in.where("/state/step"), state.step));
  for (const hdf5::Link& slot : in.links("/state/slots", 100000))
    state.slots[slot.name] = read_tensor(in, "/state/slots/" + slot.name);
  const hdf5::Handle target = in.object("/target");
  result.target.kind = read_attribute(in, target, "/target", "kind");
  result.target.digest = read_attribute(in, target, "/target", "digest");
  result.target.shape = present(hdf5::integers_attribute(target, "shape"), in, "/target", "shape");
  result.config = read_string(in, "/config");
  result.fixed = read_string(in, "/fixed");
  for (const std::string& name : hdf5::attribute_names(root))
    if (!reserved(name)) result.provenance[name] = hdf5::text_attribute(root, name).value_or("");
  result.state_sha256 = read_attribute(in, root, "/", state_digest_name);
  if (const std::string digest = state_digest(result); digest != result.state_sha256)
    throw InputError(fmt::format("{} does not verify: its state has digest {}, {} was written", file.string(), digest,
                                 result.state_sha256));
  return result;
}

Checkpoint read_sealed(const std::filesystem::path& file) {
  verify_seal(file, checkpoint_seal);
  try {
    return read_contents(file);
  } catch (const InputError& error) {
    throw DamagedError(error.what());
  }
}

std::string passed_over(const std::filesystem::path& file, const std::string& why, Repair repair) {
  return repair == Repair::rename ? put_aside(file, why)
                                  : fmt::format("{} does not verify ({}); passed over", file.filename().string(), why);
}

}  // namespace

std::string state_digest(const Checkpoint& checkpoint) {
  const State& state = checkpoint.state;
  Digest digest;
  digest.update("gaussflow state 1");
  add(digest, "particles", state.x);
  if (state.log_weights.defined()) add(digest, "log_weights", state.log_weights);
  for (const auto& [name, values] : state.slots) add(digest, "slots/" + name, values);
  digest.update(fmt::format("step {}", state.step)).update("time").update(&state.time, sizeof state.time);
  const TargetRecord& target = checkpoint.target;
  digest.update(target.kind).update(target.digest).update(fmt::format("[{}]", fmt::join(target.shape, ", ")));
  digest.update(checkpoint.fixed);
  return digest.hex();
}

std::string checkpoint_name(std::int64_t step) { return numbered_name("ckpt-", step); }

std::filesystem::path write_checkpoint(const std::filesystem::path& directory, Checkpoint& checkpoint) {
  check_storable(checkpoint.state);
  Checkpoint plain = checkpoint;
  plain.state = on_cpu(checkpoint.state);
  check_finite(plain.state);
  checkpoint.state_sha256 = plain.state_sha256 = state_digest(plain);
  const Arrays arrays = arrays_of(plain.state);
  const std::filesystem::path file = directory / checkpoint_name(plain.state.step);
  Seal seal = checkpoint_seal;
  seal.step = plain.state.step;
  write_sealed(file, seal, size_of(plain, arrays), arrays, [&](hdf5::Writer& out) { write_contents(out, plain, arrays); });
  return file;
}

Checkpoint read_checkpoint(const std::filesystem::path& file) {
  try {
    return read_sealed(file);
  } catch (const InputError& error) {
    throw CheckpointError(error.what());
  }
}

std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (NumberedFile& found : numbered_files(directory, "ckpt-")) files.push_back(std::move(found.path));
  std::reverse(files.begin(), files.end());
  return files;
}

Found newest_checkpoint(const std::filesystem::path& directory, Repair repair) {
  if (repair == Repair::rename) remove_leftovers(directory);
  Found found;
  const auto pass_over = [&](const std::filesystem::path& file, const DamagedError& error) {
    found.notes.push_back(passed_over(file, error.what(), repair));
  };
  try {
    std::vector<NumberedFile> candidates;  // by the step inside
    for (const std::filesystem::path& file : list_checkpoints(directory)) {
      try {
        candidates.push_back({read_seal(file, checkpoint_seal).step, file});
      } catch (const DamagedError& error) {
        pass_over(file, error);
      }
    }
    std::sort(candidates.rbegin(), candidates.rend());
    for (const NumberedFile& candidate : candidates) {
      try {
        found.checkpoint = read_sealed(candidate.path);
        found.file = candidate.path;
        return found;
      } catch (const DamagedError& error) {
        pass_over(candidate.path, error);
      }
    }
  } catch (const InputError& error) {
    throw CheckpointError(error.what());
  }
  throw CheckpointError(found.notes.empty() ? fmt::format("{} holds no checkpoint", directory.string())
                                            : fmt::format("{} holds no checkpoint that verifies: {}", directory.string(),
                                                          fmt::join(found.notes, "; ")));
}

}  // namespace gaussflow::io
