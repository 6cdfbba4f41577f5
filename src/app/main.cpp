#include "gaussflow/core/random.hpp"
#include "gaussflow/core/version.hpp"

#include <fmt/format.h>

int main() { fmt::print("gaussflow {} {} {}\n", gaussflow::version(), gaussflow::torch_version(), gaussflow::shape_text(gaussflow::normal({}, 3, 2))); }
