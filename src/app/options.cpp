#include "app/options.hpp"

#include "gaussflow/config/value.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include <fmt/format.h>

namespace gaussflow::app {

std::int64_t integer_option(const std::string& name, const std::string& text, std::int64_t min) {
  const std::optional<std::int64_t> value = config::parse_integer(text);
  if (!value) throw UsageError(fmt::format("{} must be an integer, got '{}'", name, text));
  if (*value < min) throw UsageError(fmt::format("{} must be at least {}, got {}", name, min, text));
  return *value;
}

double number_option(const std::string& name, const std::string& text) {
  const std::optional<double> value = config::parse_number(text);
  if (!value) throw UsageError(fmt::format("{} must be a number, got '{}'", name, text));
  return *value;
}

double duration_option(const std::string& name, const std::string& text) {
  const std::optional<double> value = config::parse_duration(text);
  if (!value || *value <= 0)
    throw UsageError(fmt::format("{} must be a duration such as 3h30m, 90s or 5m, got '{}'", name, text));
  return *value;
}

void check_output(const std::string& verb, const std::filesystem::path& in, const std::filesystem::path& out,
                  bool overwrite) {
  if (out.empty()) throw UsageError(fmt::format("{}: -o names no file", verb));
  std::error_code ignored;
  if (std::filesystem::equivalent(in, out, ignored))
    throw UsageError(fmt::format("{}: the output {} is the input file; choose another name", verb, out.string()));
  if (!overwrite && std::filesystem::is_regular_file(out, ignored))
    throw BusyError(
        fmt::format("{}: {} is there already; choose another name, or replace it with --overwrite", verb, out.string()));
}

void ConfigOptions::add(CLI::App& verb) {
  verb.add_option("--set", set_, "set one config key: --set kernel.tau=2 (repeat for more)")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb.add_option("--device", device_, "cpu, cuda or cuda:i")->type_name("DEVICE");
  verb.add_option("--threads", threads_, "CPU threads")->type_name("N");
  verb.add_option("--checkpoint-every", checkpoint_every_, "checkpoint interval: 5m or 1000steps")->type_name("INTERVAL");
}

std::vector<run::Override> ConfigOptions::overrides() const {
  std::vector<run::Override> all;
  for (const std::string& assignment : set_) all.push_back({assignment});
  if (!device_.empty()) all.push_back({"compute.device=" + device_, "--device"});
  if (!threads_.empty())
    all.push_back({fmt::format("compute.threads={}", integer_option("--threads", threads_, 1)), "--threads"});
  if (!checkpoint_every_.empty()) all.push_back({"checkpoint.every=" + checkpoint_every_, "--checkpoint-every"});
  return all;
}

void WatchOptions::add(CLI::App& verb) {
  verb.add_option("--max-walltime", max_walltime_, "stop with a checkpoint before this much time has passed: 3h30m")
      ->type_name("TIME");
  verb.add_option("--progress", progress_, "auto, bar, plain or none")->type_name("MODE");
  verb.add_flag("-q,--quiet", quiet_, "no progress, no summary; warnings and errors only");
}

run::ProgressMode WatchOptions::progress() const {
  const std::vector<std::string> words{"auto", "bar", "plain", "none"};
  for (std::size_t i = 0; i < words.size(); ++i)
    if (progress_ == words[i]) return quiet_ ? run::ProgressMode::none : static_cast<run::ProgressMode>(i);
  throw UsageError(fmt::format("--progress must be {}, got '{}'{}", either(words), progress_, suggestion(progress_, words)));
}

std::optional<double> WatchOptions::max_walltime() const {
  if (max_walltime_.empty()) return std::nullopt;
  return duration_option("--max-walltime", max_walltime_);
}

}  // namespace gaussflow::app
