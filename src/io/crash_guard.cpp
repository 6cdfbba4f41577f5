#include "io/crash_guard.hpp"

#include "gaussflow/core/error.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace gaussflow::io {

namespace {

/// SIGVTALRM is the timer's: profilers use SIGPROF, `ulimit -t` SIGXCPU.
constexpr std::array signals{SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGVTALRM};
constexpr std::size_t stack_size = 1 << 16;
constexpr double slowest_reading = 10e6;  ///< bytes a second, far below what decompressing and checking them takes

/// A line ready to be written.
struct Line {
  explicit Line(const std::string& text) : length(std::min(text.size(), characters.size())) {
    std::copy_n(text.begin(), length, characters.begin());
  }
  std::array<char, 4096> characters{};
  std::size_t length;
};

/// What the handler may look at: made before a crash, because after one nothing can be allocated.
struct Watch {
  Line crashed, endless;
  std::optional<timer_t> timer{};  ///< none where the system gives none: then there is no limit
  int depth = 0;
  std::unique_ptr<char[]> stack{};  ///< a parser that recurses without end has none left of its own
};

/// Of the thread that reads: a crash of any other has nothing to do with the file.
thread_local Watch* watch = nullptr;

std::mutex mutex;
int guards = 0;
std::array<struct sigaction, signals.size()> before;

void on_crash(int signal, siginfo_t* info, void* context) {
  const bool timed = signal == SIGVTALRM;
  if (watch != nullptr && (!timed || (info->si_code == SI_TIMER && info->si_value.sival_ptr == watch))) {
    const Line& line = timed ? watch->endless : watch->crashed;
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.characters.data(), line.length);
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

/// Sends SIGVTALRM to this thread, and to no other.
std::optional<timer_t> thread_timer(Watch* owner) {
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGVTALRM;
  event.sigev_value.sival_ptr = owner;
  event._sigev_un._tid = gettid();  // the name sigev_notify_thread_id is missing in glibc
  timer_t timer{};
  return timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) == 0 ? std::optional(timer) : std::nullopt;
}

/// Adds to what is left; a timer that has none left has fired.
void lengthen(timer_t timer, double seconds) {
  itimerspec time = {};
  timer_gettime(timer, &time);
  const double left =
      static_cast<double>(time.it_value.tv_sec) + 1e-9 * static_cast<double>(time.it_value.tv_nsec) + std::min(seconds, 1e9);
  time.it_value.tv_sec = static_cast<time_t>(left);
  time.it_value.tv_nsec = static_cast<long>(1e9 * (left - std::floor(left)));
  timer_settime(timer, 0, &time, nullptr);
}

}  // namespace

CrashGuard::CrashGuard(const std::filesystem::path& file, double seconds) {
  if (watch != nullptr) {
    ++watch->depth;
    return;
  }
  const std::string name = file.string();
  auto made = std::make_unique<Watch>(Watch{
      Line(fmt::format("gaussflow: {}: the HDF5 library crashed while reading it; the file is damaged\n", name)),
      Line(fmt::format("gaussflow: {}: the HDF5 library came to no end in reading it, in {:.3g} s of processor time; the "
                       "file is damaged, copy or download it again. If h5dump can read it, h5repack makes a sound copy\n",
                       name, seconds))});
  made->stack = alternate_stack();
  made->timer = thread_timer(made.get());
  watch = made.release();
  install();
  if (watch->timer) lengthen(*watch->timer, seconds);
}

void CrashGuard::expect(double bytes) {
  if (watch != nullptr && watch->timer) lengthen(*watch->timer, bytes / slowest_reading);
}

CrashGuard::~CrashGuard() {
  if (watch->depth-- > 0) return;
  if (watch->timer) timer_delete(*watch->timer);  // first: what it still sends must find the handler
  restore();
  const std::unique_ptr<Watch> done(watch);
  watch = nullptr;
  if (done->stack == nullptr) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace gaussflow::io
