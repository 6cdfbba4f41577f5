#pragma once
/// Open sets: flows and targets register themselves, one file each.

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

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

  const std::map<std::string, Entry>& all() const { return entries_; }

 private:
  std::map<std::string, Entry> entries_;
};

}  // namespace gaussflow
