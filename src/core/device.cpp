#include "gaussflow/core/device.hpp"

#include "gaussflow/core/error.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <fmt/format.h>

#include <dlfcn.h>
#include <thread>

namespace gaussflow {

namespace {

/// Must come before the first hasCUDA(): after an early query the stub hooks stay for ever.
std::string load_cuda() {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL)) return "";
  const char* reason = dlerror();
  return reason ? reason : "unknown reason";
}

int device_count() { return at::detail::getCUDAHooks().deviceCount(); }

}  // namespace

bool names_device(const std::string& name) {
  return name == "cpu" || name == "cuda" ||
         (name.starts_with("cuda:") && name.size() > 5 && name.size() < 8 &&
          name.find_first_not_of("0123456789", 5) == std::string::npos);
}

c10::Device open_device(const std::string& name) {
  if (name == "cpu") return c10::Device(c10::kCPU);
  if (!names_device(name)) throw UsageError(fmt::format("unknown device '{}': use cpu, cuda or cuda:0 …", name));
  static const std::string failure = load_cuda();
  if (!failure.empty())
    throw DeviceError(fmt::format(
        "no CUDA here: {}. Use compute.device: cpu, or install LibTorch's CUDA libraries (scripts/setup --cuda)", failure));
  if (!at::hasCUDA() || device_count() == 0)
    throw DeviceError("no CUDA device is present (or its driver is not loaded). Use compute.device: cpu");
  const c10::Device device(name == "cuda" ? "cuda:0" : name);
  if (device.index() >= device_count())
    throw DeviceError(fmt::format("there is no {}: this machine has {} CUDA device(s)", name, device_count()));
  return device;
}

/// More than a few for each core spend their time waiting for each other; a few are left to who wants to compare.
static std::int64_t most_threads() { return 8 * std::max<std::int64_t>(1, std::thread::hardware_concurrency()); }

void set_threads(std::optional<std::int64_t> threads) {
  if (threads && *threads > most_threads())
    throw ConfigError(
        fmt::format("{} threads are too many for a machine of {} cores: use compute.threads (--threads) up to {}", *threads,
                    std::max(1U, std::thread::hardware_concurrency()), most_threads()));
  at::set_num_threads(threads ? static_cast<int>(*threads)
                              : static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

int threads() { return at::get_num_threads(); }

}  // namespace gaussflow
