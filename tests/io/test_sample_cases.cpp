// Files that other programs misread (tests/data/cases/manifest.json says what is right for each).
#include "gaussflow/core/error.hpp"
#include "gaussflow/io/sample_file.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <set>
#include <string>

using namespace gaussflow;

namespace {

const std::filesystem::path folder = std::filesystem::path(GAUSSFLOW_TEST_DATA) / "cases";

/// Of the cases where a documented reading or a refusal is right: the ones read, by file.
const std::set<std::string> chosen_readings{
    "hdf-01-matlab.mat",    "hdf-02-rank1.h5",     "hdf-08-int64.h5",     "hdf-20b-earliest.h5",  "hdf-20b-v108.h5",
    "hdf-20b-v110.h5",      "hdf-20b-v112.h5",     "hdf-20b-v114.h5",     "hdf-22-timestamps.h5", "hdf-25-two-datasets.h5",
    "hdf-25b-same-name.h5", "mmd-06-target-d2.h5", "mmd-06-target-d3.h5", "svg-06-steep-start.h5"};

/// What the refusal of a file must name, apart from the file.
const std::map<std::string, std::vector<std::string>> said{
    {"hdf-03-scalar.h5:samples", {"single number"}},
    {"hdf-03b-null-space.h5:samples", {"null dataspace"}},
    {"hdf-04-no-rows.h5:samples", {"[0, 3]", "empty"}},
    {"hdf-04b-no-columns.h5:samples", {"[5, 0]", "empty"}},
    {"hdf-05-chain.h5:mcmc/chain", {"[100, 8, 2]", "reshape"}},
    {"hdf-09-nan.h5:samples", {"2 of 100 rows", "row 17"}},
    {"hdf-10-fill.h5:samples", {"2 of 40 rows", "row 3", "_FillValue"}},
    {"hdf-11-lzf.h5:samples", {"32000", "lzf"}},
    {"hdf-12-virtual.h5:samples", {"virtual", ".h5"}},
    {"hdf-13-compound.h5:samples", {"compound of x, y"}},
    {"hdf-14-bool.h5:samples", {"booleans"}},
    {"hdf-14b-strings.h5:samples", {"text"}},
    {"hdf-14b-fixed-strings.h5:samples", {"text"}},
    {"hdf-15-sparse.h5ad:X", {"group", "/X/data", "/X/indices", "/X/indptr"}},
    {"hdf-16-cells.mat:samples", {"references"}},
    {"hdf-16b-opaque.h5:samples", {"opaque"}},
    {"hdf-16b-vlen.h5:samples", {"different lengths"}},
    {"hdf-17-soft-link.h5:samples", {"soft link", "nowhere", "/real"}},
    {"hdf-17-soft-link.h5:sample", {"not there", "did you mean 'samples'", "/real [4, 2]"}},
    {"hdf-18-truncated.h5:samples", {"cut short", "18048", "10828"}},
    {"hdf-18-text.h5:samples", {"not an HDF5 file", "text"}},
    {"hdf-19-left-open.h5:samples", {"h5clear -s"}},
    {"hdf-20-latest-format.h5:samples", {"newer", "1.10.8"}},
    {"hdf-24-declared-huge.h5:samples", {"275 GB"}},
    {"hdf-26-complex.h5:samples", {"complex"}},
};

nlohmann::json manifest() {
  std::ifstream in(folder / "manifest.json");
  return nlohmann::json::parse(in);
}

void check_row(const Tensor& row, const nlohmann::json& expected, double tolerance) {
  REQUIRE(row.numel() == static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < row.numel(); ++i) {
    const double value = expected[static_cast<std::size_t>(i)].get<double>();
    CHECK(std::abs(row[i].item<double>() - value) <= tolerance * std::max(1.0, std::abs(value)));
  }
}

std::vector<double> self_sums(const Tensor& x) {
  std::vector<double> sums;
  for (std::int64_t i = 0; i < x.size(0); ++i)
    sums.push_back(at::exp(-0.5 * (x - x[i]).square().sum(1)).sum().item<double>());
  return sums;
}

}  // namespace

TEST_CASE("each case file is read as its manifest says or refused by name and reason") {
  int accepted = 0, refused = 0;
  for (const auto& entry : manifest()) {
    if (!entry.contains("dataset")) continue;
    const std::string file = entry["file"], dataset = entry["dataset"], expect = entry["expect"];
    CAPTURE(file);
    CAPTURE(dataset);
    const DataRef ref{folder / file, dataset};
    if (expect == "accept" || (expect == "choose" && chosen_readings.contains(file))) {
      io::SampleFile read;
      REQUIRE_NOTHROW(read = io::read_samples(ref));
      ++accepted;
      CHECK(dtype_name(read.samples.scalar_type()) == "fp64");
      CHECK(read.digest.size() == 64);
      if (entry.contains("ref")) {
        const auto& right = entry["ref"];
        CHECK(read.samples.size(0) == right["n"].get<std::int64_t>());
        CHECK(read.samples.size(1) == right["d"].get<std::int64_t>());
        check_row(read.samples[0], right["first"], 0);  // bit for bit
        check_row(read.samples[-1], right["last"], 0);
        check_row(read.samples.mean(0), right["mean"], 1e-14);  // the order of summation is another one
      }
      if (entry.contains("self_sum_tau1")) {
        const auto sums = self_sums(read.samples);
        for (std::size_t i = 0; i < sums.size(); ++i)
          CHECK(sums[i] == doctest::Approx(entry["self_sum_tau1"][i].get<double>()).epsilon(1e-14));
      }
    } else {
      std::string message;
      try {
        io::read_samples(ref);
      } catch (const InputError& error) {
        message = error.what();
      } catch (const DeviceError& error) {
        message = error.what();
      }
      CAPTURE(message);
      ++refused;
      CHECK(message.find(file) != std::string::npos);
      const auto words = said.find(file + ":" + dataset);
      REQUIRE(words != said.end());
      for (const std::string& word : words->second) CHECK_MESSAGE(message.find(word) != std::string::npos, word);
    }
  }
  CHECK(accepted == 22);
  CHECK(refused == 25);
}
