#include "gaussflow/io/array_file.hpp"

#include "io/crash_guard.hpp"
#include "io/hdf5_reader.hpp"
#include "io/sealed_file.hpp"

namespace gaussflow::io {

bool has_dataset(const std::filesystem::path& file, const std::string& path) {
  const CrashGuard guard(file);
  return hdf5::Reader(file).has_dataset(path);
}

void write_arrays(const std::filesystem::path& file, const std::map<std::string, Tensor>& arrays,
                  const std::map<std::string, double>& numbers, const std::map<std::string, std::string>& texts) {
  std::size_t bytes = 1 << 15;
  for (const auto& [path, array] : arrays) bytes += array.nbytes() + 1024;
  write_sealed(file, {"gaussflow-sums", 1, 0}, static_cast<std::int64_t>(bytes), arrays, [&](hdf5::Writer& writer) {
    for (const auto& [path, array] : arrays) writer.tensor(path, array);
    for (const auto& [name, value] : numbers) writer.attribute("/", name, value);
    for (const auto& [name, value] : texts) writer.attribute("/", name, value);
  });
}

}  // namespace gaussflow::io
