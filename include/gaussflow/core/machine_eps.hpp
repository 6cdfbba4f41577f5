#pragma once
/// The unit in which errors are given.

#include <c10/core/ScalarType.h>

namespace gaussflow {

/// Distance from 1 to the next number of a floating-point type; bf16 where it is none of the others.
inline double machine_eps(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Double:
      return 0x1p-52;
    case c10::ScalarType::Float:
      return 0x1p-23;
    case c10::ScalarType::Half:
      return 0x1p-10;
    default:
      return 0x1p-7;
  }
}

}  // namespace gaussflow
