#include "gaussflow/io/sample_file.hpp"

#include "target/make_target.hpp"

#include <ATen/ATen.h>
#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <cmath>

using namespace gaussflow;
using namespace gaussflow::testing;

namespace {

Eigen::MatrixXd read_matrix(const std::string& file, const std::string& dataset) {
  const Tensor t = io::read_array({std::filesystem::path(GAUSSFLOW_TEST_DATA) / file, dataset}).to(at::kDouble);
  Eigen::MatrixXd m(t.size(0), t.dim() == 2 ? t.size(1) : 1);
  const std::vector<double> v = to_vector(t);
  for (int i = 0; i < m.rows(); ++i)
    for (int j = 0; j < m.cols(); ++j) m(i, j) = v[static_cast<std::size_t>(i * m.cols() + j)];
  return m;
}

/// log p and score by the textbook formula.
struct Oracle {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
  double prior_variance = 1;

  Oracle(const std::string& file, bool standardize, bool intercept)
      : x(read_matrix(file, "/X")), y(read_matrix(file, "/y").col(0)) {
    if (standardize)
      for (int j = 0; j < x.cols(); ++j) {
        x.col(j).array() -= x.col(j).mean();
        x.col(j) /= std::sqrt(x.col(j).squaredNorm() / static_cast<double>(x.rows()));
      }
    if (!intercept) return;
    Eigen::MatrixXd wide(x.rows(), x.cols() + 1);
    wide << Eigen::VectorXd::Ones(x.rows()), x;
    x = wide;
  }

  std::pair<double, Eigen::VectorXd> operator()(const Eigen::VectorXd& w) const {
    double log_prob = -w.squaredNorm() / (2 * prior_variance);
    Eigen::VectorXd score = -w / prior_variance;
    for (int i = 0; i < x.rows(); ++i) {
      const double p = 1 / (1 + std::exp(-x.row(i).dot(w)));
      log_prob += y[i] > 0 ? std::log(p) : std::log1p(-p);
      score += (y[i] - p) * x.row(i).transpose();
    }
    return {log_prob, score};
  }
};

void check_against(const Target& target, const Oracle& oracle) {
  const Tensor w = normal({5, Stream::data, 0}, 37, target.dim()) * 0.3;
  const Density found = target.density(w, {});
  for (std::int64_t i = 0; i < w.size(0); ++i) {
    const std::vector<double> row = to_vector(w[i]);
    const auto [log_prob, score] = oracle(Eigen::Map<const Eigen::VectorXd>(row.data(), static_cast<int>(row.size())));
    CHECK(found.log_prob[i].item<double>() == doctest::Approx(log_prob).epsilon(1e-11));
    CHECK(relative_error(found.score[i], tensor_from({score.data(), score.data() + score.size()})) < 1e-11);
  }
}

const char* const breast_cancer =
    "{logistic: {file: ../../data/breast_cancer.h5, reference: ../../data/breast_cancer_reference.h5}}";

}  // namespace

TEST_CASE("log p and score equal a loop over the rows") {
  check_against(*make_target(breast_cancer), Oracle("../../data/breast_cancer.h5", true, true));
  check_against(*make_target("{logistic: iris2.h5}"), Oracle("iris2.h5", true, true));
  check_against(*make_target("{logistic: {file: iris2.h5, standardize: no}}"), Oracle("iris2.h5", false, true));
  check_against(*make_target("{logistic: {file: iris2.h5, intercept: no}}"), Oracle("iris2.h5", true, false));
  Oracle wide("iris2.h5", true, true);
  wide.prior_variance = 6.25;
  check_against(*make_target("{logistic: {file: iris2.h5, prior_sd: 2.5}}"), wide);
}

TEST_CASE("the score is the gradient of log p, and vanishes at the mode") {
  for (const std::string name : {"../../data/breast_cancer", "iris2"}) {
    CAPTURE(name);
    const auto target = make_target("{logistic: " + name + ".h5}");
    const Tensor w = normal({5, Stream::data, 0}, 5, target->dim());
    CHECK(relative_error(target->density(w, {}).score, difference_score(*target, w)) < 2e-9);  // rounding eps |f| / h
    const Tensor mode = io::read_array({std::filesystem::path(GAUSSFLOW_TEST_DATA) / (name + "_reference.h5"), "/mode"});
    CHECK(target->density(mode.unsqueeze(0), {}).score.abs().max().item<double>() < 1e-11);
  }
}

TEST_CASE("coordinates are named after the file's columns") {
  const auto names = make_target(breast_cancer)->names();
  REQUIRE(names.size() == 31);
  CHECK(names[0] == "intercept");
  CHECK(names[1] == "mean radius");
  CHECK(names[30] == "worst fractal dimension");
  CHECK(make_target("{logistic: {file: iris2.h5, intercept: no}}")->names()[3] == "petal width (cm)");
}

TEST_CASE("the reference is shown beside the result, it is not the start") {
  const auto target = make_target(breast_cancer);
  CHECK_FALSE(target->moments());
  REQUIRE(target->reference());
  // Published with the data set's posterior: another sampler's long runs.
  CHECK(std::abs(target->reference()->mean[0].item<double>() - 0.205) < 0.002);
  CHECK(std::abs(target->reference()->sd[27].item<double>() - 0.763) < 0.004);
  CHECK_FALSE(make_target("{logistic: iris2.h5}")->reference());
  CHECK(failure("{logistic: {file: iris2.h5, reference: ../../data/breast_cancer_reference.h5}}")
            .find("the posterior has 5 coordinates") != std::string::npos);
}

TEST_CASE("minibatch scores are unbiased: an epoch's batches add up to the full score") {
  const auto full = make_target("{logistic: iris2.h5}");
  const Tensor w = normal({6, Stream::data, 0}, 9, 5);
  const Density exact = full->density(w, {});
  for (const std::int64_t batch : {1, 20, 33, 100, 1000}) {
    CAPTURE(batch);
    const auto target = make_target("{logistic: {file: iris2.h5, batch: " + std::to_string(batch) + "}}");
    const std::int64_t steps = (100 + batch - 1) / batch;
    Tensor score = at::zeros_like(w), log_prob = at::zeros({9}, at::kDouble);
    for (std::int64_t s = 0; s < steps; ++s) {
      const Density part = target->density(w, {3, Stream::batch, static_cast<std::uint64_t>(7 * steps + s)});
      // A batch's share of the rows; equal shares when batch divides the rows.
      const double share = static_cast<double>(std::min(batch, 100 - s * batch)) / 100;
      score += share * part.score;
      log_prob += share * part.log_prob;
    }
    CHECK(relative_error(score, exact.score) < 1e-13);
    CHECK(relative_error(log_prob, exact.log_prob) < 1e-13);
  }
}

TEST_CASE("a minibatch is a function of seed and step") {
  const auto target = make_target("{logistic: {file: iris2.h5, batch: 10}}");
  const Tensor w = normal({6, Stream::data, 0}, 3, 5);
  const auto score = [&](std::uint64_t seed, std::uint64_t step) {
    return target->density(w, {seed, Stream::batch, step}).score;
  };
  const Tensor first = score(1, 4);
  CHECK_FALSE(at::equal(first, score(1, 5)));
  CHECK_FALSE(at::equal(first, score(2, 4)));
  CHECK(at::equal(first, score(1, 4)));
}

TEST_CASE("results do not depend on the number of threads") {
  const auto target = make_target(breast_cancer);
  for (const std::int64_t n : {1, 15, 200, 1001}) {
    CHECK(independent_of_threads(*target, normal({7, Stream::data, 0}, n, 31).to(at::kFloat)));
    CHECK(independent_of_threads(*target, normal({7, Stream::data, 0}, n, 31)));
  }
}

TEST_CASE("fp32 is stable where sigmoids saturate") {
  const auto target = make_target(breast_cancer);
  const Tensor w = (normal({8, Stream::data, 0}, 50, 31) * 30).to(at::kFloat);
  const Density single = target->density(w, {}), exact = target->density(w.to(at::kDouble), {});
  CHECK((single.score.scalar_type() == at::kFloat));
  CHECK(relative_error(single.log_prob, exact.log_prob) < 1e-5);
  CHECK(relative_error(single.score, exact.score) < 1e-5);
}

TEST_CASE("a group, other names and labels -1 and 1 are read") {
  const auto plain = make_target("{logistic: iris2.h5}");
  const auto grouped = make_target("{logistic: {file: 'iris2.h5:/grouped', X: features, y: signs}}");
  const Tensor w = normal({9, Stream::data, 0}, 4, 5);
  CHECK(at::equal(plain->density(w, {}).score, grouped->density(w, {}).score));
  CHECK(plain->record() == grouped->record());
  CHECK(plain->record().digest.size() == 64);
}

TEST_CASE("a constant column is told and leaves its coefficient to the prior") {
  const auto target = make_target("{logistic: {file: 'iris2.h5:/constant'}}");
  REQUIRE(target->notes().size() == 1);
  CHECK(target->notes()[0].find("'ones' is constant") != std::string::npos);
  const Tensor w = normal({9, Stream::data, 0}, 4, target->dim());
  CHECK(at::equal(target->density(w, {}).score.select(1, 2), -w.select(1, 2)));
}

TEST_CASE("data that make no regression are refused") {
  CHECK(failure("{logistic: {file: iris2.h5, y: X}}").find("labels are [N]") != std::string::npos);
  CHECK(failure("{logistic: {file: 'iris2.h5:/three'}}").find("label 2 is 2") != std::string::npos);
  CHECK(failure("{logistic: {file: iris2.h5, X: Z}}").find("Z") != std::string::npos);
  CHECK(failure("{logistic: {file: iris2.h5, prior_sd: 0}}").find("prior_sd") != std::string::npos);
}
