#include "gaussflow/config/describe.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace gaussflow::config {

namespace {

struct Row {
  std::string name;  ///< dotted
  const KeyInfo* key;
};

void collect(const std::vector<KeyInfo>& keys, const std::string& prefix, std::vector<Row>& rows) {
  for (const KeyInfo& key : keys) {
    const std::string name = prefix + key.name;
    if (key.kind == KeyInfo::Kind::section)
      collect(key.children, name + ".", rows);
    else
      rows.push_back({name, &key});
  }
}

std::vector<Row> rows_of(const std::vector<KeyInfo>& keys) {
  std::vector<Row> rows;
  collect(keys, "", rows);
  return rows;
}

std::string default_of(const KeyInfo& key) { return key.options.required ? "required" : key.default_text; }

std::string meaning(const KeyInfo& key) {
  return key.options.unit.empty() ? key.options.doc : fmt::format("{} [{}]", key.options.doc, key.options.unit);
}

std::string resume_text(Resume resume) {
  switch (resume) {
    case Resume::fixed:
      return "fixed";
    case Resume::bits:
      return "bits";
    case Resume::free:
      return "free";
  }
  return "";
}

std::vector<std::string> wrapped(const std::string& text, int width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!lines.back().empty() && character_count(lines.back()) + 1 + character_count(word) > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    at = end + 1;
  }
  return lines;
}

std::string padded(const std::string& text, int width) {
  return text + std::string(static_cast<std::size_t>(std::max(0, width - character_count(text))), ' ');
}

/// A table cell: | ends a cell even in code.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string code(const std::string& text) { return text.empty() ? "" : fmt::format("`{}`", cell(text)); }

/// A table of keys, then one for each choice among plugins that has keys of its own.
void tables(const std::vector<KeyInfo>& keys, const std::string& path, std::string& out) {
  const std::vector<Row> rows = rows_of(keys);
  out += "| key | value | default | meaning | on resume |\n| --- | --- | --- | --- | --- |\n";
  for (const Row& row : rows) {
    const KeyInfo& key = *row.key;
    out += fmt::format("| {} | {} | {} | {} | {} |\n", code(row.name), cell(key.type),
                       key.options.required ? "required" : code(key.default_text), cell(meaning(key)),
                       resume_text(key.options.resume));
  }
  for (const Row& row : rows)
    for (const KeyInfo& choice : row.key->children) {
      if (choice.children.empty()) continue;
      const std::string name = fmt::format("{}{}.{}", path, row.name, choice.name);
      out += fmt::format("\n## {}\n\n{}\n\n", name, cell(choice.options.doc));
      tables(choice.children, name + ".", out);
    }
}

/// "…" is refused when it is read: only the person can know the value.
std::string example_of(const KeyInfo& key) {
  if (!key.options.example.empty()) return key.options.example;
  if (!key.options.required) return key.default_text;
  return key.choices.empty() ? "…" : key.choices.front();
}

void example(const std::vector<KeyInfo>& keys, const std::string& indent, std::string& out) {
  for (const KeyInfo& key : keys) {
    if (key.kind == KeyInfo::Kind::section) {
      for (const std::string& line : wrapped(meaning(key), 100)) out += fmt::format("{}# {}\n", indent, line);
      out += fmt::format("{}{}:{}\n", indent, key.name, key.children.empty() ? " {}" : "");
      example(key.children, indent + "  ", out);
      continue;
    }
    for (const std::string& line :
         wrapped(fmt::format("{}: {}{}", meaning(key), key.type, key.options.required ? ", required" : ""), 100))
      out += fmt::format("{}# {}\n", indent, line);
    out += fmt::format("{}{}: {}\n", indent, key.name, example_of(key));
  }
}

}  // namespace

std::string keys_text(const std::vector<KeyInfo>& keys, int width) {
  const std::vector<Row> rows = rows_of(keys);
  constexpr int widest = 32;  // a longer cell gets a line of its own
  std::array<int, 3> columns{};
  const auto cells = [](const Row& row) {
    return std::array<std::string, 3>{row.name, row.key->type, default_of(*row.key)};
  };
  for (const Row& row : rows)
    for (std::size_t i = 0; i < 3; ++i) {
      const int length = character_count(cells(row)[i]);
      if (length <= widest) columns[i] = std::max(columns[i], length);
    }
  const int before = 2 + columns[0] + 2 + columns[1] + 2 + columns[2] + 2;
  std::string out;
  for (const Row& row : rows) {
    std::string line = "  ";
    int start = 2;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string text = cells(row)[i];
      line += padded(text, columns[i]) + "  ";
      start += columns[i] + 2;
      if (character_count(text) > columns[i]) {
        out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = std::string(static_cast<std::size_t>(start), ' ');
      }
    }
    for (const std::string& part : wrapped(meaning(*row.key), std::max(30, width - before))) {
      line += part;
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = std::string(static_cast<std::size_t>(before), ' ');
    }
  }
  return out;
}

std::string keys_markdown(const std::vector<KeyInfo>& keys) {
  std::string out;
  tables(keys, "", out);
  return out;
}

std::string example_yaml(const std::vector<KeyInfo>& keys) {
  std::string out;
  example(keys, "", out);
  return out;
}

}  // namespace gaussflow::config
