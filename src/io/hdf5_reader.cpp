#include "io/hdf5_reader.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include "io/file_kind.hpp"
#include "io/sealed_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

namespace gaussflow::io::hdf5 {

namespace {

/// What a file that is not HDF5 is instead, and what would do.
std::string instead(const Descriptor& file, const std::string& name) {
  const std::string convert = fmt::format("gaussflow import {} -o samples.h5", shell_quoted(name));
  switch (file_kind(file)) {
    case FileKind::empty:
      return "it is empty";
    case FileKind::text:
      return "it is text; convert a table by: " + convert;
    case FileKind::npy:
      return "it is a NumPy array; convert it by: " + convert;
    case FileKind::zip:
      return "it is a zip archive; convert an .npz by: " + convert;
    case FileKind::old_matlab:
      return "it is an older MAT file; save it with -v7.3";
    case FileKind::other:
      break;
  }
  return "its signature is missing";
}

/// The library's reason for not opening a file, as advice.
std::string opening_refused(const std::string& file, const std::string& reason) {
  if (reason.find("truncated file") != std::string::npos)
    return fmt::format("{} is cut short ({}); copy or download it again", file, reason);
  if (reason.find("h5clear") != std::string::npos)
    return fmt::format(
        "{} is open for writing in another program, or was when that program died; wait for it, or clear the "
        "mark with h5clear -s {}",
        file, shell_quoted(file));
  if (reason.find("version") != std::string::npos)
    return fmt::format("{} was written by an HDF5 newer than the {}.{}.{} in this program ({}); write it with libver 'v110'",
                       file, H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE, reason);
  return fmt::format("{} cannot be opened: {}; the file is damaged", file, reason);
}

std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (end > begin && path.compare(begin, end - begin, ".") != 0) result.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

H5O_info_t object_info(hid_t object, const std::string& where) {
  H5O_info_t info;
  if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0)
    throw InputError(fmt::format("{} cannot be read: {}", where, last_error()));
  return info;
}

}  // namespace

std::string normal_path(const std::string& path) { return fmt::format("/{}", fmt::join(components(path), "/")); }

std::int64_t Dataset::count() const {
  std::int64_t product = 1;
  for (const std::int64_t n : shape)
    if (n == 0) return 0;
  for (const std::int64_t n : shape)
    if (__builtin_mul_overflow(product, n, &product)) return std::numeric_limits<std::int64_t>::max();
  return product;
}

Reader::Reader(std::filesystem::path file, Seals seals) : path_(std::move(file)) {
  const Descriptor regular = open_regular(path_);
  if (seals == Seals::check) check_own_seal(path_);
  prepare_library();
  const htri_t is_hdf5 = H5Fis_hdf5(path_.c_str());
  if (is_hdf5 == 0)
    throw InputError(fmt::format("{} is not an HDF5 file: {}", path_.string(), instead(regular, path_.string())));
  const Handle access = file_access();  // named: closing it would clear the reason of a failure
  file_ = Handle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, access), H5Fclose);
  if (!file_.valid()) throw InputError(opening_refused(path_.string(), last_error()));
}

std::string Reader::where(const std::string& path) const { return path_.string() + ":" + normal_path(path); }

Link Reader::link(const std::string& path) const {
  Link result;
  result.name = path;
  H5L_info_t info;
  if (H5Lget_info(file_, path.c_str(), &info, H5P_DEFAULT) < 0)
    throw InputError(fmt::format("{} cannot be read: {}", where(path), last_error()));
  if (info.type == H5L_TYPE_HARD) return result;
  result.kind = info.type == H5L_TYPE_SOFT       ? LinkKind::soft
                : info.type == H5L_TYPE_EXTERNAL ? LinkKind::external
                                                 : LinkKind::other;
  if (result.kind == LinkKind::other) return result;
  std::string value(info.u.val_size + 1, '\0');
  if (H5Lget_val(file_, path.c_str(), value.data(), info.u.val_size, H5P_DEFAULT) < 0)
    throw InputError(fmt::format("{} cannot be read: {}", where(path), last_error()));
  const char* file = nullptr;
  const char* object = nullptr;
  if (result.kind == LinkKind::soft)
    result.target = value.c_str();
  else if (H5Lunpack_elink_val(value.data(), info.u.val_size, nullptr, &file, &object) >= 0)
    result.target = fmt::format("{}:{}", file, object);
  return result;
}

std::string Reader::resolve(const std::string& path) const { return resolve(path, 0); }

std::string Reader::resolve(const std::string& path, int depth) const {
  if (depth > 16) throw InputError(fmt::format("{}: its soft links lead in a circle", where(path)));
  std::string at;
  for (const std::string& component : components(path)) {
    const std::string group = at.empty() ? "/" : at;
    if (object_info(object(group), where(group)).type != H5O_TYPE_GROUP)
      throw InputError(fmt::format("{} is not a group, so there is no '{}' in it", where(group), component));
    const std::string next = at + "/" + component;
    if (H5Lexists(file_, next.c_str(), H5P_DEFAULT) <= 0) {
      std::vector<std::string> names;
      for (const Link& sibling : links(group, 1000)) names.push_back(sibling.name);
      throw InputError(fmt::format("{} is not there{}; {}", where(next), suggestion(component, names), contents(group)));
    }
    const Link found = link(next);
    if (found.kind == LinkKind::hard) {
      at = next;
    } else if (found.kind == LinkKind::soft) {
      const std::string target = found.target.starts_with('/') ? found.target : at + "/" + found.target;
      try {
        at = resolve(target, depth + 1);
      } catch (const InputError& error) {
        if (depth > 0) throw;
        throw InputError(
            fmt::format("{} is a soft link to {} that leads nowhere: {}", where(next), found.target, error.what()));
      }
      if (at == "/") at.clear();
    } else {
      throw InputError(
          fmt::format("{} is a link out of the file{}; only data in the file itself are read: copy them into it",
                      where(next), found.target.empty() ? "" : fmt::format(" (to {})", found.target)));
    }
  }
  return at.empty() ? "/" : at;
}

Handle Reader::object(const std::string& path) const {
  Handle result(H5Oopen(file_, path.c_str(), H5P_DEFAULT), H5Oclose);
  if (!result.valid()) throw InputError(opening_refused(where(path), last_error()));
  return result;
}

bool Reader::has_dataset(const std::string& path) const {
  try {
    return object_info(object(resolve(path)), where(path)).type == H5O_TYPE_DATASET;
  } catch (const InputError&) {
    return H5Lexists(file_, normal_path(path).c_str(), H5P_DEFAULT) > 0;
  }
}

Dataset Reader::dataset(const std::string& path) const {
  const std::string hard = resolve(path);
  Dataset result;
  result.path = normal_path(path);
  result.where = where(path);
  const H5O_type_t kind = object_info(object(hard), result.where).type;
  if (kind == H5O_TYPE_GROUP)
    throw InputError(fmt::format("{} is a group, a dataset is needed; {}", result.where, contents(hard)));
  if (kind != H5O_TYPE_DATASET) throw InputError(fmt::format("{} is not a dataset", result.where));
  result.id = Handle(H5Dopen2(file_, hard.c_str(), H5P_DEFAULT), H5Dclose);
  if (!result.id.valid()) throw InputError(opening_refused(result.where, last_error()));
  result.type = Handle(H5Dget_type(result.id), H5Tclose);
  const Handle space(H5Dget_space(result.id), H5Sclose);
  if (!result.type.valid() || !space.valid())
    throw InputError(fmt::format("{} cannot be read: {}", result.where, last_error()));
  result.info = type_info(result.type);
  result.null = H5Sget_simple_extent_type(space) == H5S_NULL;
  std::array<hsize_t, H5S_MAX_RANK> extent{};
  const int rank = result.null ? 0 : H5Sget_simple_extent_dims(space, extent.data(), nullptr);
  if (rank < 0) throw InputError(fmt::format("{} cannot be read: {}", result.where, last_error()));
  constexpr auto most = static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max());
  for (int i = 0; i < rank; ++i) result.shape.push_back(static_cast<std::int64_t>(std::min(extent[i], most)));
  return result;
}

std::vector<Link> Reader::links(const std::string& group, std::size_t limit) const {
  struct Collected {
    std::vector<std::string> names;
    std::size_t limit;
  } collected{{}, limit};
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
    auto& to = *static_cast<Collected*>(out);
    to.names.emplace_back(name);
    return to.names.size() < to.limit ? 0 : 1;
  };
  const Handle at = object(group);
  hsize_t index = 0;
  if (H5Literate(at, H5_INDEX_NAME, H5_ITER_INC, &index, collect, &collected) < 0)
    throw InputError(fmt::format("{} cannot be listed: {}", where(group), last_error()));
  std::vector<Link> result;
  for (const std::string& name : collected.names) {
    result.push_back(link((group == "/" ? "" : group) + "/" + name));
    result.back().name = name;
  }
  return result;
}

std::vector<std::string> Reader::datasets(const std::string& group, std::size_t limit) const {
  std::vector<std::string> result;
  std::vector<std::string> pending{group};
  std::set<haddr_t> seen{object_info(object(group), where(group)).addr};
  while (!pending.empty() && result.size() < limit) {
    const std::string at = pending.back();
    pending.pop_back();
    std::vector<std::string> groups;
    for (const Link& next : links(at, limit)) {
      if (next.kind != LinkKind::hard) continue;
      const std::string path = (at == "/" ? "" : at) + "/" + next.name;
      const H5O_info_t info = object_info(object(path), where(path));
      if (!seen.insert(info.addr).second) continue;
      if (info.type == H5O_TYPE_DATASET) result.push_back(path);
      if (info.type == H5O_TYPE_GROUP) groups.push_back(path);
    }
    pending.insert(pending.end(), groups.rbegin(), groups.rend());
  }
  return result;
}

std::string Reader::contents(const std::string& group) const {
  constexpr std::size_t shown = 12;
  std::vector<std::string> texts;
  try {
    for (const std::string& path : datasets(group, shown + 1)) {
      if (texts.size() == shown) {
        texts.emplace_back("…");
        break;
      }
      const Dataset found = dataset(path);
      texts.push_back(fmt::format("{} [{}] {}", path, fmt::join(found.shape, ", "), found.info.name));
    }
  } catch (const InputError&) {
    texts.emplace_back("…");
  }
  if (texts.empty()) return group == "/" ? "the file holds no dataset" : fmt::format("{} holds no dataset", group);
  return fmt::format("{} holds {}", group == "/" ? "the file" : group, fmt::join(texts, ", "));
}

}  // namespace gaussflow::io::hdf5
