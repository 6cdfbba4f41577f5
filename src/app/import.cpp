#include "gaussflow/core/data_ref.hpp"
#include "gaussflow/core/say.hpp"
#include "gaussflow/core/version.hpp"
#include "gaussflow/io/table.hpp"

#include "app/options.hpp"
#include "app/verbs.hpp"

#include <fmt/format.h>

#include <memory>

namespace gaussflow::app {

namespace {

struct ImportArguments {
  std::string in;
  std::string out;
  std::string weights;
  bool transpose = false;
  bool overwrite = false;
};

ExitCode import_samples(const ImportArguments& arguments) {
  const DataRef ref = parse_data_ref(arguments.in, {});
  check_output("import", ref.file, arguments.out, arguments.overwrite);
  const io::SampleFile found = io::import_samples(ref, {.weights = arguments.weights, .transpose = arguments.transpose});
  for (const std::string& note : found.notes) say("note: {}\n", note);
  io::write_samples(arguments.out, found.samples, found.weights, found.names,
                    {.texts = {{"imported_from", DataRef{ref.file.filename(), found.dataset}.text()},
                               {"sha256", found.digest},
                               {"version", version()}},
                     .numbers = {}});
  say("{}: {} of dimension {} from {}{}\n", arguments.out, counted(found.samples.size(0), "sample"), found.samples.size(1),
      DataRef{ref.file, found.dataset}.text(), found.weights.defined() ? ", weighted" : "");
  return ExitCode::ok;
}

}  // namespace

Action add_import(CLI::App& verb) {
  const auto arguments = std::make_shared<ImportArguments>();
  verb.add_option("input", arguments->in, "samples: FILE or FILE:/dataset (HDF5, csv, npy or npz)")
      ->required()
      ->type_name("FILE");
  verb.add_option("-o,--output", arguments->out, "HDF5 file for /samples [M,D] and /weights [M]")
      ->required()
      ->type_name("OUT.h5");
  verb.add_option("--weights", arguments->weights, "dataset of weights [M] in the same file")->type_name("DATASET");
  verb.add_flag("--transpose", arguments->transpose, "the dataset is [D,M]");
  verb.add_flag("--overwrite", arguments->overwrite, "replace the output when it is there");
  return [arguments] { return import_samples(*arguments); };
}

}  // namespace gaussflow::app
