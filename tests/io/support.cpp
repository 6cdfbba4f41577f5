#include "io/support.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"

#include "io/refusal.hpp"

#include <ATen/ATen.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace support {

using namespace gaussflow;

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "gaussflow-io-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) result.push_back(entry.path().filename().string());
  std::sort(result.begin(), result.end());
  return result;
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void set_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

void flip(const std::filesystem::path& file, std::size_t bit) {
  std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
  const auto at = static_cast<std::streamoff>(bit / 8);
  bytes.seekg(at);
  const int byte = bytes.get();
  bytes.seekp(at);
  bytes.put(static_cast<char>(byte ^ (1 << bit % 8)));
}

io::Checkpoint rich_checkpoint(std::int64_t step, std::int64_t particles) {
  io::Checkpoint result;
  const Draw draw{1, Stream::noise, static_cast<std::uint64_t>(step)};
  State& state = result.state;
  state.x = normal(draw, particles, 3).to(at::kFloat);
  state.log_weights = normal({2, Stream::noise, 0}, particles, 1).view({-1});
  state.step = step;
  state.time = 0.1 * static_cast<double>(step);
  state.slots["adam.m"] = normal({3, Stream::noise, 0}, particles, 3);
  state.slots["history"] = normal({4, Stream::noise, 0}, 4, particles * 3).to(at::kFloat).view({4, particles, 3});
  state.slots["count"] = at::scalar_tensor(step, at::kLong);
  state.slots["frozen"] = at::arange(particles).remainder(2).to(at::kBool);
  state.slots["bytes"] = at::arange(5).to(at::kByte);
  state.slots["empty"] = at::empty({0, 3}, at::kDouble);
  state.slots["tau is NaN"] = at::scalar_tensor(std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  result.config = "flow: mmd\nname: \"é\"\n";
  result.fixed = "flow.type=mmd\n";
  result.target = {"samples", std::string(64, 'a'), {500, 3}};
  result.provenance = {{"version", "0.1.0"}, {"device", "cpu"}, {"revision", ""}};
  return result;
}

namespace {

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  const Tensor left = a.contiguous(), right = b.contiguous();
  return left.scalar_type() == right.scalar_type() && left.sizes() == right.sizes() &&
         (left.nbytes() == 0 || std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0);
}

}  // namespace

bool same(const io::Checkpoint& a, const io::Checkpoint& b) {
  if (a.state.slots.size() != b.state.slots.size()) return false;
  for (const auto& [name, values] : a.state.slots)
    if (!b.state.slots.contains(name) || !same_tensor(values, b.state.slots.at(name))) return false;
  return same_tensor(a.state.x, b.state.x) && same_tensor(a.state.log_weights, b.state.log_weights) &&
         a.state.step == b.state.step && a.state.time == b.state.time && a.config == b.config && a.fixed == b.fixed &&
         a.target == b.target && a.provenance == b.provenance;
}

int in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    std::exit(code);  // through the exit handlers: they must not crash either
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string refusal(const std::filesystem::path& file, const std::string& dataset, const io::SampleOptions& options) {
  return message_of([&] { io::read_samples({file, dataset}, options); });
}

}  // namespace support
