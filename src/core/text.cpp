#include "gaussflow/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>

namespace gaussflow {

namespace {

/// Damerau-Levenshtein distance with adjacent transpositions, the usual typing errors at cost 1.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string closest(std::string_view word, const std::vector<std::string>& words) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, std::min<std::size_t>(3, word.size() / 2)) + 1;
  if (word.size() > 64) return best;
  if (word.size() < 2) {  // any letter is one typing error away from any other: only its case
    const auto lower = [](const std::string_view w) {
      return w.empty() ? 0 : std::tolower(static_cast<unsigned char>(w[0]));
    };
    for (const std::string& candidate : words)
      if (candidate.size() == 1 && word.size() == 1 && lower(candidate) == lower(word)) best = candidate;
    return best;
  }
  for (const std::string& candidate : words) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& words) {
  const std::string best = closest(word, words);
  return best.empty() ? "" : fmt::format(" (did you mean '{}'?)", best);
}

std::string file_suggestion(const std::filesystem::path& missing) {
  const std::filesystem::path folder = missing.has_parent_path() ? missing.parent_path() : std::filesystem::path(".");
  std::error_code ignored;
  std::vector<std::string> names;
  for (auto entry = std::filesystem::directory_iterator(folder, ignored);
       !ignored && entry != std::filesystem::directory_iterator() && names.size() < 1000; entry.increment(ignored))
    names.push_back(entry->path().filename().string());
  const std::string best = closest(missing.filename().string(), names);
  return best.empty() ? "" : fmt::format(" (did you mean '{}'?)", (missing.parent_path() / best).string());
}

std::string shell_quoted(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return c >= 0x80 || std::isalnum(c) != 0 ||
           std::string_view("_@%+=:,./-").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word.front() == '-' ? "./" + word : word;
  std::string quoted = word.starts_with('-') ? "'./" : "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string either(const std::vector<std::string>& words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) result += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return result;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";  // the sign of one means nothing
  std::string text = fmt::format("{}", value);
  if (text.size() > 2 && text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 5> units{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1000 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, units[unit]);
}

std::string duration_text(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace gaussflow
