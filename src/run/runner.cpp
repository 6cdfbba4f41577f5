#include "run/runner.hpp"

#include "gaussflow/core/device.hpp"
#include "gaussflow/core/say.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/core/version.hpp"
#include "gaussflow/flow/verdict.hpp"
#include "gaussflow/io/checkpoint.hpp"
#include "gaussflow/io/sample_file.hpp"
#include "gaussflow/io/trajectory.hpp"

#include "run/directory.hpp"
#include "run/metrics_file.hpp"
#include "run/prepare.hpp"
#include "run/provenance.hpp"
#include "run/resumption.hpp"
#include "run/signals.hpp"
#include "run/summary.hpp"
#include "run/terminal.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

namespace gaussflow::run {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool due(std::int64_t step, std::int64_t every, std::int64_t last) {
  return every > 0 && (step % every == 0 || step == last);
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

/// Hears a simulation's notes, and keeps those that come before there is a run with a log for them.
struct Listener {
  std::vector<Note> early{};
  std::function<void(const Note&)> tell = [this](const Note& note) { early.push_back(note); };
};

Simulation simulate(const RunConfig& config, const Parts& parts, State state, const Listener& listener) {
  return {config.simulation(), *parts.flow, *parts.target, std::move(state),
          [&listener](const Note& note) { listener.tell(note); }};
}

class Run {
 public:
  Run(const RunConfig& config, const Request& request, Directory directory, const Parts& parts, Simulation& simulation,
      Listener& listener)
      : config_(config),
        request_(request),
        directory_(std::move(directory)),
        metrics_(directory_.metrics()),
        trajectory_(directory_.trajectory()),
        parts_(parts),
        first_step_(simulation.state().step),
        simulation_(simulation),
        metrics_every_(metrics_interval(config)),
        trajectory_every_(trajectory_interval(config, simulation_.state().x)) {
    listener.tell = [this](const Note& note) { tell(note); };
    for (const Note& note : listener.early) tell(note);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// The start is recorded and checkpointed before the first step, so that there is always something to resume.
  void begin() {
    for (const std::string& warning : request_.warnings) directory_.log_event("warning", {{"step", 0}, {"text", warning}});
    for (const std::string& note : simulation_.target().notes()) tell({false, note});
    for (const Note& note : inspect_start(simulation_)) tell(note);
    log_choice();
    record();
    checkpoint();
  }

  /// Rows of the checkpoint's own step may have been lost with the process.
  void begin_again(std::int64_t last_row) {
    log_choice();
    if (last_row < simulation_.state().step && due(simulation_.state().step, metrics_every_, -1)) record();
  }

  ExitCode loop();

 private:
  void tell(const Note& note) {
    if (progress_) progress_->clear();
    say("{}: {}\n", note.warning ? "warning" : "note", note.text);
    directory_.log_event(note.warning ? "warning" : "note", {{"step", simulation_.state().step}, {"text", note.text}});
  }

  void record();
  void checkpoint();
  void write_samples();
  void write_status(const std::string& status, ExitCode code, const std::string& verdict = "");
  void log_choice();
  bool out_of_time() const;
  Tensor beginning() const;

  const RunConfig& config_;
  const Request& request_;
  Directory directory_;
  MetricsFile metrics_;
  io::TrajectoryWriter trajectory_;
  const Parts& parts_;
  std::int64_t first_step_;
  Simulation& simulation_;
  std::int64_t metrics_every_;
  std::int64_t trajectory_every_;
  std::unique_ptr<Progress> progress_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_checkpoint_ = Clock::now();
  std::int64_t last_checkpoint_step_ = -1;
  double slowest_checkpoint_ = 0;
  double slowest_step_ = 0;
  std::string progress_detail_;
  std::string choice_;
  fs::path last_checkpoint_file_;
};

void Run::log_choice() {
  const Choice choice = simulation_.choice();
  const std::string text =
      fmt::format("{} in {}{}: {}", name_of(choice.reduction), dtype_name(choice.compute_dtype),
                  choice.backend == AttentionBackend::automatic ? "" : " on " + name_of(choice.backend), choice.reason);
  if (text == choice_) return;
  choice_ = text;
  directory_.log_event("reduction", {{"step", simulation_.state().step}, {"text", text}});
}

void Run::record() {
  const State& state = simulation_.state();
  if (due(state.step, metrics_every_, config_.step.count)) {
    const Measurement m = simulation_.measure();
    metrics_.append(m, seconds_since(start_));
    progress_detail_.clear();
    for (const char* name : {"mmd2", "ksd2"})
      if (const auto value = m.value(name)) progress_detail_ += fmt::format("{} {:.1e}  ", name, *value);
    progress_detail_ += fmt::format("tau {:.3g}", simulation_.tau());
    log_choice();
  }
  if (due(state.step, trajectory_every_, config_.step.count))
    trajectory_.add({state.step, state.time, state.x.to(at::kCPU), {{"tau", simulation_.tau()}}});
}

void Run::checkpoint() {
  const auto begun = Clock::now();
  metrics_.sync();
  trajectory_.seal();
  io::Checkpoint checkpoint;
  checkpoint.state = simulation_.state();
  checkpoint.state.x = checkpoint.state.x.to(at::kCPU);
  checkpoint.config = config::to_yaml(config_.relocated(directory_.path()));
  checkpoint.fixed = config_.fixed().dump();
  checkpoint.target = simulation_.target().record();
  checkpoint.provenance = provenance(config_);
  checkpoint.provenance["reduction"] = choice_;
  checkpoint.provenance["created"] = now_text();
  try {
    last_checkpoint_file_ = io::write_checkpoint(directory_.checkpoints(), checkpoint);
  } catch (const IoError& error) {
    std::string text = error.what();
    if (last_checkpoint_step_ >= 0)
      text += fmt::format("\nFree space, then: gaussflow resume {} (last good: step {})",
                          shell_quoted(directory_.path().string()), last_checkpoint_step_);
    throw IoError(text);
  }
  last_checkpoint_step_ = simulation_.state().step;
  write_status("running", ExitCode::ok);
  const std::vector<fs::path> all = io::list_checkpoints(directory_.checkpoints());
  std::error_code ignored;
  for (std::size_t i = static_cast<std::size_t>(config_.checkpoint.keep); i < all.size(); ++i) fs::remove(all[i], ignored);
  directory_.log_event("checkpoint", {{"step", last_checkpoint_step_}, {"state_sha256", checkpoint.state_sha256}});
  last_checkpoint_ = Clock::now();
  slowest_checkpoint_ = std::max(slowest_checkpoint_, std::chrono::duration<double>(last_checkpoint_ - begun).count());
}

void Run::write_samples() {
  const State& state = simulation_.state();
  const Target& target = simulation_.target();
  const Tensor w = state.log_weights.defined()
                       ? weights(state)
                       : at::full({state.x.size(0)}, 1.0 / static_cast<double>(state.x.size(0)), at::kDouble);
  io::write_samples(
      directory_.samples(), target.constrain(state.x.to(at::kCPU)), w.to(at::kCPU, at::kDouble), target.names(),
      {.texts = {{"flow", config_.flow.name},
                 {"target", config_.target.name},
                 {"caption", target.caption()},
                 {"version", version()},
                 {"config", config::to_yaml(config_.relocated(directory_.path()))}},
       .numbers = {{"tau", simulation_.tau()}, {"step", static_cast<double>(state.step)}, {"time", state.time}}});
}

void Run::write_status(const std::string& status, ExitCode code, const std::string& verdict) {
  config::Json json{
      {"format", "gaussflow-run"}, {"status", status}, {"step", simulation_.state().step}, {"count", config_.step.count}};
  if (status != "running") json["exit_code"] = static_cast<int>(code);
  if (!verdict.empty()) json["verdict"] = verdict;
  if (last_checkpoint_step_ >= 0) json["checkpoint_step"] = last_checkpoint_step_;
  json["version"] = version();
  io::write_text(directory_.status(), json.dump(2) + "\n");
}

bool Run::out_of_time() const {
  return request_.max_walltime && seconds_since(start_) + slowest_step_ + 1.5 * slowest_checkpoint_ > *request_.max_walltime;
}

/// The start, made again: a resumed run knows its checkpoint alone. Undefined where its file is gone.
Tensor Run::beginning() const {
  try {
    return start_state(config_, parts_).x;
  } catch (const Error&) {
    return {};
  }
}

ExitCode Run::loop() {
  progress_ = std::make_unique<Progress>(request_.progress, first_step_, config_.step.count);
  const CheckpointOptions& every = config_.checkpoint;
  last_checkpoint_step_ = simulation_.state().step;
  const std::string folder = directory_.path().string();
  try {
    write_status("running", ExitCode::ok);
    while (simulation_.state().step < config_.step.count) {
      const bool stopped = stop_signal() != 0;
      if (stopped || out_of_time()) {
        if (last_checkpoint_step_ != simulation_.state().step) checkpoint();
        write_samples();
        write_status("incomplete", ExitCode::stopped);
        progress_->clear();
        say("stopped: {} at step {}, checkpoint written ({}). Continue with: gaussflow resume {}   [exit 75]\n",
            stopped ? signal_name(stop_signal()) : "the wall time is used up", simulation_.state().step,
            duration_text(slowest_checkpoint_), shell_quoted(folder));
        directory_.log_event("stopped", {{"step", simulation_.state().step}});
        return ExitCode::stopped;
      }
      const auto begun = Clock::now();
      simulation_.step();
      record();
      const std::int64_t step = simulation_.state().step;
      const bool by_step = every.every.steps && step % *every.every.steps == 0;
      const bool by_time = every.every.seconds && seconds_since(last_checkpoint_) >= *every.every.seconds;
      if (step < config_.step.count && (by_step || by_time || take_checkpoint_request())) checkpoint();
      slowest_step_ = std::max(0.9 * slowest_step_, seconds_since(begun));
      progress_->show(step, progress_detail_);
    }
    if (last_checkpoint_step_ != simulation_.state().step) checkpoint();
    write_samples();
  } catch (const NumericalError& error) {
    progress_->clear();
    write_status("failed", error.code());
    directory_.log_event("error", {{"step", simulation_.state().step}, {"text", error.what()}});
    throw NumericalError(
        fmt::format("{}\nThe last good checkpoint is step {} in {}. A smaller step.size, a start nearer to the target "
                    "(particles.init) or kernel.bandwidth: median may help",
                    error.what(), last_checkpoint_step_, folder));
  } catch (const Error& error) {
    progress_->clear();
    directory_.log_event("error", {{"step", simulation_.state().step}, {"text", error.what()}});
    try {
      write_status("failed", error.code());
    } catch (const IoError&) {  // the disk that failed is the one the status would go to
    }
    throw;
  }
  const Verdict verdict = judge(simulation_, beginning());
  progress_->clear();
  if (!request_.quiet)
    say("{}", summary(config_, simulation_, verdict,
                      {.steps = simulation_.state().step - first_step_,
                       .seconds = seconds_since(start_),
                       .sums = choice_,
                       .directory = directory_.path(),
                       .samples = directory_.samples(),
                       .picture = isatty(STDERR_FILENO) == 1,
                       .columns = terminal_width(STDERR_FILENO)}));
  directory_.log_event("finished", {{"step", simulation_.state().step}, {"verdict", verdict.word}, {"text", verdict.text}});
  if (verdict.word == "diverged") {
    write_status("failed", ExitCode::numerical, verdict.word);
    throw NumericalError(fmt::format("diverged: {}", verdict.text));
  }
  write_status("finished", ExitCode::ok, verdict.word);
  return ExitCode::ok;
}

}  // namespace

bool can_resume(const fs::path& directory) {
  std::error_code ignored;
  if (fs::is_regular_file(directory, ignored)) return false;  // `start` refuses it
  if (!io::list_checkpoints(directory / "checkpoints").empty()) return true;
  // A run that ever wrote one holds work, even if they were deleted or found damaged: never a silent fresh start over it.
  if (const std::optional<config::Json> status = read_status(directory); status && status->contains("checkpoint_step"))
    return true;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory / "checkpoints", ignored))
    if (entry.path().extension() == ".bad") return true;
  return false;
}

ExitCode start(const RunConfig& config, const std::string& config_text, const Request& request) {
  const Parts parts = make_parts(config);
  Listener listener;
  // What a run refuses is refused before its folder is made.
  Simulation simulation = simulate(config, parts, start_state(config, parts), listener);
  Directory directory = Directory::create(request.directory, request.overwrite);
  io::write_text(directory.config(), config_text);
  io::write_text(directory.resolved(), config::to_yaml(config.relocated(directory.path())));
  io::write_text(directory.provenance(), config::Json{{"version", version()},
                                                      {"revision", revision()},
                                                      {"torch", torch_version()},
                                                      {"device", config.compute.device},
                                                      {"threads", threads()},
                                                      {"seed", config.seed},
                                                      {"target", parts.target->record().kind},
                                                      {"target_sha256", parts.target->record().digest},
                                                      {"started", now_text()}}
                                                 .dump(2) +
                                             "\n");
  Run run(config, request, std::move(directory), parts, simulation, listener);
  run.begin();
  return run.loop();
}

ExitCode resume(const Continuation& continuation, const Request& request) {
  Directory directory = Directory::open(request.directory);
  const std::string folder = request.directory.string();
  const Resumption resumption = find_resumption(continuation, directory, folder);
  const auto& [before, config, found] = resumption;
  const State& last = found.checkpoint.state;
  for (const std::string& note : found.notes) say("  note: {}\n", note);
  const bool ended = has_ended(directory);
  if (continuation.until_step && *continuation.until_step <= last.step && ended) {
    say("{}: nothing to do, the run is at step {}, --until-step {} is {}. --extend-by N makes N steps more\n", folder,
        last.step, *continuation.until_step, *continuation.until_step == last.step ? "that step" : "before it");
    return ExitCode::ok;
  }
  if (last.step >= config.step.count && ended) {
    say("{}: nothing to do, step {} of {} is reached. To go on: gaussflow resume {} --extend-by N\n", folder, last.step,
        config.step.count, shell_quoted(folder));
    return ExitCode::ok;
  }
  say("resume: {}  step {} of {}  ({}, verified)\n", folder, last.step, config.step.count, found.file.filename().string());
  if (config.step.count > *config.step.horizon)
    say("  note: beyond the horizon of {} the step size stays at the schedule's last value\n",
        counted(*config.step.horizon, "step"));

  if (!continuation.config) check_files(config, folder);
  const Parts parts = make_parts(config);
  for (const std::string& note : other_bits(found.checkpoint.provenance, provenance(config), before, config))
    say("  note: {}: the last bits may differ\n", note);
  check_target(parts.target->record(), found.checkpoint.target, folder);
  State state = last;
  state.x = state.x.to(parts.device);
  for (const std::string& note : io::truncate_trajectory(directory.trajectory(), state.step)) say("  note: {}\n", note);
  const std::int64_t last_row = MetricsFile(directory.metrics()).cut(state.step);
  Listener listener;
  Simulation simulation = simulate(config, parts, std::move(state), listener);
  Run run(config, request, std::move(directory), parts, simulation, listener);
  run.begin_again(last_row);
  return run.loop();
}

}  // namespace gaussflow::run
