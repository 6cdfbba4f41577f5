#include "run/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace gaussflow::run {

namespace {

// Lock-free atomics are the only objects a handler may touch.
std::atomic<int> stop{0};
std::atomic<bool> checkpoint{false};

void on_signal(int signal) {
  if (signal == SIGUSR1) {
    checkpoint = true;
    return;
  }
  if (stop.exchange(signal) != 0) _exit(128 + signal);
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaction(signal, &action, nullptr);
}

int stop_signal() { return stop; }

bool take_checkpoint_request() { return checkpoint.exchange(false); }

const char* signal_name(int signal) {
  switch (signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "a signal";
  }
}

}  // namespace gaussflow::run
