#pragma once
/// How the blocks of a sum were evaluated, alike ones told together.

#include "gaussflow/kernel/options.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gaussflow::app {

class SumChoices {
 public:
  /// One more block.
  void add(const Choice& choice);

  /// One line a kind: "direct in fp32: the fused kernel takes this type and range"; of several blocks with their number.
  std::vector<std::string> lines() const;
  /// What the output says of itself: `method`, `backend` of attention, `dtype` inside, `reason`.
  std::map<std::string, std::string> attributes() const;

 private:
  struct Kind {
    Choice choice;  ///< of the first such block
    std::int64_t blocks = 0;
    bool alike = true;  ///< one reason for all of them
  };
  std::vector<Kind> kinds_;
  std::int64_t blocks_ = 0;
};

}  // namespace gaussflow::app
