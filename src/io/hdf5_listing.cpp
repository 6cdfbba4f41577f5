#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/hdf5.hpp"

#include "io/crash_guard.hpp"
#include "io/sample_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>

namespace gaussflow::io {

namespace {

using hdf5::Handle;
using hdf5::Reader;

std::string filter_name(hid_t properties, unsigned index) {
  unsigned flags = 0;
  std::size_t values = 0;
  std::array<char, 64> name{};
  switch (const H5Z_filter_t filter =
              H5Pget_filter2(properties, index, &flags, &values, nullptr, name.size() - 1, name.data(), nullptr)) {
    case H5Z_FILTER_DEFLATE:
      return "deflate";
    case H5Z_FILTER_SHUFFLE:
      return "shuffle";
    case H5Z_FILTER_FLETCHER32:
      return "fletcher32";
    case H5Z_FILTER_SZIP:
      return "szip";
    case H5Z_FILTER_NBIT:
      return "nbit";
    case H5Z_FILTER_SCALEOFFSET:
      return "scaleoffset";
    default:
      return fmt::format("filter {} ({})", static_cast<int>(filter), name[0] == '\0' ? "no name" : name.data());
  }
}

std::string storage_of(const hdf5::Dataset& dataset) {
  const Handle properties(H5Dget_create_plist(dataset.id), H5Pclose);
  switch (H5Pget_layout(properties)) {
    case H5D_COMPACT:
      return "compact";
    case H5D_CONTIGUOUS:
      return H5Pget_external_count(properties) > 0 ? "in another file" : "contiguous";
    case H5D_VIRTUAL:
      return "virtual";
    case H5D_CHUNKED:
      break;
    default:
      return "unknown";
  }
  std::vector<hsize_t> chunk(dataset.shape.size(), 0);
  H5Pget_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
  std::string text = fmt::format("chunks [{}]", fmt::join(chunk, ", "));
  for (int i = 0; i < H5Pget_nfilters(properties); ++i) text += ", " + filter_name(properties, static_cast<unsigned>(i));
  return text;
}

std::vector<Hdf5Attribute> attributes_of(hid_t object) {
  std::vector<Hdf5Attribute> result;
  for (const std::string& name : hdf5::attribute_names(object)) {
    Hdf5Attribute attribute;
    attribute.name = name;
    const Handle id(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    const Handle type(H5Aget_type(id), H5Tclose), space(H5Aget_space(id), H5Sclose);
    if (!id.valid() || !type.valid() || !space.valid()) continue;
    attribute.type = hdf5::type_info(type).name;
    std::array<hsize_t, H5S_MAX_RANK> extent{};
    const int rank = H5Sget_simple_extent_dims(space, extent.data(), nullptr);
    attribute.shape.assign(extent.begin(), extent.begin() + std::max(rank, 0));
    if (const auto text = hdf5::text_attribute(object, name))
      attribute.value = text->substr(0, 1000);
    else if (const auto integers = hdf5::integers_attribute(object, name))
      attribute.value =
          attribute.shape.empty() ? fmt::format("{}", integers->at(0)) : fmt::format("[{}]", fmt::join(*integers, ", "));
    else if (const auto number = hdf5::number_attribute(object, name))
      attribute.value = number_text(*number);
    result.push_back(std::move(attribute));
  }
  return result;
}

/// Why read_samples would refuse a dataset before reading it.
std::string refusal_of(const hdf5::Dataset& dataset) {
  try {
    check_numbers(dataset);
    check_matrix(dataset);
    hdf5::check_memory(dataset, sizeof(double));
    hdf5::check_storage(dataset);
    return "";
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string start = dataset.where + " ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  }
}

/// The words of a short dataset of text; none where they cannot be read.
std::vector<std::string> texts_of(const hdf5::Dataset& dataset) {
  if (dataset.info.family != hdf5::Family::text || dataset.shape.size() > 1 || dataset.count() > 100) return {};
  try {
    hdf5::check_storage(dataset);
    return hdf5::read_texts(dataset, 1 << 16);
  } catch (const InputError&) {
    return {};
  }
}

Hdf5Entry describe(const Reader& in, const std::string& path, H5O_type_t kind, hid_t object) {
  Hdf5Entry entry;
  entry.path = path;
  entry.attributes = attributes_of(object);
  if (kind == H5O_TYPE_GROUP) return entry;
  entry.kind = kind == H5O_TYPE_DATASET ? Hdf5Entry::Kind::dataset : Hdf5Entry::Kind::datatype;
  if (kind != H5O_TYPE_DATASET) return entry;
  try {
    const hdf5::Dataset dataset = in.dataset(path);
    entry.type = dataset.info.name;
    entry.shape = dataset.shape;
    entry.storage = storage_of(dataset);
    entry.refusal = refusal_of(dataset);
    entry.texts = texts_of(dataset);
  } catch (const InputError& error) {
    entry.refusal = error.what();
  }
  return entry;
}

class Walk {
 public:
  Walk(const Reader& in, std::size_t limit) : in_(in), limit_(limit) {}

  Hdf5Listing listing() {
    visit("/");
    return std::move(listing_);
  }

 private:
  void visit(const std::string& path) {
    if (listing_.entries.size() >= limit_ || depth_ > 100) {
      listing_.complete = false;
      return;
    }
    Handle object;
    try {
      object = in_.object(path);
    } catch (const InputError& error) {
      listing_.entries.push_back({.path = path, .kind = Hdf5Entry::Kind::unreadable, .refusal = error.what()});
      return;
    }
    H5O_info_t info;
    if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0 || !seen_.insert(info.addr).second) return;
    listing_.entries.push_back(describe(in_, path, info.type, object));
    if (info.type != H5O_TYPE_GROUP) return;
    ++depth_;
    for (const hdf5::Link& link : in_.links(path, limit_)) {
      const std::string next = (path == "/" ? "" : path) + "/" + link.name;
      if (link.kind == hdf5::LinkKind::hard) {
        visit(next);
      } else if (listing_.entries.size() < limit_) {
        Hdf5Entry entry;
        entry.path = next;
        entry.kind = link.kind == hdf5::LinkKind::soft ? Hdf5Entry::Kind::soft_link : Hdf5Entry::Kind::outside_link;
        entry.target = link.target;
        listing_.entries.push_back(std::move(entry));
      } else {
        listing_.complete = false;
      }
    }
    --depth_;
  }

  const Reader& in_;
  std::size_t limit_;
  int depth_ = 0;
  std::set<haddr_t> seen_;
  Hdf5Listing listing_;
};

}  // namespace

Hdf5Listing list_hdf5(const std::filesystem::path& file, std::size_t limit) {
  const CrashGuard guard(file);
  const Reader in(file);
  return Walk(in, limit).listing();
}

}  // namespace gaussflow::io
