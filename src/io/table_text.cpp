#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include "io/numbers.hpp"
#include "io/table_reader.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

namespace gaussflow::io {

namespace {

struct Field {
  std::string_view text;
  std::size_t column = 0;  ///< where it begins in the line, from 1
  bool quoted = false;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// ' ' stands for any run of blanks.
char separator_of(std::string_view line) {
  for (const char separator : {';', ',', '\t'})
    if (line.find(separator) != std::string_view::npos) return separator;
  return ' ';
}

Field field_at(std::string_view line, std::size_t begin, std::size_t end) {
  const std::string_view text = trimmed(line.substr(begin, end - begin));
  Field field{text, text.empty() ? begin + 1 : static_cast<std::size_t>(text.data() - line.data()) + 1, false};
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    field.text = text.substr(1, text.size() - 2);
    field.quoted = true;
  }
  return field;
}

std::vector<Field> split(std::string_view line, char separator) {
  std::vector<Field> fields;
  if (separator == ' ') {
    for (std::size_t begin = line.find_first_not_of(" \t"); begin != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
      fields.push_back(field_at(line, begin, end));
      begin = line.find_first_not_of(" \t", end);
    }
    return fields;
  }
  std::size_t begin = 0;
  bool in_quotes = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') in_quotes = !in_quotes;
    if (i < line.size() && (line[i] != separator || in_quotes)) continue;
    fields.push_back(field_at(line, begin, i));
    begin = i + 1;
  }
  return fields;
}

/// A finite number in C notation, whatever the locale.
std::optional<double> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Whether a field of the first row is meant as a number, if a broken one ("1,5", "nan", "NA"), and not as a column's name.
bool meant_as_number(const Field& field) {
  std::string word;
  for (const char c : field.text) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word.starts_with('+') || word.starts_with('-')) word.erase(0, 1);
  for (const char* missing : {"nan", "na", "inf", "infinity", "null", "none"})
    if (word == missing) return true;
  if (word.starts_with('.')) word.erase(0, 1);
  return !field.quoted && !word.empty() && std::isdigit(static_cast<unsigned char>(word.front()));
}

class TextTable {
 public:
  TextTable(std::string_view text, std::string where) : where_(std::move(where)) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      ++line_;
      add(text.substr(begin, end - begin));
      begin = end + 1;
    }
    if (values_.empty()) throw InputError(fmt::format("{} holds no row of numbers", where_));
  }

  /// [rows, columns]
  Tensor values() const {
    return tensor_from(values_, static_cast<std::int64_t>(values_.size() / columns_), static_cast<std::int64_t>(columns_));
  }
  const std::vector<std::string>& names() const { return names_; }
  /// Whether the first row is 0, 1, 2 … over fractions: what pandas writes for columns without names.
  bool numbered() const {
    if (!names_.empty() || columns_ < 2) return false;
    for (std::size_t i = 0; i < columns_; ++i)
      if (values_[i] != static_cast<double>(i)) return false;
    return std::any_of(values_.begin(), values_.end(), [](double x) { return x != std::trunc(x); });
  }

 private:
  void add(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#') return;
    if (columns_ == 0) separator_ = separator_of(content);
    const std::vector<Field> fields = split(line, separator_);
    if (columns_ == 0) {
      columns_ = fields.size();
      first_line_ = line_;
      if (std::none_of(fields.begin(), fields.end(), meant_as_number)) {
        add_names(fields);
        return;
      }
    }
    if (fields.size() != columns_)
      throw InputError(
          fmt::format("{}:{}: {} fields, {} are needed as in line {}", where_, line_, fields.size(), columns_, first_line_));
    for (const Field& field : fields) values_.push_back(value(field));
  }

  void add_names(const std::vector<Field>& fields) {
    for (const Field& field : fields) {
      if (field.text.empty())
        throw InputError(
            fmt::format("{}:{}:{}: a column without a name, perhaps a row index; write the table without it (pandas: "
                        "index=False, R: row.names=FALSE)",
                        where_, line_, field.column));
      names_.emplace_back(field.text);
    }
  }

  double value(const Field& field) const {
    const auto found = number(field.text);
    if (found && !field.quoted) return *found;
    const bool comma = separator_ != ',' && field.text.find(',') != std::string_view::npos;
    throw InputError(fmt::format("{}:{}:{}: '{}' is not a finite number{}", where_, line_, field.column,
                                 field.text.substr(0, 40),
                                 comma          ? "; write decimal points, not commas"
                                 : field.quoted ? "; quotes make it text"
                                                : ""));
  }

  std::string where_;
  char separator_ = ' ';
  std::size_t columns_ = 0;
  std::int64_t line_ = 0, first_line_ = 0;
  std::vector<std::string> names_;
  std::vector<double> values_;
};

/// The first name that comes again; empty: none does.
std::string first_repeated(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin() + static_cast<std::ptrdiff_t>(i) + 1, names.end(), names[i]) != names.end()) return names[i];
  return "";
}

}  // namespace

SampleFile parse_text_table(std::string_view text, const std::string& where, const SampleOptions& options) {
  const TextTable table(text, where);
  SampleFile result;
  const Tensor values = table.values();
  std::vector<std::int64_t> kept;
  std::vector<std::string> left_out;
  std::int64_t weights = -1;
  for (std::int64_t column = 0; column < values.size(1); ++column) {
    const std::string name = table.names().empty() ? "" : table.names()[static_cast<std::size_t>(column)];
    if (!options.weights.empty() && name == options.weights) {
      if (weights >= 0)
        throw InputError(fmt::format(
            "{} has several columns '{}': which of them holds the weights? Give them names of their own", where, name));
      weights = column;
    } else if (name.ends_with("__")) {
      left_out.push_back(name);
    } else {
      kept.push_back(column);
      if (!name.empty()) result.names.push_back(name);
    }
  }
  if (!options.weights.empty() && weights < 0)
    throw InputError(fmt::format("{} has no column '{}' for the weights{}", where, options.weights,
                                 suggestion(options.weights, table.names())));
  if (const std::string twice = first_repeated(result.names); !twice.empty())
    result.notes.push_back(fmt::format("{}: several columns are called '{}'", where, twice));
  if (table.numbered())
    result.notes.push_back(
        fmt::format("{}: the first row counts 0, 1, 2 …; if these are column numbers, write the table without "
                    "them (pandas: header=False)",
                    where));
  if (kept.empty()) throw InputError(fmt::format("{} has no column of coordinates", where));
  if (!left_out.empty())
    result.notes.push_back(fmt::format("{}: left out {}, the sampler's own columns", where, fmt::join(left_out, ", ")));
  const Tensor samples = values.index_select(1, at::tensor(kept, at::kLong));
  result.samples = as_matrix(samples, options.transpose, where, result.notes);
  if (options.transpose) result.names.clear();
  check_samples(result.samples, where, result.notes);
  if (weights >= 0) {
    result.weights = values.select(1, weights).contiguous();
    check_weights(result.weights, where);
  }
  return result;
}

}  // namespace gaussflow::io
