#include "kernel/direct/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/direct/kernels_fp32.cpp"
// clang-format off: the kernels below are compiled once per target, by way of this header.
#include <hwy/foreach_target.h>
// clang-format on

#include "kernel/direct/small-inl.hpp"
#include "kernel/direct/symmetric-inl.hpp"
#include "kernel/direct/tiled-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {

void small_fp32(const Block<float>& block, Kind kind, Profile profile) { small_any(block, kind, profile); }
void tiled_fp32(const Block<float>& block, Profile profile) { tiled_any(block, profile); }
void small_symmetric_fp32(const SymmetricBlock<float>& block, Profile profile) { small_symmetric_any(block, profile); }
void tiled_symmetric_fp32(const SymmetricBlock<float>& block, Profile profile) { tiled_symmetric_any(block, profile); }

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernel/direct/kernels.hpp"

namespace gaussflow::direct {

HWY_EXPORT(small_fp32);
HWY_EXPORT(tiled_fp32);
HWY_EXPORT(small_symmetric_fp32);
HWY_EXPORT(tiled_symmetric_fp32);

void small_sum(const Block<float>& block, Kind kind, Profile profile) {
  HWY_DYNAMIC_DISPATCH(small_fp32)(block, kind, profile);
}
void tiled_sum(const Block<float>& block, Profile profile) { HWY_DYNAMIC_DISPATCH(tiled_fp32)(block, profile); }
void small_symmetric(const SymmetricBlock<float>& block, Profile profile) {
  HWY_DYNAMIC_DISPATCH(small_symmetric_fp32)(block, profile);
}
void tiled_symmetric(const SymmetricBlock<float>& block, Profile profile) {
  HWY_DYNAMIC_DISPATCH(tiled_symmetric_fp32)(block, profile);
}

}  // namespace gaussflow::direct
#endif
