#ifndef CAFFE_TEST_OUT_OF_MEMORY_LAYER_HPP_
#define CAFFE_TEST_OUT_OF_MEMORY_LAYER_HPP_

#include <algorithm>
#include <new>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// A layer that memory is refused to at the step that its name says: "setup", "reshape", "forward"
/// or "backward"; "elements" asks, in the forward pass, for more than a container can have.
class OutOfMemoryLayer : public Layer<float> {
 public:
  explicit OutOfMemoryLayer(const LayerParameter& param) : Layer<float>(param) {}
  void LayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>&) override {
    RefusedIn("setup");
  }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    RefusedIn("reshape");
    top[0]->ReshapeLike(*bottom[0]);
  }
  const char* type() const override { return "OutOfMemory"; }

  /// Makes the type known.
  static void Register() {
    static const bool registered = [] {
      LayerRegistry<float>::AddCreator("OutOfMemory", [](const LayerParameter& param) {
        return boost::shared_ptr<Layer<float>>(new OutOfMemoryLayer(param));
      });
      return true;
    }();
    (void)registered;
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    RefusedIn("forward");
    if (layer_param_.name() == "elements") std::vector<char>().resize(size_t(-1));
    std::copy_n(bottom[0]->cpu_data(), bottom[0]->count(), top[0]->mutable_cpu_data());
  }
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {
    RefusedIn("backward");
  }

 private:
  void RefusedIn(const char* step) const {
    if (layer_param_.name() == step) throw std::bad_alloc();  // sanitizers end on a real one
  }
};

}  // namespace caffe

#endif  // CAFFE_TEST_OUT_OF_MEMORY_LAYER_HPP_
