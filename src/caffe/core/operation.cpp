#include "caffe/operation.hpp"

#include "caffe/kernels/activation.hpp"

#include <algorithm>
#include <map>

#include "caffe/common.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/proto/caffe.pb.h"
#include "own_operation.hpp"
#include "repeatable.hpp"

namespace caffe {
namespace {

std::map<std::string, Operation>& Table() {
  static std::map<std::string, Operation> table;
  return table;
}

bool Lists(const std::vector<int>& which, int index) {
  return std::any_of(which.begin(), which.end(),
                     [index](int entry) { return entry == -1 || entry == index; });
}

}  // namespace

bool Operation::IsFloatTop(int index) const { return Lists(float_tops, index); }
bool Operation::IsFloatBottom(int index) const { return Lists(float_bottoms, index); }
bool Operation::IsShapeBottom(int index) const { return Lists(shape_bottoms, index); }

bool Operation::ReadsShapesOnly() const {
  return std::count(shape_bottoms.begin(), shape_bottoms.end(), -1) > 0;
}

bool SharesBottom(const LayerParameter& layer) {
  return layer.bottom_size() == 1 && OperationTable::Of(layer.type()).shares_bottom;
}

bool OperationTable::Add(const Operation& operation) {
  const bool added = Table().emplace(operation.type, operation).second;
  CHECK(added) << "operation " << operation.type << " is registered twice";
  return true;
}

// A layer from outside that replaces the library's own shares no more than the name.
const Operation* OperationTable::Find(const std::string& type) {
  const auto found = Table().find(type);
  if (found == Table().end() || LayerRegistry<float>::IsReplaced(type)) return nullptr;
  return &found->second;
}

const Operation& OperationTable::Of(const std::string& type) {
  static const Operation unknown("");
  const Operation* found = Find(type);
  return found ? *found : unknown;
}

const Operation& OwnOperation(const std::string& type) { return Table().at(type); }

std::vector<const Operation*> OperationTable::All() {
  std::vector<const Operation*> all;
  for (const auto& entry : Table()) all.push_back(&entry.second);
  return all;
}

std::optional<kernels::Activation> ActivationOf(const LayerParameter& layer) {
  const Operation* operation = OperationTable::Find(layer.type());
  if (!operation || !operation->activation) return {};
  return operation->activation(layer);
}

bool IsRepeatable(const LayerParameter& layer) {
  const Operation* operation = OperationTable::Find(layer.type());
  if (!operation || operation->stateful) return false;
  const BatchNormParameter& norm = layer.batch_norm_param();
  const bool collects = norm.has_use_global_stats() && !norm.use_global_stats();
  if (layer.type() == "BatchNorm" && collects) return false;
  const DropoutParameter& dropout = layer.dropout_param();
  return layer.type() != "Dropout" || !dropout.sample_weights_test() ||
         dropout.dropout_ratio() == 0;
}

}  // namespace caffe
