#include "gaussflow/io/verify.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/io/checkpoint.hpp"
#include "gaussflow/io/trajectory.hpp"

#include "io/crash_guard.hpp"
#include "io/hdf5_reader.hpp"
#include "io/sample_checks.hpp"
#include "io/sample_dataset.hpp"
#include "io/sealed_file.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

namespace gaussflow::io {

namespace {

/// Runs a check; what it throws is a problem.
template <class Check>
void note(Verification& result, const std::string& what, const Check& check) {
  try {
    check();
    result.verified.push_back(what);
  } catch (const Error& error) {
    result.problems.emplace_back(error.what());
  }
}

}  // namespace

FileFormat format_by_seal(const std::filesystem::path& file) {
  return sealed_format(file) == "gaussflow-checkpoint" ? FileFormat::checkpoint : FileFormat::other;
}

Verification verify_file(const std::filesystem::path& file) {
  Verification result;
  const std::optional<std::string> format = sealed_format(file);
  if (format) note(result, "seal", [&] { check_own_seal(file); });
  if (!result.problems.empty()) return result;
  // By its name where the seal is gone altogether.
  const std::string name = file.filename().string();
  if (format == "gaussflow-checkpoint" || (!format && name.starts_with("ckpt-")))
    note(result, "state", [&] { read_checkpoint(file); });
  if (format == "gaussflow-trajectory" || (!format && name.starts_with("seg-")))
    note(result, "frames", [&] { read_segment(file); });
  if (!result.problems.empty()) return result;
  const CrashGuard guard(file);
  const hdf5::Reader in(file, hdf5::Seals::checked);
  for (const std::string& path : in.datasets("/", 10000)) {
    const auto names = hdf5::attribute_names(in.object(path));
    if (std::find(names.begin(), names.end(), digest_name) == names.end()) continue;
    note(result, path, [&] {
      const hdf5::Dataset dataset = in.dataset(path);
      const Tensor values = read_numbers(dataset).to(at::kDouble).contiguous();
      if (!hdf5::text_attribute(dataset.id, digest_name))
        throw InputError(fmt::format("{} is damaged: its {} is not a text", dataset.where, digest_name));
      check_digest(dataset, values);
    });
  }
  return result;
}

}  // namespace gaussflow::io
