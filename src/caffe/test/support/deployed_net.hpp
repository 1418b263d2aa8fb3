#ifndef CAFFE_TEST_DEPLOYED_NET_HPP_
#define CAFFE_TEST_DEPLOYED_NET_HPP_

#include <string>

#include "caffe/net.hpp"
#include "caffe/util/text/letters.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

/// The TEST phase of a net as it is deployed: layers that read data become an input, what compares
/// with labels is left out.
inline NetParameter Deployed(const std::string& file) {
  NetParameter whole, filtered, result;
  ReadNetParamsFromTextFileOrDie(file, &whole);
  whole.mutable_state()->set_phase(TEST);
  Net<float>::FilterNet(whole, &filtered);
  result = filtered;
  result.clear_layer();
  for (const LayerParameter& layer : filtered.layer()) {
    if (EndsWith(layer.type(), "Loss") || layer.type() == "Accuracy") continue;
    LayerParameter* added = result.add_layer();
    if (layer.type() != "Data" && layer.type() != "MemoryData") {
      *added = layer;
      continue;
    }
    added->set_name(layer.name());
    added->set_type("Input");
    added->add_top(layer.top(0));
    const MemoryDataParameter& size = layer.memory_data_param();
    BlobShape* shape = added->mutable_input_param()->add_shape();
    const int height = size.has_height() ? size.height() : 32;
    for (const int extent : {1, size.has_channels() ? int(size.channels()) : 3, height, height}) {
      shape->add_dim(extent);
    }
  }
  return result;
}

}  // namespace caffe

#endif  // CAFFE_TEST_DEPLOYED_NET_HPP_
