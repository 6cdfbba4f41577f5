#include "gaussflow/config/node.hpp"
#include "gaussflow/core/error.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

using namespace gaussflow::config;

namespace {

/// The message that refuses a text, or empty when it is accepted.
std::string refusal(const std::string& text) {
  try {
    parse_yaml(text, "a.yaml", "");
    return "";
  } catch (const gaussflow::ConfigError& error) {
    return error.what();
  }
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string repeated(const std::string& part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

std::string join(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

/// Processor time: other programs on the machine do not count.
double seconds_to_refuse(const std::string& text) {
  const std::clock_t start = std::clock();
  CHECK(refusal(text) != "");
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("a node keeps what was written and where") {
  const Node root = parse_yaml("# é\ntau: 1e-3\nwords: [no, 'no', \"é\", x]\nm:\n  k: ~\n", "a.yaml", "dir");
  CHECK(root.kind == Node::Kind::map);
  CHECK(root.entries.size() == 3);
  CHECK(root.find("tau")->text == "1e-3");
  CHECK(root.find("tau")->mark.line == 2);
  CHECK(root.find("tau")->mark.column == 6);
  CHECK(root.find("tau")->mark.length == 4);
  CHECK(root.find("tau")->mark.source->directory == "dir");
  CHECK(root.entry("words")->mark.line == 3);
  const auto& words = root.find("words")->items;
  CHECK(words.size() == 4);
  CHECK(!words[0].quoted);
  CHECK(words[1].quoted);
  CHECK(words[1].mark.length == 4);
  CHECK(words[2].text == "é");
  CHECK(words[3].mark.column == 24);  // in characters: é is one
  CHECK(root.find("m")->find("k")->is_null());
  CHECK(root.at("absent").line == root.mark.line);
}

TEST_CASE("the order of keys is the order written") {
  std::string keys;
  for (const auto& entry : parse_yaml("b: 1\na: 2\nc: 3\n", "a.yaml", "").entries) keys += entry.key;
  CHECK(keys == "bac");
}

TEST_CASE("a duplicate key names both lines") {
  CHECK(refusal("tau: 1\nsigma: 2\ntau: 3\n") ==
        "a.yaml:3:1: key 'tau' is given twice, first in line 1\n"
        "    3 | tau: 3\n"
        "      | ^~~ keep one of them");
  CHECK(mentions(refusal("a: {b: 1, b: 2}"), "a.yaml:1:11: key 'b' is given twice, first in line 1"));
  CHECK(mentions(refusal("\"a\": 1\n'a': 2"), "a.yaml:2:1: key 'a' is given twice, first in line 1"));
}

TEST_CASE("every fault of the notation is told in one pass") {
  const std::string message = refusal("a: 1\na: 2\nb: !!int 3\nb: 4\n<<: {x: 1}\n");
  for (const char* part : {"a.yaml:2:1: key 'a'", "a.yaml:3:4: tag !!int", "a.yaml:4:1: key 'b'", "a.yaml:5:1: merge keys"})
    CHECK(mentions(message, part));
}

TEST_CASE("what yaml-cpp would drop or bend is refused with its place") {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const auto& [text, message] : {
           Row{"a: 1\n---\nb: 2\n", "a.yaml:2:1: a second document"},
           Row{"a: 1\n...\nb: 2\n", "a.yaml:3:1: the text before this line is complete"},
           Row{"a: 1\n%seed: 1\n", "a.yaml:2:1: a line that starts with %"},
           Row{"%TAG ! x\n---\na: 1\n", "a.yaml:1:1: a line that starts with %"},
           Row{"a: 1\nkernel\nb: 2\n", "a.yaml:3:2: a ':' where no key can stand"},
           Row{"a: 1\ntau:1\n", "a.yaml:2:1: 'tau:1' has no ': ' behind it"},
           Row{"tau:1\n", "a.yaml:1:1: a config is a map of keys, got 'tau:1'"},
           Row{"? a\n: 1\n? b\n", "has no ': ' behind it"},
           Row{"a: 'b\nseed: 1\n", "a.yaml:1:4: a quote that is never closed"},
           Row{"a: 'b''\nseed: 1\n", "a.yaml:1:4: a quote that is never closed"},
           Row{"a: \"b\\\"\nseed: 1\n", "a.yaml:1:4: a quote that is never closed"},
           Row{"a: &x 'b\nseed: 1\n", "a quote that is never closed"},
           Row{"a: |#text\n  b\n", "a.yaml:1:4: a text right behind | or >"},
           Row{"&seed: 1\n", "'&seed:' is no anchor"},
           Row{"a: &x 1\nb: &x 2\n", "a.yaml:2:4: anchor '&x' is set twice"},
           Row{"a: !!str 1\n", "a.yaml:1:4: tag !!str"},
           Row{"a: !mine {b: 1}\n", "a.yaml:1:4: tag !mine"},
           Row{"a: ! 1\n", "tag !"},
           Row{"a: ! [1]\n", "tag !"},
           Row{"base: &b {tau: 1}\nkernel: {<<: *b}\n", "a.yaml:2:10: merge keys (<<)"},
           Row{"[a]: 1\n", "a list or map as a key"},
           Row{"? {a: 1}\n: 1\n", "a list or map as a key"},
           Row{"~: 1\n", "a key that is not a word"},
           Row{"'': 1\n", "a key that is not a word"},
           Row{": 1\n", "a key that is not a word"},
           Row{"a: &x b\n*x : 1\n", "a.yaml:2:1: a key that is not a word"},
           Row{"a: [1,,2]\n", "a.yaml:1:7: a list item without a value"},
           Row{"a:\n  - 1\n  -\n", "a list item without a value"},
           Row{"a: *x\n", "a.yaml:1:4: an alias to an anchor that is not defined"},
           Row{"a: &x [1, *x]\n", "a.yaml:1:11: an alias inside the value it stands for"},
           Row{"a: &x {b: {c: *x}}\n", "an alias inside the value it stands for"},
           Row{"a:\n\tb: 1\n", "a.yaml:2:1: a tab in the indentation"},
           Row{"a:\n  b: 1\n \tc: 1\n", "a.yaml:3:2: a tab in the indentation"},
           Row{"a: b: c\n", "a.yaml:1:5: a ':' where no key can stand"},
           Row{"a: {b: 1\nc: 2\n", "a.yaml:2:2: the map in braces does not end here"},
           Row{"a: [1, 2\n", "does not end here"},
           Row{"a: 1]\n- b\n", "a.yaml:2:1: "},
           Row{"- a\n- b\n", "a.yaml:1:1: a config is a map of keys, got a list"},
           Row{"a: \"\\q\"\n", "a.yaml:1:"},
           Row{"a: \"x\\_y\"\n", "a.yaml:1:4: an escape that is not accepted"},
           Row{"a: \"x\\Ny\"\n", "a.yaml:1:4: an escape that is not accepted"},
           Row{"\"x\\0\": 1\n", "a.yaml:1:1: a NUL character"},
           Row{"a: \"\\ud800\"\n", "a.yaml:1:"},
           Row{"a: @b\n", "a.yaml:1:4: a character that cannot start a value"},
       }) {
    INFO(text);
    const std::string got = refusal(text);
    INFO(got);
    CHECK(mentions(got, message));
  }
}

TEST_CASE("a config without content is refused as empty") {
  for (const char* text : {"", "\n", "   \n\n", "# only a comment\n", "---\n", "~\n", "\xEF\xBB\xBF", "\xEF\xBB\xBF# x"}) {
    INFO(text);
    CHECK(mentions(refusal(text), "a.yaml: the config is empty"));
  }
}

TEST_CASE("byte order mark, CRLF, a missing last line break, markers and comments change nothing") {
  const std::string good = "a: 1\nb:\n  c: [x, 'y']\n";
  for (const std::string& text :
       {good, "\xEF\xBB\xBF" + good, std::string("a: 1\r\nb:\r\n  c: [x, 'y']\r\n"), good.substr(0, good.size() - 1),
        "---\n" + good, good + "...\n", "%YAML 1.2\n---\n" + good, "# x\n\n" + good + "\n\n# y"}) {
    INFO(text);
    const Node root = parse_yaml(text, "a.yaml", "");
    CHECK(root.entries.size() == 2);
    CHECK(root.find("a")->text == "1");
    CHECK(root.find("b")->find("c")->items.at(1).text == "y");
  }
}

TEST_CASE("a text that is not UTF-8, or holds control characters, is refused") {
  using namespace std::string_literals;
  CHECK(mentions(refusal("a: \xff\n"), "a.yaml:1:4: byte 0xff is not UTF-8"));
  CHECK(mentions(refusal("a: é\xc3(\n"), "a.yaml:1:5: byte 0xc3 is not UTF-8"));
  CHECK(mentions(refusal("a: \xed\xa0\x80\n"), "is not UTF-8"));      // a surrogate
  CHECK(mentions(refusal("a: \xc0\xaf\n"), "is not UTF-8"));          // overlong
  CHECK(mentions(refusal("a: \xf4\x90\x80\x80\n"), "is not UTF-8"));  // beyond U+10FFFF
  CHECK(mentions(refusal("a: \xe2\x82"), "is not UTF-8"));            // cut
  CHECK(refusal("a: \xf0\x9f\x8c\x80 é €\n") == "");
  CHECK(mentions(refusal("a: b\0c\n"s), "a.yaml:1:5: a NUL byte"));
  CHECK(mentions(refusal("\xff\xfe"
                         "a\0:\0"s),
                 "UTF-16"));
  CHECK(mentions(refusal("a\0:\0 \0"s + "1\0"s), "UTF-16"));
  CHECK(mentions(refusal("\0a\0:"s), "UTF-16"));
  CHECK(mentions(refusal("a: 1\x04\nb: 2\n"), "control character 0x04"));  // yaml-cpp ends the file there
  CHECK(mentions(refusal("a: 1\rb: 2\n"), "a carriage return inside a line"));
  CHECK(mentions(refusal("a: x\u0085b: 2\n"), "control character <U+0085>"));
  CHECK(mentions(refusal("a: x\u2028b: 2\n"), "control character <U+2028>"));
}

TEST_CASE("aliases stand for what they name and count as often as they are used") {
  const Node root = parse_yaml("a: &x {tau: 1, s: [2, 3]}\nb: *x\nc: [*x, *x]\n", "a.yaml", "");
  CHECK(root.find("b")->find("s")->items.size() == 2);
  CHECK(root.find("c")->items.at(1).find("tau")->text == "1");
  CHECK(root.find("b")->find("tau")->mark.line == 1);  // where it can be mended

  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string name = join({"a", std::to_string(i)}), above = join({"*a", std::to_string(i - 1), ", "});
    bomb += join({name, ": &", name, " [", repeated(above, 9), "x]\n"});
  }
  CHECK(seconds_to_refuse(bomb) < 1);
  CHECK(mentions(refusal(bomb), "more than 100000 values"));
}

TEST_CASE("limits hold before anything grows with them") {
  CHECK(refusal(join({"a: ", repeated("[", 31), "x", repeated("]", 31)})) == "");
  CHECK(mentions(refusal(join({"a: ", repeated("[", 32), "x", repeated("]", 32)})), "nested deeper than 32 levels"));
  CHECK(mentions(refusal(join({"a: &x ", repeated("[", 16), "x", repeated("]", 16), "\nb: ", repeated("[", 16), "*x",
                               repeated("]", 16)})),
                 "nested deeper than 32 levels"));
  CHECK(mentions(refusal(join({"a: [", repeated("1,", 100'000), "1]"})), "more than 100000 values"));
  CHECK(refusal(join({"a: [", repeated("1,", 99'000), "1]"})) == "");
  CHECK(mentions(refusal(join({"a: ", repeated("x", 1 << 20)})), "larger than 1 MiB"));
  const int mib = (1 << 20) - 8;
  for (const std::string& text :
       {repeated("[", mib), repeated("- ", mib / 2), repeated("{a: ", mib / 4), repeated("? ", mib / 2),
        repeated("a: &b ", mib / 6), join({"a: [", repeated("1,", mib / 2)}), join({"a: \"", repeated("\\", mib)}),
        repeated("k\n", mib / 2), join({"a: {", repeated("b\n", mib / 2 - 4)}), join({"a: &a [", repeated("&b [", mib / 4)}),
        join({"a: ", repeated("!", mib)})}) {
    INFO(text.substr(0, 20));
    CHECK(seconds_to_refuse(text) < 1);
  }
  std::string nested_anchors;
  for (int i = 0; i < 30; ++i) nested_anchors += join({"&a", std::to_string(i), " ["});
  CHECK(mentions(refusal(join({"a: ", nested_anchors, repeated("1,", 50'000), "1", repeated("]", 30)})),
                 "anchors on more than 100000 values"));
}

TEST_CASE("the excerpt shows the line around the caret and nothing that could harm a terminal") {
  CHECK(refusal("a: \xE2\x80\xAE"
                "b: c\n") ==
        "a.yaml:1:6: a ':' where no key can stand\n"
        "    1 | a: ?b: c\n"
        "      |      ^ check the indentation and the line above; quote a text that holds ': '");
  const std::string message = refusal(join({"a: ", repeated("x", 5000), " b: c", repeated("y", 5000)}));
  CHECK(message.size() < 600);
  CHECK(mentions(message, "x b: cyyy"));
  CHECK(printable("\x1b[31m\n\t\x7f\xff\xC2\xA0") == "\\x1b[31m\\n\\t\\x7f\\xff<U+00A0>");
  CHECK(printable("abcdef", 3) == "abc…");
}

TEST_CASE("a file that cannot be read says why") {
  const auto refused = [](const std::filesystem::path& file) {
    try {
      load_yaml(file);
      return std::string();
    } catch (const gaussflow::ConfigError& error) {
      return std::string(error.what());
    }
  };
  const auto folder = std::filesystem::temp_directory_path() / "gaussflow_test_node";
  std::filesystem::create_directories(folder);
  CHECK(refused(folder / "absent.yaml") ==
        "cannot read " + (folder / "absent.yaml").string() + ": No such file or directory");
  CHECK(refused(folder) == folder.string() + " is a folder, not a config");
  CHECK(mentions(refused("/dev/zero"), "larger than 1 MiB"));
  std::ofstream(folder / "good.yaml") << "a: 1\n";
  const Node root = load_yaml(folder / "good.yaml");
  CHECK(root.mark.source->directory == folder);
  CHECK(root.mark.source->name == (folder / "good.yaml").string());
  std::filesystem::remove_all(folder);
}

TEST_CASE("errors come in the order of lines, at most 20, with the number of the rest") {
  Diagnostics diagnostics;
  const auto source = std::make_shared<const Source>(Source{.name = "b.yaml", .directory = {}, .lines = {"x", "y"}});
  diagnostics.error({source, 2, 1}, "second");
  diagnostics.error({source, 1, 1}, "first");
  CHECK(mentions(diagnostics.errors().at(0), "first"));
  for (int i = 0; i < 1000; ++i) diagnostics.error({source, 3, 1}, "more");
  CHECK(diagnostics.error_count() == 1002);
  try {
    diagnostics.throw_if_any();
    FAIL("nothing thrown");
  } catch (const gaussflow::ConfigError& error) {
    CHECK(mentions(error.what(), "b.yaml:1:1: first"));
    CHECK(mentions(error.what(), "… and 982 more"));
  }
}

TEST_CASE("the path of what is being read") {
  Diagnostics diagnostics;
  CHECK(diagnostics.path() == "the config");
  CHECK(diagnostics.path("seed") == "seed");
  const auto flow = diagnostics.within("flow");
  {
    const auto type = diagnostics.within("", "mmd");
    CHECK(diagnostics.path("noise") == "flow.noise");
    CHECK(diagnostics.in_section() == " in flow (mmd)");
  }
  const auto list = diagnostics.within("mean");
  const auto item = diagnostics.within(3);
  CHECK(diagnostics.path() == "flow.mean[3]");
}
