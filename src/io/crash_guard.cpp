#include "io/crash_guard.hpp"

#include "gaussflow/core/error.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

namespace gaussflow::io {

namespace {

constexpr std::array signals{SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
constexpr std::size_t stack_size = 1 << 16;

/// What the handler may look at: made before a crash, because after one nothing can be allocated.
struct Watch {
  std::array<char, 4096> message{};
  std::size_t length = 0;
  int depth = 0;
  std::unique_ptr<char[]> stack;  ///< a parser that recurses without end has none left of its own
};

/// Of the thread that reads: a crash of any other has nothing to do with the file.
thread_local Watch* watch = nullptr;

std::mutex mutex;
int guards = 0;
std::array<struct sigaction, signals.size()> before;

void on_crash(int signal, siginfo_t* info, void* context) {
  if (watch != nullptr) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, watch->message.data(), watch->length);
    _exit(static_cast<int>(ExitCode::input));
  }
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (signals[i] != signal) continue;
    if ((before[i].sa_flags & SA_SIGINFO) != 0) return before[i].sa_sigaction(signal, info, context);
    if (before[i].sa_handler != SIG_DFL && before[i].sa_handler != SIG_IGN) return before[i].sa_handler(signal);
    sigaction(signal, &before[i], nullptr);  // and the instruction that failed fails again
  }
}

void install() {
  const std::lock_guard lock(mutex);
  if (guards++ > 0) return;
  struct sigaction action = {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &action, &before[i]);
}

void restore() {
  const std::lock_guard lock(mutex);
  if (--guards > 0) return;
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before[i], nullptr);
}

/// Nothing where the thread has an alternate stack already.
std::unique_ptr<char[]> alternate_stack() {
  stack_t current = {};
  if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) return nullptr;
  auto stack = std::make_unique<char[]>(stack_size);
  stack_t fresh = {};
  fresh.ss_sp = stack.get();
  fresh.ss_size = stack_size;
  return sigaltstack(&fresh, nullptr) == 0 ? std::move(stack) : nullptr;
}

}  // namespace

CrashGuard::CrashGuard(const std::filesystem::path& file) {
  if (watch != nullptr) {
    ++watch->depth;
    return;
  }
  auto made = std::make_unique<Watch>();
  const std::string text =
      fmt::format("gaussflow: {}: the HDF5 library crashed while reading it; the file is damaged\n", file.string());
  made->length = std::min(text.size(), made->message.size());
  std::copy_n(text.begin(), made->length, made->message.begin());
  made->stack = alternate_stack();
  watch = made.release();
  install();
}

CrashGuard::~CrashGuard() {
  if (watch->depth-- > 0) return;
  restore();
  const std::unique_ptr<Watch> done(watch);
  watch = nullptr;
  if (done->stack == nullptr) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace gaussflow::io
