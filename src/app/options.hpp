#pragma once
/// Options that several verbs share, and the strict reading of their values.

#include "run/config.hpp"
#include "run/progress.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gaussflow::app {

/// Throws UsageError naming the option unless `text` is an integer (number, duration) in range.
std::int64_t integer_option(const std::string& name, const std::string& text, std::int64_t min);
double number_option(const std::string& name, const std::string& text);
double duration_option(const std::string& name, const std::string& text);

/// Throws UsageError when `out` is the input itself, BusyError when it is there and `overwrite` is false.
void check_output(const std::string& verb, const std::filesystem::path& in, const std::filesystem::path& out,
                  bool overwrite);

/// Options of run and resume that stand for config keys; `overrides()` gives them as assignments, after every --set.
class ConfigOptions {
 public:
  void add(CLI::App& verb);
  std::vector<run::Override> overrides() const;

 private:
  std::vector<std::string> set_;
  std::string device_;
  std::string threads_;
  std::string checkpoint_every_;
};

/// Options about watching a run.
class WatchOptions {
 public:
  void add(CLI::App& verb);
  run::ProgressMode progress() const;
  std::optional<double> max_walltime() const;
  bool quiet() const { return quiet_; }

 private:
  std::string progress_ = "auto";
  std::string max_walltime_;
  bool quiet_ = false;
};

}  // namespace gaussflow::app
