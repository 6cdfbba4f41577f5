#include "gaussflow/io/array_file.hpp"

#include "gaussflow/io/durable.hpp"

#include "io/hdf5_reader.hpp"
#include "io/hdf5_writer.hpp"
#include "io/sealed_file.hpp"

namespace gaussflow::io {

bool has_dataset(const std::filesystem::path& file, const std::string& path) { return hdf5::Reader(file).has_dataset(path); }

void write_arrays(const std::filesystem::path& file, const std::map<std::string, Tensor>& arrays,
                  const std::map<std::string, double>& numbers, const std::map<std::string, std::string>& texts) {
  std::size_t bytes = 1 << 15;
  for (const auto& [path, array] : arrays) bytes += array.nbytes() + 1024;
  replace_file(file, [&](const std::filesystem::path& temporary) {
    hdf5::Writer writer(temporary, file, {.reserve = static_cast<std::int64_t>(bytes)});
    for (const auto& [path, array] : arrays) writer.tensor(path, array);
    for (const auto& [name, value] : numbers) writer.attribute("/", name, value);
    for (const auto& [name, value] : texts) writer.attribute("/", name, value);
    writer.close();
    check_written(temporary, file, arrays);
  });
}

}  // namespace gaussflow::io
