#include "gaussflow/io/row_file.hpp"

#include "gaussflow/core/error.hpp"

#include "io/crash_guard.hpp"
#include "io/hdf5_reader.hpp"
#include "io/numbers.hpp"
#include "io/sample_checks.hpp"
#include "io/sample_dataset.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace gaussflow::io {

struct RowFile::Impl {
  hdf5::Reader file;
  hdf5::Dataset dataset;
  bool narrow;  ///< floating-point numbers of at most 32 bits
};

RowFile::RowFile(const DataRef& ref) {
  const CrashGuard guard(ref.file);
  hdf5::Reader file(ref.file);
  hdf5::Dataset dataset = named_dataset(file, ref);
  check_numbers(dataset);
  if (dataset.shape.empty()) throw InputError(fmt::format("{} is a single number, rows are needed", dataset.where));
  hdf5::check_storage(dataset);
  const bool narrow = dataset.info.family == hdf5::Family::floating && dataset.info.size <= 4;
  impl_ = std::make_unique<Impl>(Impl{std::move(file), std::move(dataset), narrow});
}

RowFile::~RowFile() = default;
RowFile::RowFile(RowFile&&) noexcept = default;

const std::vector<std::int64_t>& RowFile::shape() const { return impl_->dataset.shape; }
at::ScalarType RowFile::dtype() const { return impl_->narrow ? at::kFloat : at::kDouble; }
const std::string& RowFile::where() const { return impl_->dataset.where; }
std::vector<std::string> RowFile::names() const {
  const CrashGuard guard(impl_->file.path());
  return shape().size() == 2 ? read_names(impl_->file, impl_->dataset.path, shape()[1]) : std::vector<std::string>{};
}

Tensor RowFile::read(std::int64_t axis, std::int64_t first, std::int64_t count, at::ScalarType dtype) const {
  const CrashGuard guard(impl_->file.path());
  const hdf5::Dataset& dataset = impl_->dataset;
  const bool reversed = has_reversed_axes(dataset);
  if (reversed || (dataset.info.family == hdf5::Family::integer && dataset.info.size >= 8))
    throw InputError(
        fmt::format("{} cannot be read in blocks: it {}; write it again as fp64, in h5py: f['plain'] = x.astype('f8')",
                    dataset.where, reversed ? "was written by MATLAB, with reversed axes" : "holds integers of 64 bits"));
  const Tensor block = hdf5::read_slab(dataset, dtype, axis, first, count);
  if (const Marked bad = first_non_finite(block); bad.rows > 0)
    throw InputError(fmt::format("{} has numbers that are not finite, the first at {}", dataset.where,
                                 place(bad.first, block.sizes(), static_cast<std::size_t>(axis), first)));
  if (shape().size() == 2 && axis == 0) check_fill(dataset, block.to(at::kDouble), first);
  return block;
}

}  // namespace gaussflow::io
