#include "caffe/kernels/int8_chain.hpp"

#include "caffe/error.hpp"
#include "caffe/kernels/cpu/convolution/row_chain.hpp"
#include "int8_rescaling.hpp"

namespace caffe::kernels {
namespace {

using Kernel = std::shared_ptr<const Int8Convolution>;
using Rows = RowChain<Int8Convolution>;
using Layer = Int8Chain::Layer;
using IntegerLayer = Int8Chain::IntegerLayer;

Kernel KernelOf(const Int8Chain::Link& link, const ConvolutionShape& shape) {
  if (link.channels_last) {
    return Int8Convolution::MakeChannelsLast(shape, /*plain_input=*/false, *link.channels_last);
  }
  return link.small_pairs ? Int8Convolution::MakeForSmallPairs(shape, /*plain_input=*/false)
                          : Int8Convolution::Make(shape, /*plain_input=*/false);
}

// What follows on the sums of a link, whose residual begins so many elements behind that of the
// call.

bool AddsResidual(const Layer& layer) { return layer.post.residual.data != nullptr; }
bool AddsResidual(const IntegerLayer& layer) { return layer.residual != nullptr; }

void RunLink(const Int8Convolution& kernel, const Numbers& x, const Layer& layer, size_t offset,
             void* scratch, const Destination& y) {
  PostOps post = layer.post;
  if (AddsResidual(layer)) post.residual.data = post.residual.at(offset);
  kernel.Forward(1, x, layer.packed, post, scratch, y, layer.input_zero_point);
}

void RunLink(const Int8Convolution& kernel, const Numbers& x, const IntegerLayer& layer,
             size_t offset, void* scratch, const Destination& y) {
  Residual residual;
  if (AddsResidual(layer)) {
    residual = *layer.residual;
    residual.data = static_cast<const char*>(residual.data) + offset;
  }
  kernel.Forward(1, x, layer.packed, *layer.by, scratch, y,
                 AddsResidual(layer) ? &residual : nullptr, layer.rows);
}

class Int8RowChain : public Int8Chain {
 public:
  explicit Int8RowChain(std::shared_ptr<const Rows> rows) : rows_(std::move(rows)) {}

  const Int8Convolution& kernel(size_t link) const override { return rows_->kernel(link); }
  size_t scratch_bytes(int num) const override { return rows_->scratch_bytes(num); }
  void Forward(int num, Numbers x, const std::vector<Layer>& layers, void* scratch,
               const Destination& y) const override {
    Run(num, x, layers, scratch, y);
  }
  void Forward(int num, Numbers x, const std::vector<IntegerLayer>& layers, void* scratch,
               const Destination& y) const override {
    Run(num, x, layers, scratch, y);
  }

 private:
  template <typename L>
  void Run(int num, const Numbers& x, const std::vector<L>& layers, void* scratch,
           const Destination& y) const {
    Require(layers.size() == rows_->size(), "a chain of ", rows_->size(), " convolutions gets ",
            layers.size());
    std::vector<ElementType> between;
    for (size_t i = 0; i + 1 < layers.size(); ++i) {
      RequireBytes(layers[i].type);
      between.push_back(layers[i].type);
    }
    rows_->Forward(num, x, between, AddsResidual(layers.back()), scratch, y,
                   [&](size_t link, const Int8Convolution& kernel, const Numbers& from,
                       size_t residual, void* own, const Destination& to) {
                     RunLink(kernel, from, layers[link], residual, own, to);
                   });
  }

  const std::shared_ptr<const Rows> rows_;
};

}  // namespace

std::shared_ptr<const Int8Chain> Int8Chain::Make(const std::vector<Link>& links) {
  std::vector<Rows::Link> all;
  const bool channels_last = !links.empty() && links[0].channels_last;
  for (size_t i = 0; i < links.size(); ++i) {
    if (links[i].channels_last.has_value() != channels_last) return nullptr;
    const bool in_place = i + 1 < links.size() && links[i + 1].shape.is_pointwise();
    all.push_back({links[i].shape, 1, PixelBetween(links[i].shape, 1, in_place)});
  }
  const auto rows = Rows::Make(
      all, channels_last,
      [links](size_t link, const ConvolutionShape& shape) { return KernelOf(links[link], shape); });
  return rows ? std::make_shared<Int8RowChain>(rows) : nullptr;
}

}  // namespace caffe::kernels
