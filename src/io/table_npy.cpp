#include "gaussflow/core/error.hpp"

#include "io/numbers.hpp"
#include "io/sample_checks.hpp"
#include "io/table_reader.hpp"

#include <ATen/ATen.h>
#include <c10/util/Half.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace gaussflow::io {

namespace {

struct NpyHeader {
  char order = '<';
  char kind = 'f';
  std::size_t size = 8;  ///< bytes of an element
  bool fortran = false;
  std::vector<std::int64_t> shape;
  std::size_t data = 0;  ///< offset of the first element
};

/// Reads the dictionary that numpy writes: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }      [NEP 1]
class HeaderReader {
 public:
  HeaderReader(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  NpyHeader read() {
    NpyHeader header;
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes_[at])); };
    if (bytes_.size() < 12) fail("its header is cut short");
    const std::size_t version = byte(6);
    if (version < 1 || version > 3) fail(fmt::format("its format version {} is not known here", version));
    const std::size_t start = version == 1 ? 10 : 12;
    std::size_t length = byte(8) | byte(9) << 8;
    if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
    if (length > bytes_.size() - start) fail("its header is cut short");
    dictionary_ = bytes_.substr(start, length);
    header.data = start + length;
    read_type(header);
    const std::string_view order = value_of("fortran_order");
    header.fortran = order.starts_with("True");
    if (!header.fortran && !order.starts_with("False")) fail("its header cannot be read");
    read_shape(header);
    return header;
  }

  [[noreturn]] void fail(const std::string& why) const { throw InputError(fmt::format("{}: {}", where_, why)); }

 private:
  std::string_view value_of(const std::string& key) const {
    std::size_t at = dictionary_.find("'" + key + "':");
    if (at == std::string_view::npos) fail("its header cannot be read");
    at = dictionary_.find_first_not_of(' ', at + key.size() + 3);
    return at == std::string_view::npos ? std::string_view() : dictionary_.substr(at);
  }

  void read_type(NpyHeader& header) const {
    std::string_view text = value_of("descr");
    if (text.starts_with('['))
      fail("it holds records; save one array of numbers, numpy.save('x.npy', x.view(...)) or a stack of the fields");
    const std::size_t end = text.find('\'', 1);
    if (!text.starts_with('\'') || end == std::string_view::npos || end < 4) fail("its header cannot be read");
    text = text.substr(1, end - 1);
    header.order = text[0];
    header.kind = text[1];
    const auto parsed = std::from_chars(text.data() + 2, text.data() + text.size(), header.size);
    const bool known = (header.kind == 'f' && (header.size == 2 || header.size == 4 || header.size == 8)) ||
                       ((header.kind == 'i' || header.kind == 'u') && std::has_single_bit(header.size) && header.size <= 8);
    if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || !known)
      fail(fmt::format("it holds '{}', real numbers are needed: fp16, fp32, fp64 or integers", text.substr(0, 40)));
  }

  void read_shape(NpyHeader& header) const {
    std::string_view text = value_of("shape");
    const std::size_t end = text.find(')');
    if (!text.starts_with('(') || end == std::string_view::npos) fail("its header cannot be read");
    text = text.substr(1, end - 1);
    while (!text.empty()) {
      std::int64_t extent = 0;
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
      if (error != std::errc{} || extent < 0) fail("its header cannot be read");
      header.shape.push_back(extent);
      text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
      text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    }
  }

  std::string_view bytes_, dictionary_;
  std::string where_;
};

/// Elements in this machine's byte order.
template <class T>
T element(const char* from, bool swap) {
  std::array<char, sizeof(T)> raw;
  std::memcpy(raw.data(), from, sizeof(T));
  if (swap) std::reverse(raw.begin(), raw.end());
  return std::bit_cast<T>(raw);
}

template <class T>
void convert(std::string_view data, bool swap, double* out) {
  for (std::size_t i = 0; i < data.size() / sizeof(T); ++i)
    out[i] = static_cast<double>(element<T>(data.data() + i * sizeof(T), swap));
}

Tensor read_values(const NpyHeader& header, std::string_view data, const std::string& where) {
  const bool swap = header.order == '>';  // '=' and '|' are this machine's
  if (header.size == 8 && header.kind != 'f') {
    Tensor integers = at::empty(header.shape, at::kLong);
    for (std::int64_t i = 0; i < integers.numel(); ++i)
      integers.data_ptr<std::int64_t>()[i] = element<std::int64_t>(data.data() + 8 * i, swap);
    return exact_doubles(integers, header.kind == 'i', where);
  }
  Tensor values = at::empty(header.shape, at::kDouble);
  double* const out = values.data_ptr<double>();
  if (header.kind == 'f' && header.size == 8) convert<double>(data, swap, out);
  if (header.kind == 'f' && header.size == 4) convert<float>(data, swap, out);
  if (header.kind == 'f' && header.size == 2)
    for (std::int64_t i = 0; i < values.numel(); ++i)
      out[i] = static_cast<float>(c10::Half(element<std::uint16_t>(data.data() + 2 * i, swap), c10::Half::from_bits()));
  if (header.kind == 'i' && header.size == 4) convert<std::int32_t>(data, swap, out);
  if (header.kind == 'i' && header.size == 2) convert<std::int16_t>(data, swap, out);
  if (header.kind == 'i' && header.size == 1) convert<std::int8_t>(data, swap, out);
  if (header.kind == 'u' && header.size == 4) convert<std::uint32_t>(data, swap, out);
  if (header.kind == 'u' && header.size == 2) convert<std::uint16_t>(data, swap, out);
  if (header.kind == 'u' && header.size == 1) convert<std::uint8_t>(data, swap, out);
  return values;
}

/// The header with the promise kept that the bytes behind it are as many as its shape needs.
NpyHeader checked_header(std::string_view bytes, const HeaderReader& reader, NpyHeader header) {
  std::size_t needed = header.size;
  for (const std::int64_t extent : header.shape)
    if (__builtin_mul_overflow(needed, static_cast<std::size_t>(extent), &needed))
      needed = std::numeric_limits<std::size_t>::max();
  if (bytes.size() - header.data != needed)
    reader.fail(fmt::format("its shape [{}] needs {} bytes, it holds {}", fmt::join(header.shape, ", "), needed,
                            bytes.size() - header.data));
  return header;
}

/// The numbers in fp64, axes as numpy shows them.
Tensor read_axes(NpyHeader header, std::string_view bytes, const std::string& where) {
  if (header.fortran) std::reverse(header.shape.begin(), header.shape.end());
  const Tensor values = read_values(header, bytes.substr(header.data), where);
  if (!header.fortran) return values;
  std::vector<std::int64_t> axes(header.shape.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return values.permute(axes);
}

}  // namespace

Tensor parse_npy_array(std::string_view bytes, const std::string& where) {
  HeaderReader reader(bytes, where);
  const NpyHeader header = checked_header(bytes, reader, reader.read());
  const bool narrow = header.kind == 'f' && header.size <= 4;
  const Tensor values = read_axes(header, bytes, where).to(narrow ? at::kFloat : at::kDouble).contiguous();
  if (const Marked bad = first_non_finite(values); bad.rows > 0)
    reader.fail(fmt::format("{} of {} numbers are not finite, the first at {}", bad.rows, values.numel(),
                            place(bad.first, values.sizes())));
  return values;
}

SampleFile parse_npy(std::string_view bytes, const std::string& where, const SampleOptions& options) {
  HeaderReader reader(bytes, where);
  const NpyHeader header = reader.read();
  if (!options.weights.empty()) reader.fail("weights need a table with named columns or an HDF5 file");
  const std::string shape = fmt::format("[{}]", fmt::join(header.shape, ", "));
  if (header.shape.empty() || header.shape.size() > 2)
    reader.fail(fmt::format("it has shape {}, samples [M, D] are needed", shape));
  if (std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end())
    reader.fail(fmt::format("it has shape {}: it is empty", shape));
  SampleFile result;
  const Tensor values = read_axes(checked_header(bytes, reader, header), bytes, where);
  result.samples = as_matrix(values, options.transpose, where, result.notes);
  check_samples(result.samples, where, result.notes);
  return result;
}

}  // namespace gaussflow::io
