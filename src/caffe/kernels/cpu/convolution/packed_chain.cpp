#include "caffe/kernels/packed_chain.hpp"

#include "caffe/error.hpp"
#include "row_chain.hpp"

namespace caffe::kernels {
namespace {

using PackedRows = RowChain<PackedConvolution>;

std::shared_ptr<const PackedConvolution> KernelOf(const PackedChain::Link& link,
                                                  const ConvolutionShape& shape) {
  if (link.channels_last) {
    return PackedConvolution::MakeChannelsLast(shape, /*plain_input=*/false, link.math,
                                               *link.channels_last);
  }
  if (link.math != ElementType::BFLOAT16) return nullptr;
  return shape.is_depthwise() ? PackedConvolution::Make(shape, /*plain_input=*/false, link.math)
                              : PackedConvolution::MakeInPairs(shape, /*plain_input=*/false);
}

class PackedRowChain : public PackedChain {
 public:
  PackedRowChain(std::shared_ptr<const PackedRows> rows, std::vector<ElementType> between)
      : rows_(std::move(rows)), between_(std::move(between)) {}

  const PackedConvolution& kernel(size_t link) const override { return rows_->kernel(link); }
  size_t scratch_bytes(int num) const override { return rows_->scratch_bytes(num); }
  void Forward(int num, Numbers x, const std::vector<Layer>& layers, void* scratch,
               const Destination& y) const override {
    Require(layers.size() == rows_->size(), "a chain of ", rows_->size(), " convolutions gets ",
            layers.size());
    const bool adds = layers.back().post.residual.data != nullptr;
    rows_->Forward(num, x, between_, adds, scratch, y,
                   [&](size_t link, const PackedConvolution& kernel, const Numbers& from,
                       size_t residual, void* own, const Destination& to) {
                     PostOps post = layers[link].post;
                     if (post.residual.data) post.residual.data = post.residual.at(residual);
                     kernel.Forward(1, from, layers[link].weights, post, static_cast<float*>(own),
                                    to);
                   });
  }

 private:
  const std::shared_ptr<const PackedRows> rows_;
  const std::vector<ElementType> between_;
};

}  // namespace

std::shared_ptr<const PackedChain> PackedChain::Make(const std::vector<Link>& links) {
  std::vector<PackedRows::Link> all;
  std::vector<ElementType> between;
  const bool channels_last = !links.empty() && links[0].channels_last;
  for (size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    if (link.channels_last.has_value() != channels_last) return nullptr;
    const bool in_place = i + 1 < links.size() && links[i + 1].shape.is_pointwise() &&
                          link.output == ElementType::BFLOAT16;
    const size_t element = SizeOf(link.output);
    all.push_back({link.shape, element, PixelBetween(link.shape, element, in_place)});
    if (i + 1 < links.size()) between.push_back(link.output);
  }
  const auto rows = PackedRows::Make(
      all, channels_last,
      [links](size_t i, const ConvolutionShape& shape) { return KernelOf(links[i], shape); });
  return rows ? std::make_shared<PackedRowChain>(rows, std::move(between)) : nullptr;
}

}  // namespace caffe::kernels
