// Replaces the other files of this folder in a build without oneDNN.
#include "onednn.hpp"

namespace caffe::onednn {

bool Enabled() { return false; }
void SetEnabled(bool) {}
bool MultipliesBFloat16() { return false; }
const char* Version() { return ""; }

std::unique_ptr<WeightedPrimitive> Convolution::Make(const kernels::ConvolutionShape&, int,
                                                     const Options&) {
  return nullptr;
}
std::unique_ptr<WeightedPrimitive> Convolution::Make(const kernels::ConvolutionShape&, int,
                                                     const Options&, const ConvolutionPlaces&) {
  return nullptr;
}
std::unique_ptr<WeightedPrimitive> Deconvolution::Make(const kernels::ConvolutionShape&, int,
                                                       const Options&) {
  return nullptr;
}
std::unique_ptr<WeightedPrimitive> InnerProduct::Make(int, int, int, bool, const Layout&,
                                                      const Options&, int) {
  return nullptr;
}
std::unique_ptr<Activation> Activation::Make(const kernels::Activation&, size_t, const Layout&,
                                             bool) {
  return nullptr;
}
std::unique_ptr<Lrn> Lrn::Make(int, int, int, int, int, float, float, float, bool, const Layout&) {
  return nullptr;
}
std::unique_ptr<Pooling> Pooling::Make(const kernels::PoolingShape&, int, int, bool, bool,
                                       const Layout&) {
  return nullptr;
}
std::unique_ptr<Softmax> Softmax::Make(int, int, int, bool, const Layout&) { return nullptr; }
std::unique_ptr<BatchNorm> BatchNorm::Make(int, int, int, const Options&, const Layout&) {
  return nullptr;
}
std::unique_ptr<Elementwise> Elementwise::Make(Operation, const std::vector<float>&, size_t,
                                               const Layout&) {
  return nullptr;
}
std::unique_ptr<Concat> Concat::Make(int, const std::vector<int>&, int, int) { return nullptr; }
std::unique_ptr<Lstm> Lstm::Make(int, int, int, int, bool) { return nullptr; }

}  // namespace caffe::onednn
