#include "divide_batches.hpp"

#include "caffe/core/error_context.hpp"
#include "caffe/net.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

uint32_t Divided(uint32_t batch_size, int ranks, const char* field) {
  Require(batch_size % ranks == 0, field, " ", batch_size, " cannot be divided among ", ranks,
          " ranks: with -batch_per host it has to be a multiple of ", ranks);
  return batch_size / ranks;
}

void DivideBatch(int ranks, LayerParameter* layer) {
  const auto divide = [ranks](auto* param, const char* field) {
    param->set_batch_size(Divided(param->batch_size(), ranks, field));
  };
  if (layer->has_data_param()) divide(layer->mutable_data_param(), "data_param: batch_size");
  if (layer->has_image_data_param()) {
    divide(layer->mutable_image_data_param(), "image_data_param: batch_size");
  }
  if (layer->has_dense_image_data_param()) {
    divide(layer->mutable_dense_image_data_param(), "dense_image_data_param: batch_size");
  }
  if (layer->has_hdf5_data_param()) {
    divide(layer->mutable_hdf5_data_param(), "hdf5_data_param: batch_size");
  }
  if (layer->has_window_data_param()) {
    divide(layer->mutable_window_data_param(), "window_data_param: batch_size");
  }
  if (!layer->has_memory_data_param()) return;
  MemoryDataParameter* memory = layer->mutable_memory_data_param();
  if (memory->dim_size() > 0) {
    memory->set_dim(0, Divided(memory->dim(0), ranks, "memory_data_param: dim"));
  } else {
    divide(memory, "memory_data_param: batch_size");
  }
}

}  // namespace

void DivideBatches(int ranks, NetParameter* net) {
  UpgradeNetAsNeeded("the net", net);
  NetParameter included;
  Net<float>::FilterNet(*net, &included);
  for (LayerParameter& layer : *included.mutable_layer()) {
    WithLayer(layer, [&] { DivideBatch(ranks, &layer); });
  }
  net->Swap(&included);
}

}  // namespace caffe
