#include "app/key_blocks.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/io/array_file.hpp"
#include "gaussflow/io/memory.hpp"
#include "gaussflow/io/sample_file.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gaussflow::app {

namespace {

double bytes_of(const io::RowFile& rows) {
  double bytes = static_cast<double>(c10::elementSize(rows.dtype()));
  for (const std::int64_t n : rows.shape()) bytes *= static_cast<double>(n);
  return bytes;
}

}  // namespace

KeyBlocks::KeyBlocks(const std::string& file, const Tensor& q, std::optional<std::int64_t> block)
    : file_(file), q_(q), v_(DataRef{file, "/v"}), block_(block) {
  if (io::has_dataset(file, "/k")) k_.emplace(DataRef{file, "/k"});
  const double needed = 3 * ((k_ ? bytes_of(*k_) : 0) + bytes_of(v_)),
               available = static_cast<double>(io::available_memory());
  if (!block_ && needed <= available) return;
  const std::vector<std::int64_t> keys = k_ ? k_->shape() : q.sizes().vec();
  const std::size_t rank = keys.size();
  if (rank < 2 || rank > 3 || v_.shape().size() != rank || v_.shape()[rank - 2] != keys[rank - 2])
    throw ShapeError(fmt::format("{} has shape [{}], which does not fit keys of shape [{}]", v_.where(),
                                 fmt::join(v_.shape(), ", "), fmt::join(keys, ", ")));
  axis_ = static_cast<std::int64_t>(rank) - 2;
  count_ = keys[rank - 2];
  if (!block_)
    block_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(count_) * available / 4 / needed));
}

void KeyBlocks::visit(const std::function<void(const Tensor&, const Tensor&)>& f) const {
  if (!block_) {
    const Tensor v = io::read_array({file_, "/v"});
    f(k_ ? io::read_array({file_, "/k"}) : q_, v);
    return;
  }
  for (std::int64_t first = 0; first < count_ || first == 0; first += *block_) {
    const std::int64_t length = std::min(*block_, count_ - first);
    const Tensor v = v_.read(axis_, first, length, v_.dtype());
    f(k_ ? k_->read(axis_, first, length, k_->dtype()) : q_.narrow(axis_, first, length), v);
  }
}

}  // namespace gaussflow::app
