#include "gaussflow/target/normal.hpp"

#include "target/make_target.hpp"

#include <ATen/ATen.h>
#include <Eigen/Cholesky>
#include <Eigen/Dense>
#include <doctest/doctest.h>

#include <numbers>

using namespace gaussflow;
using namespace gaussflow::testing;

TEST_CASE("density and score equal Eigen's for a dense covariance") {
  for (const int dim : {1, 2, 7, 33}) {
    CAPTURE(dim);
    Eigen::MatrixXd a = Eigen::MatrixXd::Random(dim, dim);
    const Eigen::MatrixXd c = a * a.transpose() + 0.1 * Eigen::MatrixXd::Identity(dim, dim);
    const Eigen::VectorXd mean = Eigen::VectorXd::Random(dim);
    std::vector<std::vector<double>> rows(dim, std::vector<double>(dim));
    for (int i = 0; i < dim; ++i)
      for (int j = 0; j < dim; ++j) rows[i][j] = c(i, j);
    const Normal law({mean.data(), mean.data() + dim}, rows);
    const Tensor x = normal({3, Stream::data, 0}, 130, dim);
    const Density found = law.density(x);
    const Eigen::LDLT<Eigen::MatrixXd> solver(c);
    const double log_norm = 0.5 * (solver.vectorD().array().log().sum() + dim * std::log(2 * std::numbers::pi));
    for (std::int64_t i = 0; i < x.size(0); ++i) {
      const std::vector<double> row = to_vector(x[i]);
      const Eigen::VectorXd centred = Eigen::Map<const Eigen::VectorXd>(row.data(), dim) - mean;
      const Eigen::VectorXd score = -solver.solve(centred);
      CHECK(found.log_prob[i].item<double>() == doctest::Approx(0.5 * centred.dot(score) - log_norm).epsilon(1e-10));
      CHECK(relative_error(found.score[i], tensor_from({score.data(), score.data() + dim})) < 1e-10);
    }
  }
}

TEST_CASE("fp32 scores of an ill-conditioned law lose sqrt(cond), not cond") {
  const double near = 1 - 1e-6;  // condition 2e6: C⁻¹ in fp32 would keep one digit of log p
  const Normal law(std::vector<double>{0, 0}, std::vector<std::vector<double>>{{1, near}, {near, 1}});
  const Tensor x = normal({4, Stream::data, 0}, 200, 1) * at::ones({1, 2}, at::kDouble);
  const Tensor exact = x.to(at::kFloat).to(at::kDouble);
  CHECK(relative_error(law.density(exact.to(at::kFloat)).log_prob, law.density(exact).log_prob) < 1e-3);
}

TEST_CASE("what is no covariance is refused") {
  CHECK(covariance_fault({{1, 0}, {0, 1}}, 2).empty());
  CHECK(covariance_fault({{1, 0}}, 2).find("1 rows") != std::string::npos);
  CHECK(covariance_fault({{1, 0}, {0}}, 2).find("row 2") != std::string::npos);
  CHECK(covariance_fault({{1, 1}, {1, 1}}, 2).find("coordinate 2") != std::string::npos);
  CHECK(covariance_fault({{0}}, 1).find("coordinate 1") != std::string::npos);
  CHECK_THROWS_AS(Normal(std::vector<double>{0}, std::vector<double>{0}), InputError);
  CHECK_THROWS_AS(Normal(std::vector<double>{0, 0}, std::vector<double>{1}), InputError);
}
