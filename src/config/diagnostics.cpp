#include "gaussflow/config/node.hpp"
#include "gaussflow/core/error.hpp"

#include "text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

namespace gaussflow::config {

namespace {

constexpr std::size_t shown_at_most = 20;
constexpr std::size_t message_limit = 1000;

std::string located(const Mark& where, const std::string& message) {
  const std::string place = place_text(where);
  return (place.empty() ? "" : place + ": ") + printable(message, message_limit);  // it quotes what others wrote
}

}  // namespace

void Diagnostics::error(const Mark& where, const std::string& message, const std::string& hint) {
  ++count_;
  if (full()) return;
  const bool flag = where.source && where.source->flag;
  problems_.push_back(
      {flag, where.line, where.column, located(where, message) + excerpt(where, printable(hint, message_limit))});
}

void Diagnostics::warning(const Mark& where, const std::string& message) {
  warnings_.push_back(located(where, message) + excerpt(where, ""));
}

std::vector<std::string> Diagnostics::errors() const {
  std::vector<const Problem*> order;
  for (const Problem& problem : problems_) order.push_back(&problem);
  std::stable_sort(order.begin(), order.end(), [](const Problem* a, const Problem* b) {
    return a->flag != b->flag ? !a->flag : !a->flag && std::tie(a->line, a->column) < std::tie(b->line, b->column);
  });
  std::vector<std::string> texts;
  for (const Problem* problem : order) texts.push_back(problem->text);
  return texts;
}

void Diagnostics::throw_if_any() const {
  if (ok()) return;
  const std::vector<std::string> all = errors();
  const std::size_t shown = std::min(shown_at_most, all.size());
  std::string message = fmt::format("{}", fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), "\n"));
  if (count_ > shown) message += fmt::format("\n… and {} more", count_ - shown);
  throw ConfigError(message);
}

Diagnostics::Scope Diagnostics::within(const std::string& name, const std::string& note) {
  levels_.push_back({name, note});
  return Scope(*this);
}

Diagnostics::Scope Diagnostics::within(std::size_t index) { return within(fmt::format("[{}]", index)); }

std::string Diagnostics::path(std::string_view key) const {
  std::string result;
  const auto append = [&](std::string_view name) {
    if (name.empty()) return;
    if (!result.empty() && name.front() != '[') result += '.';
    result += name;
  };
  for (const Level& level : levels_) append(level.name);
  append(key);
  return result.empty() ? "the config" : result;
}

std::string Diagnostics::in_section() const {
  if (levels_.empty()) return "";
  const std::string note = levels_.back().note;
  return " in " + path() + (note.empty() ? "" : fmt::format(" ({})", note));
}

}  // namespace gaussflow::config
