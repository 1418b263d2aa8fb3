#ifndef CAFFE_TEST_HUNGRY_LAYER_HPP_
#define CAFFE_TEST_HUNGRY_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// A layer that asks for more memory than there is, at the step that its name says: "setup",
/// "reshape", "forward" or "backward", of a container that refuses it; "elements", in the forward
/// pass, of one that cannot have as many.
class HungryLayer : public Layer<float> {
 public:
  explicit HungryLayer(const LayerParameter& param) : Layer<float>(param) {}
  void LayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>&) override {
    AskIn("setup", size_t(1) << 60);
  }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    AskIn("reshape", size_t(1) << 60);
    top[0]->ReshapeLike(*bottom[0]);
  }
  const char* type() const override { return "Hungry"; }

  /// Makes the type known.
  static void Register() {
    static const bool registered = [] {
      LayerRegistry<float>::AddCreator("Hungry", [](const LayerParameter& param) {
        return boost::shared_ptr<Layer<float>>(new HungryLayer(param));
      });
      return true;
    }();
    (void)registered;
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    AskIn("forward", size_t(1) << 60);
    AskIn("elements", size_t(-1));
    std::copy_n(bottom[0]->cpu_data(), bottom[0]->count(), top[0]->mutable_cpu_data());
  }
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {
    AskIn("backward", size_t(1) << 60);
  }

 private:
  void AskIn(const char* step, size_t bytes) {
    if (layer_param_.name() == step) taken_.resize(bytes);
  }

  std::vector<char> taken_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_HUNGRY_LAYER_HPP_
