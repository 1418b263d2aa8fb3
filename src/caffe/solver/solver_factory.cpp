#include "caffe/solver_factory.hpp"

#include "caffe/solver.hpp"
#include "caffe/util/text/edit_distance.hpp"

namespace caffe {

template <typename Dtype>
typename SolverRegistry<Dtype>::CreatorRegistry& SolverRegistry<Dtype>::Registry() {
  static CreatorRegistry registry;
  return registry;
}

template <typename Dtype>
void SolverRegistry<Dtype>::AddCreator(const string& type, Creator creator) {
  const bool added = Registry().emplace(type, creator).second;
  CHECK(added) << "Solver type " << type << " already registered.";
}

template <typename Dtype>
Solver<Dtype>* SolverRegistry<Dtype>::CreateSolver(const SolverParameter& param) {
  const auto found = Registry().find(param.type());
  if (found == Registry().end()) {
    string known;
    for (const string& type : SolverTypeList()) known += (known.empty() ? "" : ", ") + type;
    const string near = DidYouMean(param.type(), SolverTypeList());
    Fail("unknown solver ", Error::Field{"type"}, " '", param.type(), "'",
         near.empty() ? "." : near, " Known solver types: ", known);
  }
  return found->second(param);
}

// Nets that were read from files name these.
template <typename Dtype>
Solver<Dtype>* SolverRegistry<Dtype>::CreateSolver(const SolverParameter& param,
                                                   const string& param_file) {
  try {
    return CreateSolver(param);
  } catch (Error& error) {
    const bool is_about_fields = !error.layer().empty() || !error.field().empty();
    if (error.file().empty() && is_about_fields) error.AddFile(param_file);
    throw;
  }
}

template <typename Dtype>
vector<string> SolverRegistry<Dtype>::SolverTypeList() {
  vector<string> types;
  for (const auto& entry : Registry()) types.push_back(entry.first);
  return types;
}

template class SolverRegistry<float>;
template class SolverRegistry<double>;

}  // namespace caffe
