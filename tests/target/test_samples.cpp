#include "gaussflow/core/error.hpp"
#include "gaussflow/io/sample_file.hpp"

#include "target/make_target.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace gaussflow;
using namespace gaussflow::testing;

namespace {

/// A file with these samples (and weights) in the scratch folder.
std::string file_with(const std::string& name, const Tensor& samples, const Tensor& weights = {},
                      const std::vector<std::string>& names = {}) {
  const auto file = scratch() / name;
  io::write_samples(file, samples, weights, names, {});
  return file.string();
}

}  // namespace

TEST_CASE("samples are the file's rows with equal weights, named as its columns") {
  const Tensor rows = normal({1, Stream::data, 0}, 50, 3);
  const auto target = make_target("{samples: '" + file_with("plain.h5", rows, {}, {"a", "b", "c"}) + "'}");
  CHECK(target->dim() == 3);
  CHECK(target->has_samples());
  CHECK(target->names() == std::vector<std::string>{"a", "b", "c"});
  const Cloud all = target->all_samples(at::kDouble);
  CHECK(at::equal(all.points, rows));
  CHECK(at::allclose(all.weights, at::full({50}, 0.02, at::kDouble), 1e-15));
  CHECK(at::equal(target->samples({1, Stream::batch, 3}, at::kFloat).points, rows.to(at::kFloat)));
  CHECK(at::allclose(target->moments()->mean, rows.mean(0), 1e-13, 1e-14));
  CHECK(at::allclose(target->moments()->sd, rows.var(0, false).sqrt(), 1e-13));
}

TEST_CASE("the record holds what was read, not where it was") {
  const Tensor rows = normal({1, Stream::data, 0}, 5, 2);
  const auto a = make_target("{samples: '" + file_with("a.h5", rows) + "'}")->record();
  CHECK(a == make_target("{samples: '" + file_with("b.h5", rows) + "'}")->record());
  CHECK(a.kind == "samples");
  CHECK(a.shape == std::vector<std::int64_t>{5, 2});
  CHECK(a.digest.size() == 64);
  CHECK_FALSE(a == make_target("{samples: '" + file_with("c.h5", rows + 1e-9) + "'}")->record());
}

TEST_CASE("weights are scaled to sum 1 and count in the moments") {
  const Tensor rows = tensor_from({0, 0, 4, 8}, 2, 2);
  const std::string file = file_with("weighted.h5", rows, tensor_from({3, 1}));
  const auto target = make_target("{samples: {file: '" + file + "', weights: weights}}");
  CHECK(at::allclose(target->all_samples(at::kDouble).weights, tensor_from({0.75, 0.25}), 1e-15));
  CHECK(at::allclose(target->moments()->mean, tensor_from({1, 2}), 1e-15));
  CHECK(at::allclose(target->moments()->sd, tensor_from({std::sqrt(3), std::sqrt(12)}), 1e-14));
}

TEST_CASE("minibatches: an epoch is the whole cloud, and a batch of all is all") {
  const Tensor rows = at::arange(12, at::kDouble).view({12, 1});
  const std::string file = file_with("batched.h5", rows);
  const auto target = make_target("{samples: {file: '" + file + "', batch: 4}}");
  Tensor sum = at::zeros({12}, at::kDouble);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Cloud batch = target->samples({9, Stream::batch, step}, at::kDouble);
    CHECK(batch.points.size(0) == 4);
    CHECK(batch.weights.sum().item<double>() == doctest::Approx(1));
    CHECK(at::equal(batch.points, target->samples({9, Stream::batch, step}, at::kDouble).points));
    sum.index_add_(0, batch.points.select(1, 0).to(at::kLong), at::ones({4}, at::kDouble));
  }
  CHECK(at::equal(sum, at::ones({12}, at::kDouble)));
  CHECK(target->all_samples(at::kDouble).points.size(0) == 12);
  CHECK(make_target("{samples: {file: '" + file + "', batch: 12}}")
            ->samples({9, Stream::batch, 1}, at::kFloat)
            .points.size(0) == 12);
}

TEST_CASE("minibatches of a weighted cloud have its mean on average") {
  const Tensor rows = tensor_from({0, 1, 2, 3, 4, 5, 6}, 7, 1), weights = tensor_from({8, 1, 1, 1, 1, 1, 3});
  const std::string file = file_with("weighted-batches.h5", rows, weights);
  const auto target = make_target("{samples: {file: '" + file + "', weights: weights, batch: 2}}");
  double mean = 0;
  constexpr int steps = 40000;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const Cloud batch = target->samples({9, Stream::batch, step}, at::kDouble);
    mean += (batch.points.select(1, 0) * batch.weights).sum().item<double>() / steps;
  }
  CHECK(mean == doctest::Approx(33.0 / 16).epsilon(0.01));  // a standard error is below 0.004
}

TEST_CASE("two_moons: 2000 rows, mean (1/2, 1/4)") {
  const auto target = make_target("{samples: ../../data/two_moons.h5:/x}");
  CHECK(target->record().shape == std::vector<std::int64_t>{2000, 2});
  CHECK(std::abs(target->moments()->mean[0].item<double>() - 0.5) < 0.06);
  CHECK(std::abs(target->moments()->mean[1].item<double>() - 0.25) < 0.04);
}

TEST_CASE("a missing file is named") {
  CHECK(failure("{samples: nowhere.h5}").find("nowhere.h5") != std::string::npos);
  CHECK(failure("{samples: {batch: 3}}").find("file") != std::string::npos);
}

TEST_CASE("streamed samples are the same data as samples in memory, seen block by block") {
  const Tensor rows = normal({1, Stream::data, 0}, 103, 2) * 3 + 1e6;
  const std::string file = file_with("streamed.h5", rows, {}, {"a", "b"});
  const auto whole = make_target("{samples: '" + file + "'}");
  const auto target = make_target("{samples: {file: '" + file + "', batch: 10, stream: true}}");
  CHECK(target->record() == whole->record());
  CHECK(target->names() == whole->names());
  CHECK(at::equal(target->all_samples(at::kDouble).points, rows));
  CHECK(at::allclose(target->moments()->mean, whole->moments()->mean, 1e-15));
  CHECK(at::allclose(target->moments()->sd, whole->moments()->sd, 1e-11));
  std::vector<Tensor> epoch;
  for (std::uint64_t step = 0; step < 11; ++step) {
    const Cloud block = target->samples({7, Stream::batch, step}, at::kDouble);
    CHECK(at::equal(block.points, target->samples({7, Stream::batch, step}, at::kDouble).points));
    CHECK(std::abs(block.weights.sum().item<double>() - 1) < 1e-14);
    const std::int64_t first = (rows == block.points[0]).all(1).nonzero().item<std::int64_t>();
    CHECK(first % 10 == 0);
    CHECK(at::equal(block.points, rows.slice(0, first, first + 10)));
    epoch.push_back(block.points);
  }
  CHECK(at::equal(std::get<0>(at::cat(epoch).select(1, 0).sort()), std::get<0>(rows.select(1, 0).sort())));
}

TEST_CASE("the rows kept of a long streamed file are spread over all of it") {
  const Tensor rows = at::arange(200'000, at::kDouble).view({100'000, 2});
  const auto target = make_target("{samples: {file: '" + file_with("long.h5", rows) + "', batch: 1000, stream: true}}");
  const Tensor kept = target->all_samples(at::kDouble).points.select(1, 0);
  CHECK(kept.size(0) == 65536);
  CHECK(kept[0].item<double>() == 0);
  CHECK(kept[-1].item<double>() > 199'990);
  CHECK(std::get<0>(at::unique_consecutive(kept)).size(0) == 65536);
  CHECK(kept.mean().item<double>() == doctest::Approx(1e5).epsilon(1e-3));
}

TEST_CASE("streaming needs a batch, and says which row is not finite") {
  Tensor rows = normal({1, Stream::data, 0}, 50, 2);
  const std::string good = file_with("good.h5", rows);
  CHECK_THROWS_AS(make_target("{samples: {file: '" + good + "', stream: true}}"), ConfigError);
  CHECK_THROWS_AS(make_target("{samples: {file: '" + good + "', stream: true, batch: 5, transpose: true}}"), ConfigError);
  rows[33][1] = NAN;
  const std::string bad = file_with("bad.h5", rows);
  std::string message;
  try {
    make_target("{samples: {file: '" + bad + "', batch: 10, stream: true}}");
  } catch (const InputError& error) {
    message = error.what();
  }
  CHECK(message.find("row 33, column 1") != std::string::npos);
}
