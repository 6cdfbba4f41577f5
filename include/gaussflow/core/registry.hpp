#pragma once
/// Open sets: flows and targets register themselves, one file each.

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gaussflow {

/// Entries by name. One instance per entry type; filled before main by namespace-scope initialisers.
template <class Entry>
class Registry {
 public:
  static Registry& instance() {
    static Registry registry;
    return registry;
  }

  /// Returns true so that a registration can initialise a constant. A name taken twice aborts the start.
  bool add(const std::string& name, Entry entry) {
    return entries_.emplace(name, std::move(entry)).second ? true : throw std::logic_error("registered twice: " + name);
  }

  /// nullptr when there is no such entry.
  const Entry* find(const std::string& name) const {
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : &it->second;
  }

  const std::map<std::string, Entry>& entries() const { return entries_; }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, entry] : entries_) result.push_back(name);
    return result;
  }

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace gaussflow
