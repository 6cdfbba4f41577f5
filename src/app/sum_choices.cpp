#include "app/sum_choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gaussflow::app {

namespace {

std::string list_of(const std::vector<std::string>& words) {
  std::vector<std::string> different;
  for (const std::string& word : words)
    if (std::find(different.begin(), different.end(), word) == different.end()) different.push_back(word);
  return fmt::format("{}", fmt::join(different, ", "));
}

}  // namespace

void SumChoices::add(const Choice& choice) {
  ++blocks_;
  for (Kind& kind : kinds_) {
    const Choice& known = kind.choice;
    if (known.reduction != choice.reduction || known.backend != choice.backend ||
        known.compute_dtype != choice.compute_dtype)
      continue;
    ++kind.blocks;
    kind.alike = kind.alike && known.reason == choice.reason;
    return;
  }
  kinds_.push_back({choice, 1});
}

std::vector<std::string> SumChoices::lines() const {
  std::vector<std::string> lines;
  for (const Kind& kind : kinds_) {
    const Choice& choice = kind.choice;
    lines.push_back(fmt::format("{} in {}{}{}: {}{}", name_of(choice.reduction), dtype_name(choice.compute_dtype),
                                choice.backend == AttentionBackend::automatic ? "" : " on " + name_of(choice.backend),
                                blocks_ == 1 ? "" : fmt::format(", {} of {} blocks", kind.blocks, blocks_), choice.reason,
                                kind.alike ? "" : " (the first of them)"));
  }
  return lines;
}

std::map<std::string, std::string> SumChoices::attributes() const {
  std::vector<std::string> methods, backends, dtypes, reasons;
  for (const Kind& kind : kinds_) {
    const Choice& choice = kind.choice;
    methods.push_back(name_of(choice.reduction));
    if (choice.backend != AttentionBackend::automatic) backends.push_back(name_of(choice.backend));
    dtypes.push_back(dtype_name(choice.compute_dtype));
    reasons.push_back(choice.reason);
  }
  std::map<std::string, std::string> result{{"method", list_of(methods)}, {"dtype", list_of(dtypes)}};
  result["reason"] = kinds_.size() == 1 ? reasons.front() : fmt::format("{}", fmt::join(lines(), "; "));
  if (!backends.empty()) result["backend"] = list_of(backends);
  return result;
}

}  // namespace gaussflow::app
