#pragma once
/// What bench_gauss_sum compares with.

#include <cstdint>

namespace gaussflow::bench {

/// The sum as a plain loop over keys in blocks, left to the compiler's vectoriser.
template <class T>
void plain_loop(const T* q, const T* k_transposed, const T* v_transposed, T* out, std::int64_t M, std::int64_t N,
                std::int64_t D, std::int64_t C, T tau);

/// Fused multiply-adds a second of one thread, in lanes of T, with nothing but registers.
double fma_peak_fp32();
double fma_peak_fp64();

}  // namespace gaussflow::bench
