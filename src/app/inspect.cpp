#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/say.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/checkpoint.hpp"
#include "gaussflow/io/hdf5.hpp"
#include "gaussflow/io/sample_file.hpp"
#include "gaussflow/io/trajectory.hpp"
#include "gaussflow/io/verify.hpp"

#include "app/verbs.hpp"
#include "run/directory.hpp"
#include "run/summary.hpp"
#include "run/terminal.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace gaussflow::app {

namespace {

namespace fs = std::filesystem;
using config::Json;

struct InspectArguments {
  std::string path;
  bool verify = false;
  bool json = false;
};

/// Finds what is damaged or missing in a run without changing anything.
std::vector<std::string> verify_run(const fs::path& run, const Json& status) {
  std::vector<std::string> problems;
  std::vector<fs::path> files = io::list_checkpoints(run / "checkpoints");
  if (files.empty()) problems.push_back(fmt::format("{} holds no checkpoint", (run / "checkpoints").string()));
  for (fs::path& file : io::list_segments(run / "trajectory")) files.push_back(std::move(file));
  const fs::path samples = run / "samples.h5";
  std::error_code ignored;
  if (fs::exists(samples, ignored))
    files.push_back(samples);
  else if (status.value("status", "") == "finished")
    problems.push_back(fmt::format("{} is missing, and status.json says that the run has finished", samples.string()));
  for (const fs::path& file : files) {
    try {
      const io::Verification found = io::verify_file(file);
      problems.insert(problems.end(), found.problems.begin(), found.problems.end());
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  return problems;
}

Json checkpoint_json(const io::Checkpoint& checkpoint) {
  Json slots = Json::object();
  for (const auto& [name, slot] : checkpoint.state.slots)
    slots[name] = fmt::format("{} {}", shape_text(slot), dtype_name(slot.scalar_type()));
  return {{"step", checkpoint.state.step},
          {"time", checkpoint.state.time},
          {"particles", fmt::format("{} {}", shape_text(checkpoint.state.x), dtype_name(checkpoint.state.x.scalar_type()))},
          {"slots", slots},
          {"target",
           {{"kind", checkpoint.target.kind}, {"digest", checkpoint.target.digest}, {"shape", checkpoint.target.shape}}},
          {"provenance", checkpoint.provenance},
          {"state_sha256", checkpoint.state_sha256}};
}

std::string pretty(const Json& json, const std::string& indent = "") {
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (value.is_object() && !value.empty())
      text += fmt::format("{}{}\n{}", indent, key, pretty(value, indent + "  "));
    else
      text += fmt::format("{}{:<{}} {}\n", indent, key, 20 - static_cast<int>(indent.size()),
                          value.is_string()         ? value.get<std::string>()
                          : value.is_number_float() ? fmt::format("{:.10g}", value.get<double>())  // sums of steps
                                                    : value.dump());
  }
  return text;
}

/// Names and texts in a file may be in any encoding.
std::string json_text(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

/// The attribute `caption` of a samples.h5: what its table's numbers are.
std::string caption_of(const fs::path& file) {
  for (const io::Hdf5Entry& entry : io::list_hdf5(file, 1).entries)
    for (const io::Hdf5Attribute& attribute : entry.attributes)
      if (attribute.name == "caption") return attribute.value;
  return "";
}

ExitCode findings(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) say("problem: {}\n", problem);
  return problems.empty() ? ExitCode::ok : ExitCode::findings;
}

/// The table and the picture of a samples.h5.
std::string picture(const fs::path& file) {
  const io::SampleFile samples = io::read_samples({file, "/samples"}, {.weights = "/weights"});
  std::vector<std::string> names = samples.names;
  for (std::int64_t d = static_cast<std::int64_t>(names.size()); d < samples.samples.size(1); ++d)
    names.push_back(fmt::format("x{}", d + 1));
  const std::string caption = caption_of(file);
  const std::size_t columns = run::terminal_width(STDOUT_FILENO);
  return fmt::format(
      "{}\n{}\n{}", caption.empty() ? "" : fmt::format("\n  {}", caption),
      run::moments_table(run::sample_moments(samples.samples, samples.weights), std::nullopt, names, columns, 20),
      run::scatter(samples.samples, names, columns));
}

ExitCode inspect_run(const fs::path& run, const InspectArguments& arguments) {
  const Json status = run::read_status(run).value_or(Json::object());
  Json json{{"run", run.string()}, {"status", status}};
  std::vector<std::string> problems, notes;
  if (arguments.verify) problems = verify_run(run, status);
  try {
    io::Found found = io::newest_checkpoint(run / "checkpoints", io::Repair::none);
    json["checkpoint"] = checkpoint_json(found.checkpoint);
    if (!arguments.verify) notes = std::move(found.notes);  // else they are among the problems
  } catch (const CheckpointError& error) {
    if (!arguments.verify) throw;
    if (problems.empty()) problems.emplace_back(error.what());
  }
  if (arguments.verify) json["problems"] = problems;
  if (arguments.json) {
    fmt::print("{}", json_text(json));
    return findings(problems);
  }
  json.erase("problems");
  fmt::print("{}", printable_lines(pretty(json)));
  for (const std::string& note : notes) fmt::print("note: {}\n", printable_lines(note));
  std::error_code ignored;
  if (problems.empty() && fs::exists(run / "samples.h5", ignored))
    fmt::print("{}", printable_lines(picture(run / "samples.h5")));
  if (arguments.verify && problems.empty()) fmt::print("verified: checkpoints, segments and samples.h5\n");
  return findings(problems);
}

ExitCode inspect_checkpoint(const fs::path& file, const InspectArguments& arguments, const Json& verified) {
  Json json = checkpoint_json(io::read_checkpoint(file));
  if (arguments.json) json.update(verified);
  fmt::print("{}", arguments.json ? json_text(json) : printable_lines(pretty(json)));
  return ExitCode::ok;
}

/// A text as one line of a listing.
std::string on_one_line(const std::string& text) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const std::string first = config::printable(text.substr(0, text.find('\n')), 120);
  return lines > 0 ? fmt::format("{} … ({})", first, counted(lines + (text.ends_with('\n') ? 0 : 1), "line")) : first;
}

std::string line_of(const io::Hdf5Entry& entry) {
  const std::string path = config::printable(entry.path, 200);
  if (entry.kind == io::Hdf5Entry::Kind::dataset && !entry.type.empty())
    return fmt::format("{:<28} [{}] {} ({})", path, fmt::join(entry.shape, ", "), config::printable(entry.type),
                       config::printable(entry.storage, 200));
  return entry.target.empty() ? path : fmt::format("{:<28} -> {}", path, config::printable(entry.target, 200));
}

ExitCode inspect_file(const fs::path& file, const InspectArguments& arguments, const Json& verified) {
  const io::Hdf5Listing listing = io::list_hdf5(file);
  Json entries = Json::array();
  for (const io::Hdf5Entry& entry : listing.entries) {
    Json attributes = Json::object();
    for (const io::Hdf5Attribute& a : entry.attributes)
      attributes[a.name] = a.value.empty() ? fmt::format("{} [{}]", a.type, fmt::join(a.shape, ", ")) : a.value;
    if (arguments.json) {
      entries.push_back({{"path", entry.path},
                         {"type", entry.type},
                         {"shape", entry.shape},
                         {"texts", entry.texts},
                         {"storage", entry.storage},
                         {"target", entry.target},
                         {"refusal", entry.refusal},
                         {"attributes", attributes}});
      continue;
    }
    fmt::print("{}\n", line_of(entry));
    for (const auto& [name, value] : attributes.items())
      fmt::print("    @{:<20} {}\n", config::printable(name), on_one_line(value.get<std::string>()));
    if (!entry.texts.empty())
      fmt::print("    {}\n", on_one_line(fmt::format("{}", fmt::join(entry.texts, ", "))));
    else if (!entry.refusal.empty())
      fmt::print("    not samples: {}\n", printable_lines(entry.refusal));
  }
  if (!arguments.json) return ExitCode::ok;
  Json json{{"file", file.string()}, {"complete", listing.complete}, {"entries", entries}};
  json.update(verified);
  fmt::print("{}", json_text(json));
  return ExitCode::ok;
}

/// By its seal, or by its name where nothing is left of that.
bool is_checkpoint(const fs::path& file) {
  return io::format_by_seal(file) == io::FileFormat::checkpoint || file.filename().string().starts_with("ckpt-");
}

ExitCode inspect_any(const fs::path& file, const InspectArguments& arguments, const Json& verified = Json::object()) {
  return is_checkpoint(file) ? inspect_checkpoint(file, arguments, verified) : inspect_file(file, arguments, verified);
}

/// What a file holds and what of it was verified. A damaged one is not read any further.
ExitCode verify(const fs::path& file, const InspectArguments& arguments) {
  const io::Verification found = io::verify_file(file);
  const Json json{{"verified", found.verified}, {"problems", found.problems}};
  if (!found.problems.empty()) {
    if (arguments.json) fmt::print("{}", json_text(json));
    return findings(found.problems);
  }
  const ExitCode code = inspect_any(file, arguments, json);
  if (!arguments.json && found.verified.empty()) fmt::print("carries no digest, nothing to verify\n");
  if (!arguments.json && !found.verified.empty())
    fmt::print("verified: {}\n", printable_lines(fmt::format("{}", fmt::join(found.verified, ", "))));
  return code;
}

ExitCode inspect(const InspectArguments& arguments) {
  const fs::path path = arguments.path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (run::content_of(path) != run::Content::run)
      throw InputError(fmt::format("{} holds no gaussflow run", path.string()));
    return inspect_run(path, arguments);
  }
  return arguments.verify ? verify(path, arguments) : inspect_any(path, arguments);
}

}  // namespace

Action add_inspect(CLI::App& verb) {
  const auto arguments = std::make_shared<InspectArguments>();
  verb.add_option("path", arguments->path, "run directory, checkpoint or any HDF5 file")->required()->type_name("FILE|DIR");
  verb.add_flag("--verify", arguments->verify, "check every digest; exit code 10 when something is damaged");
  verb.add_flag("--json", arguments->json, "as JSON");
  return [arguments] { return inspect(*arguments); };
}

}  // namespace gaussflow::app
