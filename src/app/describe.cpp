#include "gaussflow/config/describe.hpp"

#include "gaussflow/core/say.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/flow/flow.hpp"
#include "gaussflow/target/target.hpp"

#include "app/verbs.hpp"
#include "run/config.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace gaussflow::app {

namespace {

struct DescribeArguments {
  std::string name;
  bool example = false;
  bool schema = false;
  bool markdown = false;
};

/// A key with the path that names it: in a config, and below flow also with the flow's name (flow.mmd.noise).
struct Place {
  std::string path;
  std::string full_path;
  config::KeyInfo key;

  bool has_name(const std::string& name) const { return name == key.name || name == path || name == full_path; }
  bool has_keys() const { return key.kind != config::KeyInfo::Kind::value; }
};

void collect(const std::vector<config::KeyInfo>& keys, const Place& parent, std::vector<Place>& places) {
  const auto below = [](const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
  };
  for (const config::KeyInfo& key : keys) {
    Place place{below(parent.path, key.name), below(parent.full_path, key.name), key};
    places.push_back(place);
    if (parent.key.kind == config::KeyInfo::Kind::typed)
      place.path = parent.path;  // keys of {type: mmd, …} stand beside type
    collect(key.children, place, places);
  }
}

void print(const std::vector<Place>& places) {
  std::vector<config::KeyInfo> single;
  for (const Place& place : places) {
    if (place.has_keys()) {
      fmt::print("{}: {}\n{}\n", place.full_path, place.key.options.doc, config::keys_text(place.key.children));
    } else {
      single.push_back(place.key);
      single.back().name = place.full_path;
    }
  }
  fmt::print("{}", config::keys_text(single));
}

/// Sections and entries of that name, else single keys.
std::vector<Place> find(const std::string& name, const std::vector<config::KeyInfo>& sections) {
  std::vector<Place> places, found;
  collect(sections, {}, places);
  for (const bool with_keys : {true, false}) {
    for (const Place& place : places)
      if (place.has_keys() == with_keys && place.has_name(name)) found.push_back(place);
    if (!found.empty()) return found;
  }
  std::vector<std::string> known;
  for (const Place& place : places) known.insert(known.end(), {place.key.name, place.path, place.full_path});
  throw UsageError(fmt::format("describe: nothing is called '{}'{}. gaussflow describe lists sections, flows and targets",
                               name, suggestion(name, known)));
}

void overview(const std::vector<config::KeyInfo>& sections) {
  for (const config::KeyInfo& section : sections) {
    fmt::print("{:<12} {}\n", section.name, section.options.doc);
    if (!section.choices.empty())
      for (const config::KeyInfo& entry : section.children) fmt::print("  {:<16} {}\n", entry.name, entry.options.doc);
  }
  fmt::print(
      "\ngaussflow describe NAME shows the keys of a section, flow, target or start, or a single key; --example a config "
      "that runs\n");
}

ExitCode describe(const DescribeArguments& arguments) {
  const std::vector<config::KeyInfo> sections = run::config_keys();
  if (arguments.schema) {
    fmt::print("{}\n", config::json_schema(sections, "gaussflow config").dump(2));
  } else if (arguments.markdown) {
    fmt::print(
        "# Configuration\n\nMade by `gaussflow describe --markdown`; a test compares. *resume*: may the key change within a "
        "run?\n\n{}",
        config::keys_markdown(sections));
  } else if (arguments.name.empty()) {
    if (arguments.example)
      fmt::print("{}", run::example_config(""));
    else
      overview(sections);
  } else {
    const std::vector<Place> found = find(arguments.name, sections);
    if (arguments.example) {
      fmt::print("{}", run::example_config(found.front().full_path));
      for (std::size_t i = 1; i < found.size(); ++i)
        say("note: there is also {0}: gaussflow describe {0} --example\n", found[i].full_path);
    } else {
      print(found);
    }
  }
  return ExitCode::ok;
}

}  // namespace

Action add_describe(CLI::App& verb) {
  const auto arguments = std::make_shared<DescribeArguments>();
  verb.add_option("name", arguments->name, "section, flow, target, start or key; left out: an overview")->type_name("NAME");
  verb.add_flag("--example", arguments->example, "a commented config that runs, with NAME written out");
  verb.add_flag("--schema", arguments->schema, "JSON Schema of a config, for editors");
  verb.add_flag("--markdown", arguments->markdown, "all keys as docs/configuration.md");
  return [arguments] { return describe(*arguments); };
}

}  // namespace gaussflow::app
