#include "run/config.hpp"

#include "gaussflow/core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace gaussflow::run {

namespace {

using config::Form;
using config::Json;
using config::KeyInfo;
using config::Resume;
using config::Schema;

const std::map<std::string, FlowPlugin>& flows() { return Registry<FlowPlugin>::instance().entries(); }
const std::map<std::string, TargetPlugin>& targets() { return Registry<TargetPlugin>::instance().entries(); }

const Schema<OutputOptions>& output_schema() {
  static const auto schema =
      Schema<OutputOptions>("what is recorded")
          .key("metrics", &OutputOptions::metrics,
               {.doc = "steps between rows of metrics.csv; 0: none; auto: 200 rows over the horizon",
                .min = 0,
                .resume = Resume::free})
          .key("trajectory", &OutputOptions::trajectory,
               {.doc = "steps between frames; 0: none; auto: 20 frames, none where a frame is over 4 MB",
                .min = 0,
                .resume = Resume::free});
  return schema;
}

const Schema<CheckpointOptions>& checkpoint_schema() {
  static const auto schema =
      Schema<CheckpointOptions>("how much work a kill may cost")
          .key("every", &CheckpointOptions::every, {.doc = "interval between checkpoints", .resume = Resume::free})
          .key("keep", &CheckpointOptions::keep,
               {.doc = "how many are kept, the newest first", .min = 1, .max = 1e6, .resume = Resume::free})
          .main("every");
  return schema;
}

const Schema<RunConfig>& schema() {
  static const auto schema =
      Schema<RunConfig>("a run")
          .key("name", &RunConfig::name,
               {.doc = "of the run and its folder runs/NAME; auto: the config's file name", .resume = Resume::free})
          .key("seed", &RunConfig::seed, {.doc = "of all random numbers", .min = 0, .required = true, .example = "1"})
          .key("meta", &RunConfig::meta, {.doc = "anything you want to keep with the run", .resume = Resume::free})
          .choice(Form::typed, "flow", &RunConfig::flow, flows, {.doc = "what moves the particles", .required = true})
          .choice(Form::one_of, "target", &RunConfig::target, targets,
                  {.doc = "what they are moved towards", .required = true})
          .section("particles", &RunConfig::particles, particle_schema(), {})
          .section("kernel", &RunConfig::kernel, kernel_schema(), {})
          .section("step", &RunConfig::step, step_schema(), {})
          .section("compute", &RunConfig::compute, compute_schema(), {})
          .section("output", &RunConfig::output, output_schema(), {})
          .section("checkpoint", &RunConfig::checkpoint, checkpoint_schema(), {});
  return schema;
}

/// Calls visit(path, key, value) for every leaf of a resolved config. A choice's entries are sections: {NAME: {keys}}, or
/// {type: NAME, keys} whose keys stand beside `type`.
void for_each_key(const Json& section, const std::vector<KeyInfo>& keys, const std::string& path,
                  const std::function<void(const std::string&, const KeyInfo&, const Json&)>& visit) {
  if (!section.is_object()) return;
  for (const KeyInfo& key : keys) {
    if (!section.contains(key.name)) continue;
    const Json& value = section[key.name];
    const std::string inner = path.empty() ? key.name : path + "." + key.name;
    KeyInfo chosen;  // which entry was chosen counts even where it has no keys
    switch (key.kind) {
      case KeyInfo::Kind::value:
        visit(inner, key, value);
        break;
      case KeyInfo::Kind::section:
        for_each_key(value, key.children, inner, visit);
        break;
      case KeyInfo::Kind::typed:
        if (!value.is_object()) break;
        visit(inner + ".type", chosen, value["type"]);
        for (const KeyInfo& entry : key.children)
          if (value["type"] == entry.name) for_each_key(value, entry.children, inner, visit);
        break;
      case KeyInfo::Kind::one_of:
        if (!value.is_object()) break;
        visit(inner, chosen, Json(value.begin().key()));
        for_each_key(value, key.children, inner, visit);
        break;
    }
  }
}

bool is_path(const KeyInfo& key) { return key.type.starts_with("FILE"); }

/// Can `name` be a folder in runs/, and not one outside of it?
bool names_a_folder(const std::string& name) {
  const auto outside = [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; };
  return !name.empty() && name != "." && name != ".." && name.size() <= 200 &&
         std::none_of(name.begin(), name.end(), outside);
}

}  // namespace

Json RunConfig::resolved() const { return schema().write(*this); }

Json RunConfig::relocated(const std::filesystem::path& directory) const {
  Json json = resolved();
  const auto base = std::filesystem::absolute(directory).lexically_normal();
  for_each_key(resolved(), schema().keys(), "", [&](const std::string& path, const KeyInfo& key, const Json& value) {
    if (!is_path(key) || !value.is_string()) return;
    std::string pointer = "/" + path;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    json[Json::json_pointer(pointer)] =
        std::filesystem::absolute(value.get<std::string>()).lexically_normal().lexically_relative(base).string();
  });
  return json;
}

namespace {

Json keys_of_class(const RunConfig& config, Resume resume) {
  Json json = Json::object();
  for_each_key(config.resolved(), schema().keys(), "", [&](const std::string& path, const KeyInfo& key, const Json& value) {
    if (key.options.resume == resume && !is_path(key)) json[path] = value;
  });
  return json;
}

}  // namespace

Json RunConfig::fixed() const { return keys_of_class(*this, Resume::fixed); }
Json RunConfig::bits() const { return keys_of_class(*this, Resume::bits); }

std::vector<std::pair<std::string, DataRef>> RunConfig::missing_files() const {
  const TargetPlugin* plugin = Registry<TargetPlugin>::instance().find(target.name);
  const std::string short_key = "target." + target.name, main_key = short_key + "." + (plugin ? plugin->main_key : "");
  std::vector<std::pair<std::string, DataRef>> missing;
  std::error_code ignored;
  for_each_key(resolved(), schema().keys(), "", [&](const std::string& path, const KeyInfo& key, const Json& value) {
    if (!is_path(key) || !value.is_string() || !path.starts_with("target.")) return;
    const DataRef ref = parse_data_ref(value.get<std::string>(), {});
    if (!std::filesystem::exists(ref.file, ignored)) missing.emplace_back(path == main_key ? short_key : path, ref);
  });
  return missing;
}

namespace {

/// Keys that the config sets and that change nothing in a run of it.
void warn_of_idle_keys(const config::Node& root, const RunConfig& config, const SimulationOptions& resolved,
                       const FlowTraits& traits, config::Diagnostics& diagnostics) {
  const auto in_section = [&](const std::string& name, const auto& warn) {
    const config::Node* map = root.find(name);
    if (!map || map->kind != config::Node::Kind::map) return;
    const auto scope = diagnostics.within(name);
    warn(*map);
  };
  in_section("step",
             [&](const config::Node& map) { warn_of_other_steppers(config.step, *resolved.step.method, map, diagnostics); });
  in_section("kernel", [&](const config::Node& map) {
    if (!config.kernel.fixed_tau()) return;
    const std::string fixed = fmt::format("tau is fixed at {:.6g}, no rule chooses it", *config.kernel.fixed_tau());
    warn_if_idle(config.kernel, &KernelOptions::subsample, map, "subsample", fixed, diagnostics);
    SimulationOptions unset = resolved;
    unset.kernel.refresh.reset();
    Simulation::resolve(unset, traits);
    if (!traits.whiten && config.kernel.refresh != unset.kernel.refresh)  // whitening is refreshed too
      warn_if_idle(config.kernel, &KernelOptions::refresh, map, "refresh", fixed, diagnostics);
  });
  in_section("compute", [&](const config::Node& map) {
    const Reduction reduction = config.compute.reduction;
    const bool autograd = config.flow.resolved.value("gradient", "") == "autograd";  // by reweight
    if (reduction == Reduction::reweight || (reduction == Reduction::automatic && autograd)) return;
    warn_if_idle(config.compute, &ComputeOptions::kappa, map, "kappa",
                 fmt::format("it is for compute.reduction reweight, here it is {}{}", config::name_of(reduction),
                             reduction == Reduction::automatic ? ", which never chooses that" : ""),
                 diagnostics);
  });
}

}  // namespace

RunConfig read_config(config::Node root, const std::vector<Override>& overrides, std::vector<std::string>* warnings) {
  config::Diagnostics diagnostics;
  for (const Override& o : overrides)
    config::apply_override(root, o.assignment, std::filesystem::current_path(), diagnostics, o.flag);
  RunConfig config = schema().read(root, diagnostics);
  if (config.name && !names_a_folder(*config.name))
    diagnostics.error(root.at("name"),
                      fmt::format("name must be able to name a folder in runs/, got '{}'", config::printable(*config.name)),
                      "no slashes; -o DIR puts a run anywhere else");
  diagnostics.throw_if_any();
  config.horizon_given = config.step.horizon.has_value();
  SimulationOptions options = config.simulation();
  const FlowTraits traits = config.flow.make()->traits();
  Simulation::resolve(options, traits);
  if (warnings) {
    warn_of_idle_keys(root, config, options, traits, diagnostics);
    *warnings = diagnostics.warnings();
  }
  config.kernel = options.kernel;
  config.step = options.step;
  return config;
}

RunConfig load_config(const std::filesystem::path& file, const std::vector<Override>& overrides,
                      std::vector<std::string>* warnings) {
  RunConfig config = read_config(config::load_yaml(file), overrides, warnings);
  if (!config.name) config.name = file.stem().string();
  if (!names_a_folder(*config.name))
    throw ConfigError(fmt::format("{} has a name that no run can be called by: add 'name: …' to it", file.string()));
  return config;
}

std::vector<KeyInfo> config_keys() { return schema().keys(); }

std::vector<Difference> differences(const Json& before, const Json& now) {
  std::vector<Difference> result;
  const auto text = [](const Json& json, const std::string& key) {
    return json.contains(key) ? config::to_yaml_flow(json[key]) : std::string("-");
  };
  for (const auto& [key, value] : before.items())
    if (!now.contains(key) || now[key] != value) result.push_back({key, text(before, key), text(now, key)});
  for (const auto& [key, value] : now.items())
    if (!before.contains(key)) result.push_back({key, "-", text(now, key)});
  return result;
}

}  // namespace gaussflow::run
