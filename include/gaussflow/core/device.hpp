#pragma once
/// CPU or CUDA, found at run time: the program links no CUDA library.

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>

namespace gaussflow {

/// Is this a word for a device, there or not?
bool names_device(const std::string& name);

/// The device of a config ("cpu", "cuda", "cuda:1"). Loads LibTorch's CUDA library on the first request for one.
/// Throws  UsageError for another word; DeviceError when there is no such device, with the reason.
c10::Device open_device(const std::string& name);

/// Threads of all CPU work from now on; empty: one for each core.
void set_threads(std::optional<std::int64_t> threads);
int threads();

}  // namespace gaussflow
