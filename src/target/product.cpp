#include "gaussflow/target/product.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

/// Of the MKL inside LibTorch (this spelling is the C one, lower case the Fortran one); absent where LibTorch has another
/// BLAS.
extern "C" __attribute__((weak)) int MKL_Set_Num_Threads_Local(int threads);

namespace gaussflow {

namespace {

/// One BLAS thread while it lives. Being inside a parallel region is not enough: after at::set_num_threads MKL still cuts a
/// product for that many threads there, and the bits of some shapes follow (seen at [15, 569] x [569, 31]).
class SerialBlas {
 public:
  SerialBlas() : before_(MKL_Set_Num_Threads_Local ? MKL_Set_Num_Threads_Local(1) : 0) {}
  ~SerialBlas() {
    if (MKL_Set_Num_Threads_Local) MKL_Set_Num_Threads_Local(before_);
  }
  SerialBlas(const SerialBlas&) = delete;
  SerialBlas& operator=(const SerialBlas&) = delete;

 private:
  int before_;
};

}  // namespace

void for_row_blocks(std::int64_t rows, std::int64_t block, bool on_cpu,
                    const std::function<void(std::int64_t first, std::int64_t last)>& body) {
  const std::int64_t blocks = (rows + block - 1) / block;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const SerialBlas serial;
    for (std::int64_t b = begin; b < end; ++b) body(b * block, std::min(rows, (b + 1) * block));
  };
  on_cpu ? at::parallel_for(0, blocks, 1, run) : run(0, blocks);
}

Tensor row_product(const Tensor& a, const Tensor& b) {
  if (!a.is_cpu()) return at::matmul(a, b);
  constexpr std::int64_t block = 64;
  Tensor result = at::empty({a.size(0), b.size(1)}, a.options());
  for_row_blocks(a.size(0), block, true, [&](std::int64_t first, std::int64_t last) {
    Tensor rows = result.slice(0, first, last);
    at::mm_out(rows, a.slice(0, first, last), b);
  });
  return result;
}

}  // namespace gaussflow
