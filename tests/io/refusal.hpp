#pragma once
/// What read_samples says when it refuses.

#include "gaussflow/io/sample_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <initializer_list>
#include <string>

namespace support {

bool holds(const std::string& text, const std::string& part);

/// The refusal of FILE:dataset.
std::string refusal(const std::filesystem::path& file, const std::string& dataset,
                    const gaussflow::io::SampleOptions& options = {});

}  // namespace support

/// FILE:dataset is refused with a message that names the file and each of the words.
#define CHECK_REFUSED(file, dataset, ...)                                    \
  do {                                                                       \
    const std::string said = support::refusal(file, dataset);                \
    INFO(said);                                                              \
    CHECK(support::holds(said, (file).filename().string()));                 \
    for (const char* word : std::initializer_list<const char*>{__VA_ARGS__}) \
      CHECK_MESSAGE(support::holds(said, word), word);                       \
  } while (false)
