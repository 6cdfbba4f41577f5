/// `describe --example`: a config to start from, made of the declarations.

#include "gaussflow/config/describe.hpp"
#include "gaussflow/flow/flow.hpp"

#include "run/config.hpp"

#include <algorithm>

namespace gaussflow::run {

namespace {

using config::KeyInfo;

/// What a flow is shown with, and the other way round.
constexpr const char* some_samples = "samples";
constexpr const char* some_density = "banana";

std::string target_for(const std::string& flow) {
  config::Diagnostics none;
  const FlowTraits traits = Registry<FlowPlugin>::instance().find(flow)->read({}, none).make()->traits();
  return traits.needs_samples ? some_samples : some_density;
}

std::string flow_for(const std::string& target) { return target == some_samples ? "mmd" : "svgd"; }

/// One line: the key and a bare value.
KeyInfo line(const KeyInfo& section, const std::string& value) {
  KeyInfo key;
  key.name = section.name;
  key.type = "see gaussflow describe " + section.name;
  key.options.doc = section.options.doc;
  key.options.example = value;
  return key;
}

KeyInfo section_of(const KeyInfo& choice, std::vector<KeyInfo> children) {
  KeyInfo section;
  section.kind = KeyInfo::Kind::section;
  section.name = choice.name;
  section.options.doc = choice.options.doc;
  section.children = std::move(children);
  return section;
}

/// The entry `name` of an open set with all its keys.
KeyInfo spelt(const KeyInfo& choice, const std::string& name) {
  const auto entry =
      std::find_if(choice.children.begin(), choice.children.end(), [&](const KeyInfo& child) { return child.name == name; });
  if (choice.kind == KeyInfo::Kind::one_of) return section_of(choice, {*entry});
  KeyInfo type;
  type.name = "type";
  type.type = choice.type;
  type.options = {.doc = entry->options.doc, .example = name};
  std::vector<KeyInfo> keys{type};
  keys.insert(keys.end(), entry->children.begin(), entry->children.end());
  return section_of(choice, std::move(keys));
}

}  // namespace

std::string example_config(const std::string& path) {
  const auto last_of = [&](const std::string& section) {  // "banana" of target.banana
    return path.starts_with(section + ".")
               ? path.substr(section.size() + 1, path.find('.', section.size() + 1) - section.size() - 1)
               : std::string();
  };
  std::string flow = last_of("flow"), target = last_of("target"), start = last_of("particles.init");
  const bool flow_spelt = path.empty() || path.starts_with("flow"),
             target_spelt = path.empty() || path.starts_with("target");
  if (flow.empty() && start == some_samples) target = some_samples;
  if (flow.empty()) flow = flow_for(target.empty() ? some_density : target);
  if (target.empty()) target = target_for(flow);
  std::vector<KeyInfo> keys;
  for (KeyInfo& section : config_keys()) {
    const bool whole = path.empty() || path == section.name || path.starts_with(section.name + ".");
    if (section.name == "flow")
      keys.push_back(flow_spelt ? spelt(section, flow) : line(section, flow));
    else if (section.name == "target")
      keys.push_back(target_spelt || target == some_samples ? spelt(section, target) : line(section, target));
    else if (section.name == "particles" && !start.empty()) {
      for (KeyInfo& key : section.children)
        if (key.name == "init") key = spelt(key, start);
      keys.push_back(std::move(section));
    } else if (whole || section.options.required) {
      keys.push_back(std::move(section));
    } else if (section.name == "particles") {
      keys.push_back(line(section, "200"));
    } else if (section.name == "step") {
      keys.push_back(line(section, "1000"));
    }
  }
  return config::example_yaml(keys);
}

}  // namespace gaussflow::run
