// Included before Highway by every file that is compiled once per SIMD target: AVX-512, AVX2 and plain code on x86.
// The levels between them would only cost compile time.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
