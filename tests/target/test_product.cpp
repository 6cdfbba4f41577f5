#include "gaussflow/core/random.hpp"
#include "gaussflow/target/product.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

using namespace gaussflow;

TEST_CASE("every row is in exactly one block") {
  for (const std::int64_t rows : {0, 1, 15, 16, 17, 100}) {
    std::vector<int> seen(static_cast<std::size_t>(rows), 0);
    std::mutex mutex;
    for_row_blocks(rows, 16, true, [&](std::int64_t first, std::int64_t last) {
      const std::lock_guard lock(mutex);
      CHECK(last - first <= 16);
      for (std::int64_t r = first; r < last; ++r) ++seen[static_cast<std::size_t>(r)];
    });
    CHECK(seen == std::vector<int>(static_cast<std::size_t>(rows), 1));
  }
}

TEST_CASE("blocks run on all threads") {
  // at::parallel_for is a template: compiled without OpenMP it would be a plain loop, and nothing else would tell.
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::set<std::thread::id> used;
  std::mutex mutex;
  for_row_blocks(4, 1, true, [&](std::int64_t, std::int64_t) {
    const std::lock_guard lock(mutex);
    used.insert(std::this_thread::get_id());
  });
  at::set_num_threads(before);
  CHECK(used.size() == 2);
}

TEST_CASE("a product equals the plain one and does not depend on the number of threads") {
  const int before = at::get_num_threads();
  for (const std::int64_t inner : {1, 31, 700}) {
    const Tensor a = normal({1, Stream::data, 0}, 333, inner).to(at::kFloat),
                 b = normal({2, Stream::data, 0}, inner, 45).to(at::kFloat);
    at::set_num_threads(1);
    const Tensor alone = row_product(a, b);
    CHECK(at::allclose(alone.to(at::kDouble), at::mm(a.to(at::kDouble), b.to(at::kDouble)), 1e-4, 1e-4));
    for (const int threads : {2, 3, 5}) {
      at::set_num_threads(threads);
      CHECK(at::equal(row_product(a, b), alone));
    }
  }
  at::set_num_threads(before);
}

TEST_CASE("an error in a block reaches the caller") {
  CHECK_THROWS_AS(for_row_blocks(100, 1, true,
                                 [](std::int64_t first, std::int64_t) {
                                   if (first == 57) throw std::runtime_error("block");
                                 }),
                  std::runtime_error);
}
