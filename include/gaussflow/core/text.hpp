#pragma once
/// Words for messages: suggestions and lists.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gaussflow {

/// The word of `words` closest to `word` in edit distance, or empty when none is close enough to be a typing error.
std::string closest(std::string_view word, const std::vector<std::string>& words);

/// " (did you mean 'bandwidth'?)", or empty.
std::string suggestion(std::string_view word, const std::vector<std::string>& words);

/// " (did you mean 'configs/quickstart.yaml'?)" of a file or folder that is not there, from its neighbours; or empty.
std::string file_suggestion(const std::filesystem::path& missing);

/// A word of a command line as a shell reads it back: quoted where it must be, and never taken for an option.
std::string shell_quoted(const std::string& word);

/// Bytes of the valid UTF-8 character at `at`; 0 when there is none (overlong forms and surrogates included).
std::size_t utf8_length(std::string_view text, std::size_t at);

/// A text from outside as a message may show it: control and invisible characters escaped, cut after `limit` characters.
std::string printable(std::string_view text, std::size_t limit = 80);

/// The same of a whole message, which keeps its line breaks and tabs: a command in it may be pasted.
std::string printable_lines(std::string_view text);

/// "1 particle", "20 particles".
std::string counted(std::int64_t count, std::string_view noun);

/// "a, b or c".
std::string either(const std::vector<std::string>& words);

/// Shortest text that reads back as the same double (nan without a sign), always with a point or exponent-free integer form ("0.1", "1e-30", "2").
std::string number_text(double value);

/// "1.06 GB", "412 B".
std::string bytes_text(double bytes);

/// "0.4 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace gaussflow
