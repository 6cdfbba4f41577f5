#include "gaussflow/io/array_file.hpp"

#include "gaussflow/io/durable.hpp"

#include "io/hdf5_reader.hpp"
#include "io/hdf5_writer.hpp"

namespace gaussflow::io {

bool has_dataset(const std::filesystem::path& file, const std::string& path) { return hdf5::Reader(file).has_dataset(path); }

void write_arrays(const std::filesystem::path& file, const std::map<std::string, Tensor>& arrays,
                  const std::map<std::string, double>& numbers, const std::map<std::string, std::string>& texts) {
  replace_file(file, [&](const std::filesystem::path& temporary) {
    hdf5::Writer writer(temporary, file, {});
    for (const auto& [path, array] : arrays) writer.tensor(path, array);
    for (const auto& [name, value] : numbers) writer.attribute("/", name, value);
    for (const auto& [name, value] : texts) writer.attribute("/", name, value);
    writer.close();
  });
}

}  // namespace gaussflow::io
