#pragma once
/// The word of an enumerator in its table of names.

#include <string>
#include <utility>
#include <vector>

namespace gaussflow {

template <class Enum>
std::string name_in(const std::vector<std::pair<std::string, Enum>>& names, Enum value) {
  for (const auto& [name, known] : names)
    if (known == value) return name;
  return "?";
}

}  // namespace gaussflow
