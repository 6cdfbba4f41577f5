#include "gaussflow/config/describe.hpp"

#include <algorithm>
#include <utility>

namespace gaussflow::config {

namespace {

enum class Required { enforce, ignore };

Json value_schema(const KeyInfo& key);

std::string description(const KeyInfo& key) {
  return key.options.unit.empty() ? key.options.doc : key.options.doc + " [" + key.options.unit + "]";
}

Json object_schema(const std::vector<KeyInfo>& keys, Required required) {
  Json schema = {{"type", "object"}, {"properties", Json::object()}};
  Json names = Json::array();
  for (const KeyInfo& key : keys) {
    Json property = value_schema(key);
    if (!key.options.doc.empty()) property["description"] = description(key);
    if (!key.default_value.is_null()) property["default"] = key.default_value;
    schema["properties"][key.name] = std::move(property);
    if (key.options.required) names.push_back(key.name);
  }
  if (required == Required::enforce && !names.empty()) schema["required"] = std::move(names);
  schema["additionalProperties"] = false;
  return schema;
}

/// A map of keys, or the bare value of its main key, or nothing.
Json section_schema(const std::vector<KeyInfo>& keys, const std::string& main_key, Required required) {
  Json object = object_schema(keys, required);
  const bool needed = std::any_of(keys.begin(), keys.end(), [](const KeyInfo& key) { return key.options.required; });
  Json forms = Json::array({std::move(object)});
  for (const KeyInfo& key : keys)
    if (key.name == main_key) forms.push_back(value_schema(key));
  if (!needed || required == Required::ignore) forms.push_back({{"type", "null"}});
  return {{"anyOf", std::move(forms)}};
}

/// {NAME: …, further keys of NAME}: what NAME requires may stand inside or beside it, so neither place insists.
Json one_of_schema(const KeyInfo& entry) {
  Json schema = object_schema(entry.children, Required::ignore);
  schema["properties"][entry.name] = section_schema(entry.children, entry.main_key, Required::ignore);
  schema["required"] = Json::array({entry.name});
  return schema;
}

/// {type: NAME, keys of NAME}
Json typed_schema(const KeyInfo& entry) {
  Json schema = object_schema(entry.children, Required::enforce);
  schema["properties"]["type"] = {{"const", entry.name}};
  Json required = Json::array({"type"});
  if (schema.contains("required"))
    for (Json& name : schema["required"]) required.push_back(name);
  schema["required"] = std::move(required);
  return schema;
}

Json value_schema(const KeyInfo& key) {
  switch (key.kind) {
    case KeyInfo::Kind::value:
      return key.json_schema;
    case KeyInfo::Kind::section:
      return section_schema(key.children, key.main_key, Required::enforce);
    case KeyInfo::Kind::one_of:
    case KeyInfo::Kind::typed:
      break;
  }
  Json forms = Json::array({{{"enum", key.choices}}});
  for (const KeyInfo& entry : key.children) {
    Json form = key.kind == KeyInfo::Kind::one_of ? one_of_schema(entry) : typed_schema(entry);
    form["description"] = entry.options.doc;
    forms.push_back(std::move(form));
  }
  Json schema = {{"anyOf", std::move(forms)}};
  return key.options.required ? schema : json_or_auto(std::move(schema));
}

}  // namespace

Json json_schema(const std::vector<KeyInfo>& keys, const std::string& title) {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  schema.update(object_schema(keys, Required::enforce));
  return schema;
}

}  // namespace gaussflow::config
