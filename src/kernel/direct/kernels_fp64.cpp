#include "kernel/direct/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/direct/kernels_fp64.cpp"
// clang-format off: the kernels below are compiled once per target, by way of this header.
#include <hwy/foreach_target.h>
// clang-format on

#include "kernel/direct/compensated-inl.hpp"
#include "kernel/direct/small-inl.hpp"
#include "kernel/direct/symmetric-inl.hpp"
#include "kernel/direct/tiled-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {

void small_fp64(const Block<double>& block, Kind kind, Profile profile) { small_any(block, kind, profile); }
void tiled_fp64(const Block<double>& block, Profile profile) { tiled_any(block, profile); }
void compensated_fp64(const Block<double>& block) { compensated_any(block); }
void small_symmetric_fp64(const SymmetricBlock<double>& block, Profile profile) { small_symmetric_any(block, profile); }
void tiled_symmetric_fp64(const SymmetricBlock<double>& block, Profile profile) { tiled_symmetric_any(block, profile); }

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernel/direct/kernels.hpp"

namespace gaussflow::direct {

HWY_EXPORT(small_fp64);
HWY_EXPORT(tiled_fp64);
HWY_EXPORT(compensated_fp64);
HWY_EXPORT(small_symmetric_fp64);
HWY_EXPORT(tiled_symmetric_fp64);

void small_sum(const Block<double>& block, Kind kind, Profile profile) {
  HWY_DYNAMIC_DISPATCH(small_fp64)(block, kind, profile);
}
void tiled_sum(const Block<double>& block, Profile profile) { HWY_DYNAMIC_DISPATCH(tiled_fp64)(block, profile); }
void compensated_sum(const Block<double>& block) { HWY_DYNAMIC_DISPATCH(compensated_fp64)(block); }
void small_symmetric(const SymmetricBlock<double>& block, Profile profile) {
  HWY_DYNAMIC_DISPATCH(small_symmetric_fp64)(block, profile);
}
void tiled_symmetric(const SymmetricBlock<double>& block, Profile profile) {
  HWY_DYNAMIC_DISPATCH(tiled_symmetric_fp64)(block, profile);
}

}  // namespace gaussflow::direct
#endif
