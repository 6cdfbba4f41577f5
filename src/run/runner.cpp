#include "run/runner.hpp"

#include "gaussflow/core/device.hpp"
#include "gaussflow/core/say.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/core/version.hpp"
#include "gaussflow/flow/verdict.hpp"
#include "gaussflow/io/checkpoint.hpp"
#include "gaussflow/io/sample_file.hpp"
#include "gaussflow/io/trajectory.hpp"
#include "gaussflow/kernel/mmd.hpp"

#include "run/directory.hpp"
#include "run/metrics_file.hpp"
#include "run/prepare.hpp"
#include "run/provenance.hpp"
#include "run/signals.hpp"
#include "run/summary.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

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

class Run {
 public:
  Run(const RunConfig& config, const Request& request, Directory directory, const Parts& parts, State state)
      : config_(config),
        request_(request),
        directory_(std::move(directory)),
        metrics_(directory_.metrics()),
        trajectory_(directory_.trajectory()),
        parts_(parts),
        first_step_(state.step),
        simulation_(config.simulation(), *parts.flow, *parts.target, std::move(state),
                    [this](const Note& note) { tell(note); }),
        metrics_every_(metrics_interval(config)),
        trajectory_every_(trajectory_interval(config, simulation_.state().x)) {}

  /// The start is recorded and checkpointed before the first step, so that there is always something to resume.
  void begin() {
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
  void summary(const Verdict& verdict);
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
  Simulation simulation_;
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
  if (!request_.quiet) summary(verdict);
  directory_.log_event("finished", {{"step", simulation_.state().step}, {"verdict", verdict.word}, {"text", verdict.text}});
  if (verdict.word == "diverged") {
    write_status("failed", ExitCode::numerical, verdict.word);
    throw NumericalError(fmt::format("diverged: {}", verdict.text));
  }
  write_status("finished", ExitCode::ok, verdict.word);
  return ExitCode::ok;
}

void Run::summary(const Verdict& verdict) {
  const State& state = simulation_.state();
  const Target& target = simulation_.target();
  const Tensor x = target.constrain(state.x.to(at::kCPU));
  const Tensor w = state.log_weights.defined() ? weights(state) : Tensor();
  std::optional<Moments> reference = target.reference();
  say("\n{} particles after {} steps of {} onto {}\n", state.x.size(0), state.step, config_.flow.name, config_.target.name);
  if (const std::string caption = target.caption(); !caption.empty()) say("  {}\n", caption);
  say("{}", moments_table(sample_moments(x, w), reference, target.names()));
  if (target.has_samples()) {
    const Cloud y = target.all_samples(at::kDouble);
    if (state.x.size(0) + y.points.size(0) <= 20000)
      say("  energy distance {:.3g}\n",
          energy_distance(x.to(at::kDouble), y.points, weights(state).to(at::kCPU, at::kDouble), y.weights));
  }
  if (verdict.word != "diverged") say("  {}: {}\n", verdict.word, verdict.text);  // that is the error then
  if (isatty(STDERR_FILENO)) say("\n{}", scatter(x, target.names()));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double elapsed = seconds_since(start_);
  const std::string folder = shell_quoted(directory_.path().string());
  say("  {} in {} ({:.3g} steps/s), tau {:.4g}, peak memory {}\n  sums: {}\n",
      state.step - first_step_ == 1 ? "1 step" : fmt::format("{} steps", state.step - first_step_), duration_text(elapsed),
      static_cast<double>(state.step - first_step_) / elapsed, simulation_.tau(),
      bytes_text(1024.0 * static_cast<double>(usage.ru_maxrss)), choice_);
  say("\nresult   {}\nlook     gaussflow inspect {}\n", shell_quoted(directory_.samples().string()), folder);
  if (verdict.word != "diverged")
    say("more     gaussflow resume {} --extend-by {}\n", folder, std::max<std::int64_t>(1, config_.step.count / 2));
}

/// "samples [2000, 2] 9f86…".
std::string target_text(const TargetRecord& record) {
  return fmt::format("{} [{}] {}", record.kind, fmt::join(record.shape, ", "), record.digest);
}

/// Where nothing is left that could be gone on from, says so.
io::Found newest_checkpoint(const Directory& directory) {
  try {
    return io::newest_checkpoint(directory.checkpoints());
  } catch (const CheckpointError& error) {
    if (!io::list_checkpoints(directory.checkpoints()).empty()) throw;
    throw CheckpointError(
        fmt::format("{}\nThere is nothing to go on from. To start anew: gaussflow run CONFIG -o {} --overwrite",
                    error.what(), shell_quoted(directory.path().string())));
  }
}

/// Was a run's end written, samples and all? A kill may come between the last checkpoint and them.
bool has_ended(const Directory& directory) {
  const std::optional<config::Json> status = read_status(directory.path());
  return status && status->value("status", "") != "running" && fs::exists(directory.samples());
}

/// A folder that moved to another depth, or away from its data, does not find them: says how to name them anew.
void check_files(const RunConfig& config, const std::string& folder) {
  const auto missing = config.missing_files();
  if (missing.empty()) return;
  std::string text, command = "gaussflow resume " + shell_quoted(folder);
  for (const auto& [key, ref] : missing) {
    text += fmt::format("{} does not exist{}\n", ref.file.string(), file_suggestion(ref.file));
    command += " --set " + shell_quoted(fmt::format("{}={}", key, DataRef{"NEW", ref.dataset}.text()));
  }
  throw InputError(fmt::format("{}If {} was moved, say where the data are now: {}", text, folder, command));
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
  State state = start_state(config, parts);
  // What a run refuses is refused before its folder is made.
  Simulation(config.simulation(), *parts.flow, *parts.target, state, [](const Note&) {});
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
  Run run(config, request, std::move(directory), parts, std::move(state));
  run.begin();
  return run.loop();
}

ExitCode resume(const Continuation& continuation, const Request& request) {
  Directory directory = Directory::open(request.directory);
  const std::string folder = request.directory.string();
  const std::string from_here = config::to_yaml_flow({{"run", folder}});
  io::Found found = newest_checkpoint(directory);
  const config::Node stored =
      config::parse_yaml(found.checkpoint.config, found.file.filename().string() + ":/config", request.directory);
  const RunConfig before = read_config(stored);

  RunConfig config = before;
  if (continuation.config) {
    config = *continuation.config;
    if (!config.horizon_given) config.step.horizon = before.step.horizon;
  } else if (!continuation.overrides.empty()) {
    config = read_config(stored, continuation.overrides);
  }
  if (continuation.until_step) config.step.count = *continuation.until_step;
  if (continuation.extend_by) config.step.count = found.checkpoint.state.step + *continuation.extend_by;

  if (const std::vector<Difference> changed = differences(before.fixed(), config.fixed()); !changed.empty()) {
    std::string text =
        fmt::format("{} was started with other settings; these may not change within a run:\n  {:<32} {:<28} {}\n", folder,
                    "key", "in the run", "asked for");
    for (const Difference& d : changed) text += fmt::format("  {:<32} {:<28} {}\n", d.key, d.before, d.now);
    throw CheckpointError(text + fmt::format("To start a new run from these particles: particles.init: {}", from_here));
  }

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
    say("  note: beyond the horizon of {} steps the step size stays at the schedule's last value\n", *config.step.horizon);

  if (!continuation.config) check_files(config, folder);
  const Parts parts = make_parts(config);
  for (const std::string& note : other_bits(found.checkpoint.provenance, provenance(config), before, config))
    say("  note: {}: the last bits may differ\n", note);
  if (const TargetRecord now = parts.target->record(); now != found.checkpoint.target)
    throw CheckpointError(
        fmt::format("the target's data changed since {} was started:\n  in the run  {}\n  now         {}\n"
                    "Put the old file back, or start a new run with particles.init: {}",
                    folder, target_text(found.checkpoint.target), target_text(now), from_here));
  State state = last;
  state.x = state.x.to(parts.device);
  for (const std::string& note : io::truncate_trajectory(directory.trajectory(), state.step)) say("  note: {}\n", note);
  const std::int64_t last_row = MetricsFile(directory.metrics()).cut(state.step);
  Run run(config, request, std::move(directory), parts, std::move(state));
  run.begin_again(last_row);
  return run.loop();
}

}  // namespace gaussflow::run
