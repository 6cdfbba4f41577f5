#include "kernel/range.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/machine_eps.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/kernel/attention.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"
#include "gaussflow/kernel/reference.hpp"

#include "kernel/direct_choice.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussflow {

namespace {

bool is_attention(Reduction r) { return r == Reduction::reweight || r == Reduction::prescale || r == Reduction::logit; }

/// Largest rounding error of the coordinates x' of a set of points, as a distance.
double rounding_distance(const Tensor& x, const Frame& frame, at::ScalarType dtype) {
  double largest = 0;
  for_chunks(x.size(1), false, [&](std::int64_t begin, std::int64_t length) {
    const Tensor exact = frame.apply(x.narrow(1, begin, length));
    largest = std::max(largest, (exact - exact.to(dtype).to(at::kDouble)).norm(2, {-1}).max().item<double>());
  });
  return largest;
}

/// ½‖x'‖², [B, T, 1].
Tensor half_norms(const Tensor& x, const Frame& frame) {
  Tensor h = at::empty({x.size(0), x.size(1), 1}, x.options().dtype(at::kDouble));
  for_chunks(x.size(1), false, [&](std::int64_t begin, std::int64_t length) {
    h.narrow(1, begin, length).copy_(frame.apply(x.narrow(1, begin, length)).square().sum(-1, true) * 0.5);
  });
  return h;
}

/// What fp16 loses of values and weights that fall below its normal numbers, each at most 2⁻²⁵ of the largest: a bound of the
/// 2-norm over the rows, [B, C].
Tensor lost_below_range(Reduction reduction, const Operands& operands, const Frame& frame) {
  const double N = static_cast<double>(operands.N()), root_M = std::sqrt(static_cast<double>(operands.M()));
  const Tensor v = operands.v.detach().abs().to(at::kDouble);
  if (reduction != Reduction::prescale) return v.amax(1) * (2 * N * root_M * 0x1p-25);
  // ṽ_n = v_n e^{-½‖k_n‖²}: of what a key loses, at most e^{½‖k_n‖²} comes back
  const Tensor h = half_norms(operands.k.detach(), frame), prescaled = v * at::exp(-h), largest = prescaled.amax({1}, true);
  const Tensor values = at::exp(h).masked_fill(prescaled >= 0x1p-14 * largest, 0.0).sum(1) * root_M;
  // The largest weight of a row is at most e^{‖q‖R - ½‖q‖²}, and none is below e^{-2‖q‖R} of it.
  const Tensor square = 2 * half_norms(operands.q.detach(), frame), reach = (square * 2 * h.amax({1}, true)).sqrt();
  const Tensor weights = at::exp(reach - square / 2).masked_fill(2 * reach < 14 * std::log(2.0), 0.0).norm(2, {1}) * N;
  return (values + weights) * largest.squeeze(1) * 0x1p-25;
}

/// What the values and the kernel leave of each column, [B, C].
struct Masses {
  Tensor total;  ///< Σ|v|, which no row's Σ Φ|v| exceeds
  Tensor norm;   ///< a lower bound of ‖Σ Φ|v|‖
  Tensor rows;   ///< how many rows share that norm, at least
};

/// From the range alone: no pair is farther than 2√ρ.
Masses masses_of(const Operands& operands, double rho) {
  const Tensor v = operands.v.detach().abs().to(at::kDouble);
  const double least = std::exp(-2 * rho), M = static_cast<double>(operands.M());
  Masses m{v.sum(1), {}, {}};
  m.norm = m.total * (std::sqrt(M) * least);
  m.rows = at::full_like(m.norm, M * least * least);
  return m;
}

/// Up to `most` rows of the queries, evenly spread.
Tensor some_rows(const Operands& operands, std::int64_t most) {
  const std::int64_t M = operands.M(), count = std::min(most, M);
  return (at::arange(count, operands.q.options().dtype(at::kDouble)) * (static_cast<double>(M) / static_cast<double>(count)))
      .to(at::kLong);
}

/// From some of the rows, summed exactly: sharper where distances vary. The other rows are taken to be like these.
void sample_rows(Masses& m, const Operands& operands, double tau) {
  const Tensor index = some_rows(operands, 16);
  const double M = static_cast<double>(operands.M()), count = static_cast<double>(index.numel());
  const Tensor q = operands.q.detach().index_select(1, index);
  const Tensor sampled = reference_sum(q, operands.k, operands.v.detach().abs(), tau, ReferenceAccuracy::fp32).norm(2, {1});
  m.norm = at::maximum(m.norm, sampled);
  m.rows = at::maximum(m.rows, (sampled / m.total).square() * (M / count));
}

/// The largest, or smallest, of the columns that are not all zero: those have nothing to lose.
double over_columns(const Masses& m, const Tensor& x, bool largest) {
  const Tensor kept = x.masked_select(m.total > 0);
  if (kept.numel() == 0) return largest ? 0 : 1e300;
  return (largest ? kept.max() : kept.min()).item<double>();
}

/// Error that the reduction may make here relative to ‖Σ Φ|v|‖ in eps of its dtype, the worst column's: fitted from above to
/// the measured errors of small and adverse problems (docs/accuracy.md).
///
/// The logit of a pair is a difference of terms of size ρ: each rounding of one is an error of up to ρ eps/2, and the worst
/// seen in a single row is α_max ρ. Many rows of like size average them. Beyond that errors grow with a pair's exponent x;
/// pairs with x > x0 weigh nothing, because √M Σ|v| e^{-x0} is a tenth of the norm.
///
/// Half types: `rounding` is that of the coordinates (rounding_distance), `lost` that of lost_below_range.
double error_of(const Operands& operands, double rho, const AttentionPlan& plan, const Masses& m, double rounding,
                const Tensor& lost) {
  const double M = static_cast<double>(operands.M());
  const double x0 = std::min(2 * rho, std::log(10 * std::sqrt(M) * over_columns(m, m.total / m.norm, true) + 1));
  if (!is_half(plan.dtype)) {
    const double root_D = std::sqrt(static_cast<double>(operands.D()));
    const double single = std::min(0.4 + 0.6 * root_D, 1.5 + 0.1 * root_D), average = 0.3 + 0.02 * root_D;
    const double alpha = average + (single - average) / std::sqrt(std::max(1.0, over_columns(m, m.rows, false)));
    return 2 + std::hypot(alpha * rho, 0.8 * x0);
  }
  const double norms = rho / (plan.dtype == at::kHalf ? 8192 : 1024);  // hi + lo
  double error = 3.5 + norms + (plan.split ? 0 : std::sqrt(2 * x0) * rounding / machine_eps(plan.dtype));
  if (lost.defined()) error += over_columns(m, lost / m.norm, true) / machine_eps(plan.dtype);
  return error;
}

}  // namespace

AttentionPlan attention_plan(Reduction reduction, const Operands& operands, const GaussSumOptions& options, bool split) {
  AttentionPlan plan;
  plan.dtype = compute_dtype(operands, options);
  plan.split = split;
  plan.backend = options.backend;
  const at::Device device = operands.q.device();
  const bool bias = reduction == Reduction::logit && logit_norms(device, plan) == Norms::bias;
  plan.backend = attention_backend(options.backend, device, plan.dtype, call_width(reduction, operands, plan), bias);
  if (reduction == Reduction::reweight) {
    plan.kappa = options.kappa.value_or(default_kappa(operands.N()));
    if (!(plan.kappa > 0 && std::isfinite(plan.kappa)))
      throw UnsupportedError(fmt::format("compute.kappa must be finite and > 0, got {}", number_text(plan.kappa)));
  }
  return plan;
}

namespace {

/// The contract of a named attention reduction, in eps of its dtype.
double allowed_error(at::ScalarType dtype, double rho) { return is_half(dtype) ? 10 : 8 + rho / 2; }

/// Sums so small that evaluating them twice costs nothing. On them rounding errors do not average out and a bound that always
/// holds is coarse, so the error itself decides. Of larger ones some rows are evaluated twice: keys that repeat make the same
/// error many times, which no bound by range and size foresees.
bool can_be_checked(const Operands& o) {
  return static_cast<double>(o.B() * o.M()) * static_cast<double>(o.N()) * static_cast<double>(o.D() + o.C()) <= 0x1p22;
}

}  // namespace

std::string out_of_range(Reduction reduction, const Operands& operands, const Frame& frame, AttentionPlan& plan,
                         const GaussSumOptions& options) {
  const std::string where = fmt::format("{} in {}", name_of(reduction), dtype_name(plan.dtype));
  const double rho = frame.rho;
  // e^{q·k} against its row's maximum, and values times e^{-ρ/2}, must not underflow
  const double widest = reduction != Reduction::prescale ? (is_half(plan.dtype) ? 1e4 : 1e12)
                        : plan.dtype == at::kDouble      ? 340
                                                         : 40;
  if (!(rho <= widest)) return fmt::format("tau max|x-c|^2 = {:.4g} is over {:g}, the limit of {}", rho, widest, where);

  const double allowed = allowed_error(plan.dtype, rho);
  const double unit = std::max(machine_eps(plan.dtype), machine_eps(result_dtype(operands)));
  const auto fits = [&](double error) { return error * machine_eps(plan.dtype) <= allowed * unit; };
  Masses masses = masses_of(operands, rho);
  const double rounding = is_half(plan.dtype) ? rounding_distance(operands.q.detach(), frame, plan.dtype) +
                                                    rounding_distance(operands.k.detach(), frame, plan.dtype)
                                              : 0;
  const Tensor lost = plan.dtype == at::kHalf ? lost_below_range(reduction, operands, frame) : Tensor();
  double error = 0;
  for (const bool sampled : {false, true}) {
    if (sampled) sample_rows(masses, operands, options.tau);
    error = error_of(operands, rho, plan, masses, rounding, lost);
    if (fits(error)) return {};
    if (!is_half(plan.dtype)) continue;
    AttentionPlan split = plan;
    split.split = true;
    error = error_of(operands, rho, split, masses, rounding, lost);
    if (!fits(error)) continue;
    plan = attention_plan(reduction, operands, options, true);
    return {};
  }
  return fmt::format("at tau max|x-c|^2 = {:.4g} and dimension {} {} may err by {:.3g} eps, over its bound of {:.3g}", rho,
                     operands.D(), where, error, allowed);
}

namespace {

/// A named attention reduction, or why not.
std::string try_attention(Plan& plan, Reduction reduction, const Operands& operands, const GaussSumOptions& options) {
  plan.attention = attention_plan(reduction, operands, options, false);
  const std::string refused = out_of_range(reduction, operands, plan.frame, plan.attention, options);
  if (refused.empty())
    plan.choice = {reduction, plan.attention.backend, plan.attention.dtype,
                   fmt::format("tau max|x-c|^2 = {:.4g} is inside its range", plan.frame.rho)};
  return refused;
}

/// Attention on the GPU: logit, which has the widest range; a half type that does not hold the range is raised to fp32.
std::optional<Plan> gpu_choice(const Operands& operands, const GaussSumOptions& options, std::string& why) {
  Plan plan;
  plan.frame = frame_of(operands, options);
  GaussSumOptions here = options;
  for (const at::ScalarType dtype : {compute_dtype(operands, options), at::kFloat}) {
    here.compute_dtype = dtype;
    try {
      const std::string refused = try_attention(plan, Reduction::logit, operands, here);
      if (refused.empty()) {
        if (!why.empty()) plan.choice.reason = why;
        return plan;
      }
      why += (why.empty() ? "" : "; ") + refused;
    } catch (const UnsupportedError& error) {  // no backend for this width or type
      why += (why.empty() ? "" : "; ") + std::string(error.what());
    }
    if (!is_half(dtype)) break;
  }
  return std::nullopt;
}

}  // namespace

Plan plan_for(const Operands& operands, const GaussSumOptions& options) {
  using enum Reduction;
  Reduction reduction = options.reduction;
  const bool backend_asked = options.backend != AttentionBackend::automatic;
  if (reduction == reference && backend_asked)
    throw UnsupportedError(
        fmt::format("reduction reference is no attention: backend {} cannot evaluate it", name_of(options.backend)));
  if (reduction == automatic && backend_asked) reduction = logit;  // whoever names a backend wants attention
  if (reduction == direct || reduction == automatic) {
    if (const std::optional<Choice> choice = direct_choice(operands, options)) return {*choice, {}, {}};
  }
  if (is_attention(reduction)) {
    Plan plan;
    plan.named = true;
    plan.frame = frame_of(operands, options);
    const std::string refused = try_attention(plan, reduction, operands, options);
    if (!refused.empty() && can_be_checked(operands)) {
      plan.choice = {reduction, plan.attention.backend, plan.attention.dtype, "checked against the reference: " + refused};
      plan.doubt = refused;
    } else if (!refused.empty())
      throw UnsupportedError(
          refused + (is_half(plan.attention.dtype) ? ": use compute dtype fp32, or reduction auto"
                     : result_dtype(operands) == at::kFloat && operands.q.is_cpu() && plan.attention.dtype == at::kFloat
                         ? ": use compute dtype fp64, or reduction auto"
                         : ": use reduction auto"));
    return plan;
  }
  std::string why;
  if (reduction == automatic && !operands.q.is_cpu())
    if (const std::optional<Plan> plan = gpu_choice(operands, options, why)) return *plan;
  if (reduction == reference) why = "as asked";
  if (why.empty()) why = "no faster reduction takes this device, type and range";
  return {{reference, AttentionBackend::automatic, at::kDouble, why}, {}, {}};
}

bool checked_whole(const Tensor& q, const Tensor& k, const Tensor& v) {
  return can_be_checked(checked_operands(q, k, v, 1.0));
}

void check_sum(const Plan& plan, const Tensor& sums, const Operands& operands, const GaussSumOptions& options) {
  if (!plan.named) return;
  const bool all = can_be_checked(operands);
  const Tensor rows = all ? at::arange(operands.M(), operands.q.options().dtype(at::kLong)) : some_rows(operands, 64);
  const Tensor q = operands.q.detach().index_select(1, rows), s = sums.detach().index_select(1, rows);
  const auto exact = [&](const Tensor& v) {
    return reference_sum(q, operands.k.detach(), v, options.tau, ReferenceAccuracy::fp64).to(at::kDouble);
  };
  const Tensor v = operands.v.detach().to(at::kDouble);
  const Tensor absolute = exact(v.abs()), largest = absolute.amax({1}, true).clamp_min(1e-308);  // squares of less vanish
  const Tensor error = ((s.to(at::kDouble) - exact(v)) / largest).norm(2, {1}), norm = (absolute / largest).norm(2, {1});
  const double unit = std::max(machine_eps(plan.attention.dtype), machine_eps(result_dtype(operands)));
  // What could not be vouched for beforehand must be as good as the automatic choice.
  const double bound = allowed_error(plan.attention.dtype, plan.frame.rho),
               allowed = plan.doubt.empty() ? bound : std::min(32.0, bound);
  if ((error <= allowed * unit * norm).all().item<bool>()) return;
  const double found = (error / norm / unit).max().item<double>();
  const std::string why = !plan.doubt.empty()
                              ? plan.doubt + "; here it"
                              : fmt::format("{} in {}{}", name_of(plan.choice.reduction), dtype_name(plan.attention.dtype),
                                            all ? "" : fmt::format(" on {} of the rows", rows.numel()));
  throw UnsupportedError(fmt::format("{} {}: use reduction auto", why,
                                     std::isfinite(found)
                                         ? fmt::format("errs by {:.3g} eps where {:.3g} are allowed", found, allowed)
                                         : "leaves the range of the type"));
}

}  // namespace gaussflow
