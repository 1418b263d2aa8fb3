#include "caffe/util/record_share.hpp"

#include <set>

#include "caffe/data/rank_settings.hpp"
#include "caffe/layer_factory.hpp"

namespace caffe {
namespace {

std::set<std::string>& Types() {
  static std::set<std::string> types;
  return types;
}

}  // namespace

RecordShare::RecordShare(Phase phase) : by_batch_(phase == TEST) {
  if (phase == TEST && !RankSettings::Current().share_tests) return;
  solvers_ = Caffe::solver_count();
  rank_ = Caffe::solver_rank();
}

bool RecordShare::AddType(const std::string& layer_type) {
  Types().insert(layer_type);
  return true;
}

bool RecordShare::IsUsedBy(const std::string& layer_type) {
  return Types().count(layer_type) > 0 && !LayerRegistry<float>::IsReplaced(layer_type);
}

}  // namespace caffe
