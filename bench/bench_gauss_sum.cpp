// Rows of the Gauss sum, interleaved in one process on the same tensors, medians of wall and of processor time.
//
//   bench_gauss_sum [--n 16384] [--shapes 3,1:3,4:10,11] [--dtype fp32|fp64] [--repeats 7] [--threads 2] [--rows NAME,NAME]
//   > out.csv
//
// Rows by default: flash-pad8, flash-pad16, plain-loop, direct. Also: direct-avx2, laplace, imq, riesz, matern32, matern52.
//
// Ratios, not seconds, are what a shared machine measures: ratio = time of the best flash row / time of this row.

#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/direct.hpp"

#include "rows.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <hwy/highway.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gaussflow::bench {
namespace {

/// The other radial kernels of the fused sum, as rows.
const std::vector<std::pair<std::string, Profile>> profiles = {{"laplace", Profile::laplace},
                                                               {"imq", Profile::imq},
                                                               {"riesz", Profile::riesz},
                                                               {"matern32", Profile::matern32},
                                                               {"matern52", Profile::matern52}};

struct Options {
  std::int64_t n = 16384;
  std::string shapes = "3,1:3,4:10,11:32,1:32,33:64,65:128,129";
  std::string dtype = "fp32";
  std::string rows = "flash-pad8,flash-pad16,plain-loop,direct";
  int repeats = 7;
  int threads = 2;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Algorithm 2 as printed, on the CPU's flash attention, head dimension padded to a multiple of `pad`.
Tensor reweight_as_printed(const Tensor& q, const Tensor& k, const Tensor& v, double tau, std::int64_t pad) {
  const std::int64_t M = q.size(0), N = k.size(0), D = q.size(1), C = v.size(1);
  const std::int64_t P = (std::max(D + 2, C + 1) + pad - 1) / pad * pad;
  const double kappa = std::sqrt(static_cast<double>(N + 1));
  Tensor qt = at::zeros({1, 1, M, P}, q.options()), kt = at::zeros({1, 1, N + 1, P}, q.options());
  Tensor vt = at::zeros({1, 1, N + 1, P}, q.options());
  qt[0][0].narrow(1, 0, D).copy_(q);
  qt[0][0].select(1, D).fill_(1);
  qt[0][0].select(1, D + 1).copy_(q.square().sum(1) / 2);
  kt[0][0].narrow(0, 1, N).narrow(1, 0, D).copy_(k);
  kt[0][0].narrow(0, 1, N).select(1, D).copy_(k.square().sum(1) / -2);
  kt[0][0][0].select(0, D + 1).fill_(1);
  vt[0][0].narrow(0, 1, N).narrow(1, 0, C).copy_(v);
  vt[0][0][0].select(0, C).fill_(kappa);
  const Tensor att = std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(qt, kt, vt, 0.0, false, {}, tau));
  return att[0][0].narrow(1, 0, C) * (kappa / att[0][0].narrow(1, C, 1));
}

double wall() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double processor() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Row {
  std::string name;
  std::function<Tensor()> run;
  std::vector<double> wall, processor;
  double error = 0;
};

/// ‖ŝ − s‖ / ‖Σ Φ|v|‖ of the worst column over the first rows, against the definition in fp64.
double contract_error(const Tensor& got, const Tensor& q, const Tensor& k, const Tensor& v, double tau) {
  const std::int64_t rows = std::min<std::int64_t>(64, q.size(0));
  const Tensor q64 = q.narrow(0, 0, rows).to(at::kDouble), k64 = k.to(at::kDouble), v64 = v.to(at::kDouble);
  Tensor r2 = at::zeros({rows, k.size(0)}, q64.options());
  for (std::int64_t d = 0; d < q.size(1); ++d)
    r2 += (q64.select(1, d).unsqueeze(1) - k64.select(1, d).unsqueeze(0)).square_();
  const Tensor phi = (r2 * (-tau / 2)).exp_();
  const Tensor error = (got.narrow(0, 0, rows).to(at::kDouble) - phi.mm(v64)).norm(2, 0) / phi.mm(v64.abs()).norm(2, 0);
  return error.max().item<double>();
}

template <class T>
void run_shape(const Options& o, std::int64_t D, std::int64_t C, double peak) {
  const at::ScalarType dtype = c10::CppTypeToScalarType<T>::value;
  const double tau = 1, root = 1 / std::sqrt(static_cast<double>(D));
  const Tensor q = (normal({1, Stream::data, 0}, o.n, D) * root).to(dtype),
               k = (normal({2, Stream::data, 0}, o.n, D) * root).to(dtype);
  const Tensor v = normal({3, Stream::data, 0}, o.n, C).to(dtype);

  std::vector<Row> rows = {
      {"flash-pad8", [&] { return reweight_as_printed(q, k, v, tau, 8); }},
      {"flash-pad16", [&] { return reweight_as_printed(q, k, v, tau, 16); }},
      {"plain-loop",
       [&] {
         const Tensor kt = k.t().contiguous(), vt = v.t().contiguous();
         Tensor out = at::zeros({o.n, C}, v.options());
         plain_loop<T>(q.const_data_ptr<T>(), kt.const_data_ptr<T>(), vt.const_data_ptr<T>(), out.mutable_data_ptr<T>(), o.n,
                       o.n, D, C, static_cast<T>(tau));
         return out;
       }},
      {"direct", [&] { return direct_gauss_sum(q, k, v, tau); }},
      {"direct-avx2",
       [&] {
         hwy::SetSupportedTargetsForTest(HWY_AVX2);
         const Tensor s = direct_gauss_sum(q, k, v, tau);
         hwy::SetSupportedTargetsForTest(0);
         return s;
       }},
  };
  for (const auto& [name, profile] : profiles)
    rows.push_back({name, [&, profile] { return direct_radial_sum(q, k, v, tau, profile); }});
  const std::vector<std::string> wanted = split(o.rows, ',');
  std::erase_if(rows, [&](const Row& row) { return std::find(wanted.begin(), wanted.end(), row.name) == wanted.end(); });
  for (Row& row : rows) {
    const Tensor s = row.run();  // warms up too
    const bool gaussian = std::none_of(profiles.begin(), profiles.end(), [&](const auto& p) { return p.first == row.name; });
    row.error = gaussian ? contract_error(s, q, k, v, tau) : std::nan("");
  }
  for (int repeat = 0; repeat < o.repeats; ++repeat) {
    for (Row& row : rows) {
      const double w = wall(), p = processor();
      row.run();
      row.wall.push_back(wall() - w);
      row.processor.push_back(processor() - p);
    }
  }
  double flash = 0, flash_processor = 0;
  for (const Row& row : rows) {
    if (row.name.rfind("flash", 0) != 0) continue;
    const double w = median(row.wall), p = median(row.processor);
    flash = flash == 0 ? w : std::min(flash, w);
    flash_processor = flash_processor == 0 ? p : std::min(flash_processor, p);
  }
  const double pairs = static_cast<double>(o.n) * static_cast<double>(o.n);
  const double fma = pairs * static_cast<double>(D + C + (sizeof(T) == 4 ? 5 : 11));
  for (const Row& row : rows) {
    const double w = median(row.wall), p = median(row.processor);
    fmt::print("{},{},{},{},{},{},{:.6g},{:.6g},{:.4g},{:.4g},{:.4g},{:.3f},{:.2e}\n", row.name, o.dtype, o.n, D, C,
               o.threads, w, p, pairs / w * 1e-9, flash / w, flash_processor / p, fma / p / peak, row.error);
  }
  std::fflush(stdout);
}

int main_of(int argc, char** argv) {
  Options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--n")
      o.n = std::stoll(value);
    else if (name == "--shapes")
      o.shapes = value;
    else if (name == "--dtype")
      o.dtype = value;
    else if (name == "--rows")
      o.rows = value;
    else if (name == "--repeats")
      o.repeats = std::stoi(value);
    else if (name == "--threads")
      o.threads = std::stoi(value);
    else {
      fmt::print(stderr, "bench_gauss_sum: unknown option '{}'\n", name);
      return 2;
    }
  }
  at::set_num_threads(o.threads);
  const bool fp32 = o.dtype == "fp32";
  const double peak = fp32 ? fma_peak_fp32() : fma_peak_fp64();
  fmt::print("# fma peak of one thread: {:.1f} G lanes/s\n", peak * 1e-9);
  fmt::print(
      "row,dtype,n,D,C,threads,wall_s,cpu_s,Gpairs_per_s,ratio_to_flash,cpu_ratio_to_flash,share_of_fma_peak,error\n");
  for (const std::string& shape : split(o.shapes, ':')) {
    const std::vector<std::string> numbers = split(shape, ',');
    const std::int64_t D = std::stoll(numbers.at(0)), C = std::stoll(numbers.at(1));
    fp32 ? run_shape<float>(o, D, C, peak) : run_shape<double>(o, D, C, peak);
  }
  return 0;
}

}  // namespace
}  // namespace gaussflow::bench

int main(int argc, char** argv) { return gaussflow::bench::main_of(argc, argv); }
