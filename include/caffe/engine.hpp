#ifndef CAFFE_ENGINE_HPP_
#define CAFFE_ENGINE_HPP_

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Which implementation computes a layer.
enum class Engine {
  DEFAULT,   ///< the one that was measured to be the fastest, of those that can
  ONEDNN,    ///< oneDNN where it has the operation for the layer's sizes, else as DEFAULT
  REFERENCE  ///< the definition in plain loops and double sums, where there is one; else as DEFAULT
};

/// What a layer asks for: `engine` of its own parameters (convolution_param, pooling_param, ...),
/// or, for types whose parameters have no such field, `engine` of the layer, a name (Intel Caffe's
/// form: "MKLDNN", "MKLDNN:CPU"). CAFFE and CUDNN are DEFAULT on a CPU. Throws Error for a name
/// that is none.
Engine ReadEngine(const LayerParameter& layer);

/// False if the layer asks for engine CAFFE: on a GPU, the library's own kernels in cuDNN's place.
bool MayUseCudnn(const LayerParameter& layer);

/// Gives the net's `engine` (Intel Caffe's) to each of its layers whose own field states none; the
/// layer's own parameters still have the last word. Likewise its default_cudnn_math_override, and
/// to convolutions its default_conv_algos_override (NVCaffe's). Throws Error for a name that is
/// none.
void PropagateEngine(NetParameter* net);

/// What Layer::forward_engine says of a pass that oneDNN, or else the definition, computed.
inline const char* EngineName(bool by_onednn, bool by_definition = false) {
  return by_onednn ? "oneDNN" : by_definition ? "reference" : "native";
}

/// Logs a line where `layer` asks for an engine that this build does not have. Throws Error as
/// ReadEngine does.
void ExplainEngine(const LayerParameter& layer);

}  // namespace caffe

#endif  // CAFFE_ENGINE_HPP_
