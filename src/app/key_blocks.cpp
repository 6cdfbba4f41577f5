#include "app/key_blocks.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/say.hpp"
#include "gaussflow/io/memory.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gaussflow::app {

namespace {

Tensor column(const Tensor& t) { return t.dim() == 1 ? t.unsqueeze(1) : t; }

}  // namespace

Rows::Rows(const io::ArrayFile& file, const std::string& name) : name_(name), file_(&file) {
  if (file.archive()) {
    values_ = file.read(name);
    where_ = file.path().string() + ":/" + name;
    shape_ = values_.sizes().vec();
  } else {
    rows_.emplace(DataRef{file.path(), "/" + name});
    where_ = rows_->where();
    shape_ = rows_->shape();
  }
  if (shape_.size() != 1) return;
  say("note: {} has one axis: read as [{}, 1]\n", where_, shape_[0]);
  shape_.push_back(1);
  if (values_.defined()) values_ = column(values_);
}

Rows::Rows(Tensor values) : where_("q"), shape_(values.sizes().vec()), values_(std::move(values)) {}

double Rows::bytes(at::ScalarType least) const {
  auto bytes = static_cast<double>(std::max(c10::elementSize(dtype()), c10::elementSize(least)));
  for (const std::int64_t n : shape_) bytes *= static_cast<double>(n);
  return bytes;
}

Tensor Rows::all() const { return values_.defined() ? values_ : column(file_->read(name_)); }

Tensor Rows::part(std::int64_t first, std::int64_t count) const {
  const auto axis = static_cast<std::int64_t>(shape_.size()) - 2;
  return rows_ ? column(rows_->read(axis, first, count, rows_->dtype())) : values_.narrow(axis, first, count);
}

KeyBlocks::KeyBlocks(const io::ArrayFile& file, const Tensor& q, std::optional<std::int64_t> block, at::ScalarType least)
    : k_(file.has("k") ? Rows(file, "k") : Rows(q)), v_(file, "v"), block_(block) {
  const std::vector<std::int64_t>& keys = k_.shape();
  const std::size_t rank = keys.size();
  if (rank >= 2) count_ = keys[rank - 2];
  const double needed = 3 * ((file.has("k") ? k_.bytes(least) : 0) + v_.bytes(least)),
               available = static_cast<double>(io::available_memory());
  if (!block_ && needed <= available) return;
  if (rank < 2 || rank > 3 || v_.shape().size() != rank || v_.shape()[rank - 2] != count_)
    throw ShapeError(fmt::format("{} has shape [{}], which does not fit keys of shape [{}]", v_.where(),
                                 fmt::join(v_.shape(), ", "), fmt::join(keys, ", ")));
  if (!block_)
    block_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(count_) * available / 4 / needed));
}

at::ScalarType KeyBlocks::dtype() const {
  return k_.dtype() == at::kDouble || v_.dtype() == at::kDouble ? at::kDouble : at::kFloat;
}

void KeyBlocks::visit(const std::function<void(const Tensor&, const Tensor&, std::int64_t)>& f) const {
  if (!block_) return f(k_.all(), v_.all(), 0);
  for (std::int64_t first = 0; first < count_ || first == 0; first += *block_) {
    const std::int64_t length = std::min(*block_, count_ - first);
    f(k_.part(first, length), v_.part(first, length), first);
  }
}

}  // namespace gaussflow::app
