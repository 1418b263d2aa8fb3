#ifndef CAFFE_ONEDNN_FOR_SHAPE_HPP_
#define CAFFE_ONEDNN_FOR_SHAPE_HPP_

#include <memory>
#include <type_traits>
#include <vector>

#include "caffe/engine.hpp"
#include "caffe/types.hpp"
#include "onednn.hpp"

namespace caffe::onednn {

/// Whether a layer of these types is to try oneDNN: it asks for it, or leaves the choice to us and
/// oneDNN is `faster`.
template <typename Dtype>
bool IsWanted(Engine engine, const LayerTypes& types, bool faster) {
  return Enabled() && std::is_same<Dtype, float>::value &&
         types.WithoutBFloat16() == LayerTypes::All(ElementType::FLOAT) &&
         (engine == Engine::ONEDNN || (engine == Engine::DEFAULT && faster));
}

/// A layer's primitive for the shape and layout that its bottom has now; made again when they
/// change. Null where oneDNN has none.
template <typename Primitive>
class ForShape {
 public:
  template <typename Make>
  Primitive* Get(const std::vector<int>& shape, const Layout& layout, Make&& make) {
    if (!made_ || shape_ != shape || !(layout_ == layout)) {
      made_ = false;  // unless all of it is there
      primitive_ = make();
      shape_ = shape;
      layout_ = layout;
      made_ = true;
    }
    return primitive_.get();
  }
  /// The bottom's layout at the latest Get.
  const Layout& layout() const { return layout_; }

 private:
  bool made_ = false;
  std::vector<int> shape_;
  Layout layout_;
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace caffe::onednn

#endif  // CAFFE_ONEDNN_FOR_SHAPE_HPP_
