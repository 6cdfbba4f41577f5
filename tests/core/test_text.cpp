#include "gaussflow/core/text.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

using namespace gaussflow;

namespace {

/// What a shell makes of the word.
std::string through_shell(const std::string& quoted) {
  FILE* const out = popen(("printf '%s|' " + quoted).c_str(), "r");
  REQUIRE(out != nullptr);
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text += static_cast<char>(c);
  CHECK(pclose(out) == 0);
  return text;
}

}  // namespace

TEST_CASE("a shell reads a quoted word back as it was") {
  for (const std::string word : {"runs/a", "my runs/a b", "it's", "a\"b", "$HOME", "`id`", "a\\b", "a\nb", "*", "~/a", "a;b",
                                 "a&b", "", "#a", "\xc3\xa9t\xc3\xa9", "a=b", "!x", "(a)", "a|b"})
    CHECK(through_shell(shell_quoted(word)) == word + "|");
}

TEST_CASE("a word that needs no quotes stays plain, and a leading dash makes no option of it") {
  CHECK(shell_quoted("runs/ring-mmd") == "runs/ring-mmd");
  CHECK(shell_quoted("target.samples=NEW:/x") == "target.samples=NEW:/x");
  CHECK(shell_quoted("-o") == "./-o");
  CHECK(shell_quoted("-a b") == "'./-a b'");
}

TEST_CASE("a single letter is suggested for its other case only") {
  CHECK(closest("y", {"x", "w", "label"}) == "");
  CHECK(closest("y", {"x", "Y"}) == "Y");
  CHECK(closest("", {"x"}) == "");
  CHECK(closest("tua", {"tau"}) == "tau");
}

TEST_CASE("a missing file is suggested from its neighbours, with its folder") {
  char name[] = "/tmp/gaussflow-text-XXXXXX";
  REQUIRE(mkdtemp(name) != nullptr);
  const std::filesystem::path folder = name;
  std::ofstream(folder / "quickstart.yaml").put(' ');
  CHECK(file_suggestion(folder / "quickstrat.yaml") == " (did you mean '" + (folder / "quickstart.yaml").string() + "'?)");
  CHECK(file_suggestion(folder / "other.yaml") == "");
  CHECK(file_suggestion(folder / "nowhere/quickstart.yaml") == "");
  std::filesystem::remove_all(folder);
}

TEST_CASE("one is not many, nan has no sign, and no control character is shown") {
  CHECK(counted(1, "particle") == "1 particle");
  CHECK(counted(0, "step") == "0 steps");
  CHECK(counted(20, "row") == "20 rows");
  CHECK(number_text(-std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(number_text(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(printable_lines("a\x1b[31m\nb\t\r\xff \xc3\xa9") == "a\\x1b[31m\nb\t\\x0d\\xff \xc3\xa9");
}
