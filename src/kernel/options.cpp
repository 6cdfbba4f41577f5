#include "gaussflow/kernel/options.hpp"

#include "kernel/names.hpp"

namespace gaussflow {

const std::vector<std::pair<std::string, Reduction>>& reduction_names() {
  static const std::vector<std::pair<std::string, Reduction>> names{
      {"auto", Reduction::automatic},    {"direct", Reduction::direct}, {"reweight", Reduction::reweight},
      {"prescale", Reduction::prescale}, {"logit", Reduction::logit},   {"reference", Reduction::reference}};
  return names;
}

const std::vector<std::pair<std::string, AttentionBackend>>& backend_names() {
  static const std::vector<std::pair<std::string, AttentionBackend>> names{
      {"auto", AttentionBackend::automatic},
      {"flash", AttentionBackend::flash},
      {"cudnn", AttentionBackend::cudnn},
      {"memory_efficient", AttentionBackend::memory_efficient},
      {"math", AttentionBackend::math}};
  return names;
}

std::string name_of(Reduction reduction) { return name_in(reduction_names(), reduction); }
std::string name_of(AttentionBackend backend) { return name_in(backend_names(), backend); }

}  // namespace gaussflow
