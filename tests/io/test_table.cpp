#include "gaussflow/core/error.hpp"
#include "gaussflow/io/table.hpp"

#include "io/refusal.hpp"
#include "io/support.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

using namespace gaussflow;
using namespace support;
using io::SampleFile;

namespace {

struct Table {
  const Folder folder;
  std::filesystem::path file = folder / "t.csv";

  SampleFile read(const std::string& text, const io::SampleOptions& options = {}) {
    set_bytes(file, text);
    return io::read_table(file, options);
  }
  std::string refusal(const std::string& text, const io::SampleOptions& options = {}) {
    return message_of([&] { read(text, options); });
  }
};

/// A .npy file of version 1 as numpy pads it.
std::string npy(const std::string& descr, bool fortran, const std::string& shape, const std::string& data) {
  std::string header =
      "{'descr': " + descr + ", 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return bytes + header + data;
}

template <class T>
std::string raw(const std::vector<T>& values, bool big_endian = false) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  if (big_endian)
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) std::reverse(bytes.begin() + i, bytes.begin() + i + sizeof(T));
  return bytes;
}

}  // namespace

TEST_CASE("text tables are read whatever their separator, line ends and comments") {
  Table table;
  const std::vector<double> expected{1, -2.5, 3e-7, 4, 0.1, 6e300 / 1e280};
  for (const std::string text :
       {"1,-2.5\n3e-7,4\n0.1,6e20\n", "1;-2.5\r\n3e-7;4\r\n0.1;6e20", "1\t-2.5\n3e-7\t4\n0.1\t6e20\n\n",
        "# made by hand\n  1   -2.5 \n\n+3e-7 4\n .1 6E+20\n", "\xEF\xBB\xBFx,y\n1, -2.5\n3e-7 ,4\n0.1,6e20\n"}) {
    CAPTURE(text);
    CHECK(to_vector(table.read(text).samples) == expected);
  }
  CHECK(table.read("1,2\n").samples.sizes() == at::IntArrayRef({1, 2}));
  CHECK(table.read("1\n2\n3\n").samples.sizes() == at::IntArrayRef({3, 1}));
}

TEST_CASE("a first row without numbers names the columns") {
  Table table;
  CHECK(table.read("alpha,\"be ta, x\",γ\n1,2,3\n").names == std::vector<std::string>{"alpha", "be ta, x", "γ"});
  CHECK(table.read("1,2,3\n").names.empty());
  const SampleFile read = table.read("x,w,y\n1,0.5,2\n3,0.25,4\n", {.weights = "w"});
  CHECK(read.names == std::vector<std::string>{"x", "y"});
  CHECK(to_vector(read.samples) == std::vector<double>{1, 2, 3, 4});
  CHECK(to_vector(read.weights) == std::vector<double>{0.5, 0.25});
  CHECK(holds(table.refusal("x,weight,y\n1,0.5,2\n", {.weights = "weights"}), "did you mean 'weight'"));
  CHECK(holds(table.refusal("x,w\n1,-1\n", {.weights = "w"}), "at least 0"));
  const SampleFile stan = table.read("# stan_version = 2\nlp__,accept_stat__,mu,tau\n-7,0.9,1,2\n-8,0.8,3,4\n");
  CHECK(stan.names == std::vector<std::string>{"mu", "tau"});
  CHECK(to_vector(stan.samples) == std::vector<double>{1, 2, 3, 4});
  CHECK(holds(stan.notes.at(0), "lp__, accept_stat__"));
}

TEST_CASE("columns of one name are told, and refused where the name is used") {
  Table table;
  const SampleFile read = table.read("a,b,a\n1,2,3\n4,5,6\n");
  CHECK(read.samples.size(1) == 3);
  REQUIRE(read.notes.size() == 2);  // and fewer rows than columns
  CHECK(holds(read.notes[0], "several columns are called 'a'"));
  CHECK(holds(table.refusal("w,b,w\n1,2,3\n", {.weights = "w"}), "several columns 'w': which of them holds the weights?"));
  CHECK(table.read("a,b,a\n1,2,3\n1,2,3\n1,2,3\n", {.weights = "b"}).samples.size(1) == 2);
}

TEST_CASE("what is no table of numbers is refused with line and column") {
  Table table;
  CHECK(holds(table.refusal("1,2\n3\n"), ":2: 1 fields, 2 are needed as in line 1"));
  CHECK(holds(table.refusal("x,y\n1,2\n3,4,5\n"), ":3: 3 fields"));
  CHECK(holds(table.refusal("1,2\n3,four\n"), ":2:3: 'four'"));
  CHECK(holds(table.refusal("1,2\n3,\n"), ":2:3: ''"));
  CHECK(holds(table.refusal("x,1\n3,4\n"), ":1:1: 'x'"));
  for (const std::string bad : {"nan", "inf", "-Inf", "NA", "1e999", "0x10", "1.5.2", "1 2", "1_000", "--1", "\"1\""})
    CHECK_MESSAGE(holds(table.refusal("1,2\n3," + bad + "\n"), "t.csv:2:3"), bad);
  CHECK(holds(table.refusal("1,5;2,5\n"), "decimal points"));
  CHECK(holds(table.refusal("nan,NA\n1,2\n"), "t.csv:1:1: 'nan'"));  // a row of missing values, not of names
  CHECK(holds(table.read("0,1\n0.5,0.25\n").notes.at(0), "header=False"));
  CHECK(table.read("0,1\n2,3\n").notes.empty());
  CHECK(holds(table.refusal(",x,y\n0,1,2\n1,3,4\n"), "index=False"));
  CHECK(holds(table.refusal("\"\",\"x\"\n\"1\",2\n"), "row.names=FALSE"));
  CHECK(holds(table.refusal("# only a comment\n"), "no row of numbers"));
  CHECK(holds(table.refusal("x,y\n"), "no row of numbers"));
  CHECK(holds(table.refusal("1,1e39\n"), "beyond the range of fp32"));
  CHECK(holds(table.refusal(""), "neither text"));
  CHECK(holds(table.refusal(std::string("\0\1\2", 3)), "neither text"));
}

TEST_CASE("numpy arrays of every real type, order and rank") {
  Table table;
  const std::vector<double> values{0, 1, -1, 100, -128, 127};
  const auto as = [&]<class T>(T, bool big) { return raw(std::vector<T>(values.begin(), values.end()), big); };
  for (const bool big : {false, true}) {
    const std::string order = big ? ">" : "<";
    const std::vector<std::pair<std::string, std::string>> forms{
        {"f8", as(double{}, big)},       {"f4", as(float{}, big)},        {"i8", as(std::int64_t{}, big)},
        {"i4", as(std::int32_t{}, big)}, {"i2", as(std::int16_t{}, big)}, {"i1", as(std::int8_t{}, big)}};
    for (const auto& [name, data] : forms) {
      CAPTURE(name);
      const SampleFile read = table.read(npy("'" + order + name + "'", false, "(3, 2)", data));
      CHECK(to_vector(read.samples) == values);
      CHECK(read.samples.sizes() == at::IntArrayRef({3, 2}));
      CHECK(to_vector(table.read(npy("'" + order + name + "'", true, "(3, 2)", data)).samples) ==
            std::vector<double>{0, 100, 1, -128, -1, 127});
    }
  }
  // 1, -2, 65504, 2^-24 in half precision
  CHECK(to_vector(table.read(npy("'<f2'", false, "(2, 2)", raw<std::uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0001}))).samples) ==
        std::vector<double>{1, -2, 65504, 0x1p-24});
  CHECK(table.read(npy("'|u1'", false, "(3,)", "\1\2\377")).samples.sizes() == at::IntArrayRef({3, 1}));
  CHECK(to_vector(table.read(npy("'<f8'", false, "(2, 1)", raw<double>({1, 2})), {.transpose = true}).samples).size() == 2);
}

TEST_CASE("what numpy stores otherwise is refused, and no size is believed") {
  Table table;
  const std::string two = raw<double>({1, 2});
  const auto said = [&](const std::string& bytes) { return table.refusal(bytes); };
  CHECK(holds(said(npy("'<c16'", false, "(1, 1)", two)), "<c16"));
  CHECK(holds(said(npy("'|b1'", false, "(2, 1)", "\1\1")), "|b1"));
  CHECK(holds(said(npy("'<U3'", false, "(1, 1)", std::string(12, 'x'))), "<U3"));
  CHECK(holds(said(npy("'|O'", false, "(1, 1)", two)), "cannot be read"));
  CHECK(holds(said(npy("[('x', '<f8'), ('y', '<f8')]", false, "(1,)", two)), "records"));
  CHECK(holds(said(npy("'<f8'", false, "()", raw<double>({1}))), "[M, D]"));
  CHECK(holds(said(npy("'<f8'", false, "(1, 1, 2)", two)), "[1, 1, 2]"));
  CHECK(holds(said(npy("'<f8'", false, "(0, 2)", "")), "empty"));
  CHECK(holds(said(npy("'<f8'", false, "(3, 1)", two)), "needs 24 bytes, it holds 16"));
  CHECK(holds(said(npy("'<f8'", false, "(9223372036854775807, 9223372036854775807)", two)), "it holds 16"));
  CHECK(holds(said(npy("'<f8'", false, "(-1, 2)", two)), "cannot be read"));
  CHECK(
      holds(said(npy("'<f8'", false, "(1, 2)", raw<double>({1, std::numeric_limits<double>::infinity()}))), "1 of 1 rows"));
  CHECK(holds(said(npy("'<i8'", false, "(1, 1)", raw<std::int64_t>({(std::int64_t{1} << 53) + 1}))), "9007199254740993"));
  const std::string good = npy("'<f8'", false, "(1, 2)", two);
  for (std::size_t size = 6; size < good.size(); ++size) CHECK_FALSE(said(good.substr(0, size)).empty());
}

TEST_CASE("import takes what a file is, whatever its name") {
  const Folder folder;
  const Tensor samples = at::arange(6, at::kDouble).view({3, 2});
  io::write_samples(folder / "a", samples, {}, {}, {});
  set_bytes(folder / "b", "0 1\n2 3\n4 5\n");
  set_bytes(folder / "c", npy("'<f8'", false, "(3, 2)", raw<double>({0, 1, 2, 3, 4, 5})));
  std::string digest;
  for (const char* name : {"a", "b", "c"}) {
    const SampleFile read = io::import_samples({folder / name, ""});
    CHECK(at::equal(read.samples, samples));
    if (digest.empty()) digest = read.digest;
    CHECK(read.digest == digest);
  }
  CHECK_THROWS_AS(io::import_samples({folder / "b", "/x"}), InputError);
  set_bytes(folder / "d", "");
  CHECK(holds(message_of([&] { io::import_samples({folder / "d", ""}); }), "it is empty"));
  CHECK_THROWS_AS(io::import_samples({folder / "absent", ""}), InputError);
}
