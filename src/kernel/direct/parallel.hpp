#pragma once
/// Threads for independent tasks.

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace gaussflow::direct {

/// How many threads `tasks` are worth; `work` in vector operations, five or more a nanosecond. Waking a thread costs 5–20 µs
/// on an idle machine and much more on a busy one, so each must have about 80 µs to do.
inline int threads_for(std::int64_t tasks, double work) {
  constexpr double least = 4e5;
  if (work < 2 * least || omp_in_parallel()) return 1;
  const double most = std::min<double>(omp_get_max_threads(), work / least);
  return static_cast<int>(std::clamp<std::int64_t>(tasks, 1, static_cast<std::int64_t>(most)));
}

/// Runs f(task, thread) for each task on `threads` threads. f must not throw.
template <class F>
void parallel_tasks(std::int64_t tasks, int threads, const F& f) {
  if (threads <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) f(task, 0);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t task = 0; task < tasks; ++task) f(task, thread);
  }
}

}  // namespace gaussflow::direct
