#include "rows.hpp"

#include <algorithm>
#include <cmath>

namespace gaussflow::bench {

template <class T>
void plain_loop(const T* q, const T* kt, const T* vt, T* out, std::int64_t M, std::int64_t N, std::int64_t D, std::int64_t C,
                T tau) {
  constexpr std::int64_t block = 512;
#pragma omp parallel for schedule(static)
  for (std::int64_t m = 0; m < M; ++m) {
    T w[block];
    for (std::int64_t n0 = 0; n0 < N; n0 += block) {
      const std::int64_t n1 = std::min(block, N - n0);
      for (std::int64_t n = 0; n < n1; ++n) w[n] = 0;
      for (std::int64_t d = 0; d < D; ++d)
        for (std::int64_t n = 0; n < n1; ++n)
          w[n] += (kt[d * N + n0 + n] - q[m * D + d]) * (kt[d * N + n0 + n] - q[m * D + d]);
      for (std::int64_t n = 0; n < n1; ++n) w[n] = std::exp(-tau / 2 * w[n]);
      for (std::int64_t c = 0; c < C; ++c) {
        T sum = 0;
        for (std::int64_t n = 0; n < n1; ++n) sum += w[n] * vt[c * N + n0 + n];
        out[m * C + c] += sum;
      }
    }
  }
}

template void plain_loop(const float*, const float*, const float*, float*, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, float);
template void plain_loop(const double*, const double*, const double*, double*, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, double);

}  // namespace gaussflow::bench
