#ifndef CAFFE_LAYER_FACTORY_HPP_
#define CAFFE_LAYER_FACTORY_HPP_

#include <map>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

template <typename Dtype>
class Layer;

/// Who registers a layer type: the library itself, or code that is built on it.
enum class LayerOrigin { BUILT_IN, OUTSIDE };

/// Layer types by name. A layer written outside the library registers itself with
///
///     INSTANTIATE_CLASS(MyAwesomeLayer);
///     REGISTER_LAYER_CLASS(MyAwesome);
///
/// and is then what `type: "MyAwesome"` makes. It may have the name of a layer that this library
/// has and BVLC Caffe 1.0 has not ("Permute", "DepthwiseConvolution", ...), and then replaces it in
/// the whole program, in whichever order the two were registered; the first one that is made logs a
/// line. Nothing is assumed of a layer that replaces another: OperationTable has no row for it.
template <typename Dtype>
class LayerRegistry {
 public:
  typedef shared_ptr<Layer<Dtype>> (*Creator)(const LayerParameter&);
  typedef std::map<string, Creator> CreatorRegistry;

  static CreatorRegistry& Registry();
  /// Aborts if there is one of the same origin already, or if one from outside has the name of a
  /// layer of BVLC Caffe 1.0; in a library that a tool loads for its -plugins the tool ends with an
  /// Error.
  static void AddCreator(const string& type, Creator creator,
                         LayerOrigin origin = LayerOrigin::OUTSIDE);
  /// True if a layer from outside has taken the place of the library's own, here or in Registry().
  static bool IsReplaced(const string& type);
  /// Throws Error for an unknown type, naming the nearest known ones. The layer's layer_param() has
  /// this type, whatever its class handed to a base class.
  static shared_ptr<Layer<Dtype>> CreateLayer(const LayerParameter& param);
  static vector<string> LayerTypeList();

 private:
  LayerRegistry() {}
};

template <typename Dtype>
class LayerRegisterer {
 public:
  LayerRegisterer(const string& type, shared_ptr<Layer<Dtype>> (*creator)(const LayerParameter&),
                  LayerOrigin origin = LayerOrigin::OUTSIDE) {
    LayerRegistry<Dtype>::AddCreator(type, creator, origin);
  }
};

// Only the library's own build defines CAFFE_BUILT_IN.
#ifdef CAFFE_BUILT_IN
#define CAFFE_LAYER_ORIGIN ::caffe::LayerOrigin::BUILT_IN
#else
#define CAFFE_LAYER_ORIGIN ::caffe::LayerOrigin::OUTSIDE
#endif

#define REGISTER_LAYER_CREATOR(type, creator)                                                  \
  static LayerRegisterer<float> g_creator_f_##type(#type, creator<float>, CAFFE_LAYER_ORIGIN); \
  static LayerRegisterer<double> g_creator_d_##type(#type, creator<double>, CAFFE_LAYER_ORIGIN)

#define REGISTER_LAYER_CLASS(type)                                              \
  template <typename Dtype>                                                     \
  shared_ptr<Layer<Dtype>> Creator_##type##Layer(const LayerParameter& param) { \
    return shared_ptr<Layer<Dtype>>(new type##Layer<Dtype>(param));             \
  }                                                                             \
  REGISTER_LAYER_CREATOR(type, Creator_##type##Layer)

}  // namespace caffe

#endif  // CAFFE_LAYER_FACTORY_HPP_
