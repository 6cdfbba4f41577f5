#include "gaussflow/config/section.hpp"
#include "gaussflow/config/value.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <locale>
#include <random>
#include <string>

using namespace gaussflow::config;

namespace {

template <class V>
struct Read {
  std::optional<V> value;
  std::string errors;
};

/// Reads the value of `v` in a config.
template <class V>
Read<V> read(const std::string& text, const Range& range = {}, const std::string& directory = "") {
  const Node root = parse_yaml("v: " + text + "\n", "a.yaml", directory);
  Diagnostics diagnostics;
  const auto scope = diagnostics.within("v");
  Read<V> result;
  V value{};
  if (Codec<V>::read(root.entries.front().value, range, diagnostics, value)) result.value.emplace(value);
  for (const std::string& error : diagnostics.errors()) result.errors += error.substr(0, error.find('\n')) + "\n";
  CHECK(diagnostics.ok() == result.value.has_value());
  return result;
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("integers: plain, grouped, with an exponent, exact, nothing else") {
  struct Row {
    const char* text;
    std::int64_t value;
  };
  for (const auto& [text, value] :
       {Row{"0", 0}, Row{"-0", 0}, Row{"7", 7}, Row{"+7", 7}, Row{"-7", -7}, Row{"20000", 20000}, Row{"20_000", 20000},
        Row{"1_2_3", 123}, Row{"2e4", 20000}, Row{"2E4", 20000}, Row{"2e+4", 20000}, Row{"1.5e3", 1500}, Row{"1.50e1", 15},
        Row{"12.00e0", 12}, Row{"0e0", 0}, Row{"0e99", 0}, Row{"1e18", 1'000'000'000'000'000'000},
        Row{"9223372036854775807", largest}, Row{"-9223372036854775808", std::numeric_limits<std::int64_t>::min()}}) {
    INFO(std::string(text));
    CHECK(parse_integer(text) == value);
  }
  for (const char* text : {"",
                           " ",
                           "-",
                           "+",
                           "--1",
                           "1 ",
                           " 1",
                           "00",
                           "0100",
                           "-01",
                           "0x10",
                           "0o17",
                           "1,000",
                           "1.0",
                           "1.",
                           ".5",
                           "1e",
                           "1e-3",
                           "1.5e0",
                           "1.55e1",
                           "e3",
                           "1__0",
                           "_1",
                           "1_",
                           "1e1_0",
                           "9223372036854775808",
                           "-9223372036854775809",
                           "1e19",
                           "99999999999999999999999",
                           "1e99999999999",
                           "ten",
                           "nan",
                           "inf",
                           "١",
                           "1e3x",
                           "1 000",
                           "1'000"}) {
    INFO(std::string(text));
    CHECK(!parse_integer(text));
  }
}

TEST_CASE("numbers: decimal, finite, as the C library reads them") {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "+1",
                           "-1",
                           "0.5",
                           ".5",
                           "-.2",
                           "+.5",
                           "5.",
                           "1e-3",
                           "1e2",
                           "1E+2",
                           "1.5e-3",
                           "123456789.123456789",
                           "0.1",
                           "1e308",
                           "5e-324",
                           "1.7976931348623157e308",
                           "2.2250738585072011e-308",
                           "9007199254740993",
                           "3.141592653589793238462643383279"}) {
    INFO(std::string(text));
    const auto number = parse_number(text);
    CHECK(number.has_value());
    CHECK(*number == std::strtod(text, nullptr));
    CHECK(std::signbit(*number) == std::signbit(std::strtod(text, nullptr)));
  }
  CHECK(parse_number("1_000.5") == 1000.5);
  for (const char* text : {"",     " ",    ".",        "-.",   "e3",    "1e",   "1e+", ".nan",  ".inf",  "-.inf",
                           "nan",  "inf",  "infinity", "NaN",  "0x1p3", "0x10", "1,5", "1.2.3", "1e999", "1e-999",
                           "0100", "00.5", "1_",       "1._5", "1d3",   "1f",   "--1", "1 2",   "1e3.5"}) {
    INFO(std::string(text));
    CHECK(!parse_number(text));
  }
}

TEST_CASE("every double that is written is read back as the same bits") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    const std::string text = to_yaml_flow(Json(value));
    const auto back = parse_number(text);
    INFO(text);
    CHECK(back.has_value());
    CHECK(std::memcmp(&*back, &value, sizeof value) == 0);
  }
}

TEST_CASE("no locale reaches the numbers") {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  CHECK(parse_number("0.5") == 0.5);
  CHECK(!parse_number("0,5"));
  CHECK(parse_integer("20000") == 20000);
  CHECK(to_yaml_flow(Json(1234567.5)) == "1234567.5");
  CHECK(to_yaml_flow(Json(1234567)) == "1234567");
  CHECK(duration_config_text(0.5) == "0.5s");
  std::locale::global(before);
}

TEST_CASE("booleans are the YAML 1.1 words, unquoted") {
  for (const char* text : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
    CHECK(parse_boolean(text) == true);
  for (const char* text : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
    CHECK(parse_boolean(text) == false);
  for (const char* text : {"", "y", "n", "1", "0", "tRUE", "oN", "truee", "nope"}) CHECK(!parse_boolean(text));
  CHECK(read<bool>("no").value == false);
  CHECK(read<bool>("off").value == false);
  CHECK(mentions(read<bool>("'no'").errors, "v must be true or false, got 'no'"));
  CHECK(mentions(read<bool>("0").errors, "v must be true or false, got '0'"));
}

TEST_CASE("durations and intervals") {
  CHECK(parse_duration("90s") == 90);
  CHECK(parse_duration("90") == 90);
  CHECK(parse_duration("5m") == 300);
  CHECK(parse_duration("1h") == 3600);
  CHECK(parse_duration("3h30m") == 12600);
  CHECK(parse_duration("1d2h3m4.5s") == 86400 + 7200 + 180 + 4.5);
  CHECK(parse_duration("1e-3s") == 1e-3);
  CHECK(parse_duration("0") == 0);
  for (const char* text : {"", "m", "5x", "5m3h", "5m5m", "-5m", "5 m", "h5", "5m3", "1e999s", "inf", "5mm", "1e5m3",
                           "never", "3h-5m", "0100s"}) {
    INFO(std::string(text));
    CHECK(!parse_duration(text));
  }
  CHECK(parse_interval("never") == Interval{});
  CHECK(parse_interval("1000steps") == Interval{.steps = 1000, .seconds = {}});
  CHECK(parse_interval("1000 steps") == Interval{.steps = 1000, .seconds = {}});
  CHECK(parse_interval("1step") == Interval{.steps = 1, .seconds = {}});
  CHECK(parse_interval("1_000") == Interval{.steps = 1000, .seconds = {}});
  CHECK(parse_interval("1e3steps") == Interval{.steps = 1000, .seconds = {}});
  CHECK(parse_interval("5m") == Interval{.steps = {}, .seconds = 300});
  CHECK(parse_interval("2.5s") == Interval{.steps = {}, .seconds = 2.5});
  for (const char* text : {"", "0", "0steps", "0s", "-5", "-5steps", "2.5", "2.5steps", "steps", "5m steps", "1000  steps",
                           "always", "Never", "5msteps"}) {
    INFO(std::string(text));
    CHECK(!parse_interval(text));
  }
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    Interval interval;
    if (i % 3 == 0)
      interval.steps = static_cast<std::int64_t>(random() % 1'000'000'000) + 1;
    else
      interval.seconds =
          i % 3 == 1 ? static_cast<double>(random() % 1'000'000 + 1) : std::exp(static_cast<double>(random() % 60) - 30.0);
    INFO(interval_text(interval));
    CHECK(parse_interval(interval_text(interval)) == interval);
  }
}

TEST_CASE("a number of the wrong kind or out of range is refused with the place and the way out") {
  CHECK(read<double>("2").value == 2);
  CHECK(mentions(read<double>("abc").errors, "a.yaml:1:4: v must be a number, got 'abc'"));
  CHECK(mentions(read<double>("'5'").errors, "v must be a number, got '5'"));
  CHECK(mentions(read<double>("[1]").errors, "v must be a number, got a list"));
  CHECK(mentions(read<double>("{a: 1}").errors, "v must be a number, got a map"));
  CHECK(mentions(read<double>("").errors, "a.yaml:1:1: v has no value, expected a number"));
  const Range positive{.min = 0, .open_min = true};
  CHECK(mentions(read<double>("-1", positive).errors, "a.yaml:1:4: v must be > 0, got -1"));
  CHECK(mentions(read<double>("0", positive).errors, "v must be > 0, got 0"));
  CHECK(mentions(read<std::int64_t>("-5", {.min = 0}).errors, "v must be ≥ 0, got -5"));
  CHECK(mentions(read<double>("2", {.min = 0, .max = 1, .open_max = true}).errors, "v must be in [0, 1), got 2"));
  CHECK(read<double>("1", {.min = 0, .max = 1}).value == 1);
  CHECK(!read<double>("1", {.min = 0, .max = 1, .open_max = true}).value);
  CHECK(read<std::int64_t>("9007199254740993").value == 9007199254740993);
  CHECK(number_hint("0100", true) == "YAML 1.1 reads a leading 0 as octal: write 100");
  CHECK(number_hint("00", true) == "YAML 1.1 reads a leading 0 as octal: write 0");
  CHECK(number_hint("0x10", true) == "write it in decimal");
  CHECK(number_hint("20,000", true) == "write 20000 or 20_000");
  CHECK(number_hint("0,5", false) == "decimals are written with a point, as in 0.5");
  CHECK(number_hint(".nan", false) == "only finite numbers");
  CHECK(number_hint("2.5", true) == "a whole number is needed");
  CHECK(number_hint("99999999999999999999", true) == "the largest integer is 9223372036854775807");
  CHECK(number_hint("1e999", false) == "too large or too small for a 64-bit float");
  for (const char* text : {"", "-", "abc", "é"}) CHECK(number_hint(text, true) == "");
}

TEST_CASE("texts, words and optional values") {
  CHECK(read<std::string>("5").value == "5");
  CHECK(read<std::string>("'~'").value == "~");
  CHECK(read<std::string>("two words # and a comment").value == "two words");
  CHECK(mentions(read<std::string>("~").errors, "v has no value"));
  CHECK(mentions(read<std::string>("[a]").errors, "v must be a text, got a list"));
  using MaybeNumber = std::optional<double>;
  CHECK(read<MaybeNumber>("auto").value.value() == MaybeNumber{});
  CHECK(read<MaybeNumber>("~").value.value() == MaybeNumber{});
  CHECK(read<MaybeNumber>("2").value.value() == 2.0);
  CHECK(!read<MaybeNumber>("x").value);
  CHECK(Codec<MaybeNumber>::write({}).is_null());
  CHECK(Codec<MaybeNumber>::type({.min = 0, .open_min = true}) == "number > 0 or auto");
}

TEST_CASE("lists: a bare value is a list of one, each element has its place") {
  using Numbers = std::vector<double>;
  CHECK(read<Numbers>("[1, -.2]").value == Numbers{1, -.2});
  CHECK(read<Numbers>("3").value == Numbers{3});
  CHECK(read<Numbers>("[]").value == Numbers{});
  CHECK(read<Numbers>("\n  - 1\n  - 2").value == Numbers{1, 2});
  CHECK(read<std::vector<Numbers>>("[[1, 0], [0, 1]]").value == std::vector<Numbers>{{1, 0}, {0, 1}});
  CHECK(read<std::vector<Numbers>>("[-2, 2]").value == std::vector<Numbers>{{-2}, {2}});
  const std::string errors = read<Numbers>("[1, x, -1, 2, y]", {.min = 0}).errors;
  CHECK(mentions(errors, "a.yaml:1:8: v[1] must be a number ≥ 0, got 'x'"));
  CHECK(mentions(errors, "a.yaml:1:11: v[2] must be ≥ 0, got -1"));
  CHECK(mentions(errors, "v[4]"));
  CHECK(mentions(read<Numbers>("{a: 1}").errors, "v must be a list of numbers, got a map"));
  CHECK(Codec<std::vector<Numbers>>::type({}) == "list of lists of numbers");
  CHECK(Codec<Numbers>::type({.min = 0}) == "list of numbers ≥ 0");
}

TEST_CASE("paths are relative to the source's folder, ~ is refused") {
  using Path = std::filesystem::path;
  CHECK(read<Path>("a/b.pt", {}, "configs").value == Path("configs/a/b.pt"));
  CHECK(read<Path>("../b.pt", {}, "configs").value == Path("b.pt"));
  CHECK(read<Path>("/x/b.pt", {}, "configs").value == Path("/x/b.pt"));
  CHECK(read<Path>("with a space.pt", {}, "").value == Path("with a space.pt"));
  CHECK(mentions(read<Path>("~/x").errors, "v: ~ is not expanded"));
  CHECK(mentions(read<Path>("''").errors, "v is empty, expected a file name"));
  CHECK(mentions(read<Path>("[a]").errors, "v must be a file name, got a list"));
  const auto data = read<gaussflow::DataRef>("moons.h5:/x", {}, "configs").value;
  CHECK(data->file == "configs/moons.h5");
  CHECK(data->dataset == "/x");
  CHECK(mentions(read<gaussflow::DataRef>("~/m.h5:/x").errors, "~ is not expanded"));
}

TEST_CASE("free values keep their kind") {
  CHECK(read<Json>("{a: 1, b: [yes, 'yes', 1.5, x], c: '1'}").value->dump() ==
        R"({"a":1,"b":[true,"yes",1.5,"x"],"c":"1"})");
  CHECK(mentions(read<Json>("{a: }").errors, "v.a has no value, expected a value"));
}
