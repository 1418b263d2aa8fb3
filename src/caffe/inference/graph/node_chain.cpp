#include "node_chain.hpp"

#include "caffe/error.hpp"

namespace caffe {
namespace inference {

std::vector<Shape> NodeChain::Reshape(const std::vector<Shape>& bottoms) {
  std::vector<Shape> tops = main_.Reshape(bottoms);
  if (!tops.empty()) shape_ = tops[0];
  return tops;
}

void NodeChain::Run(const std::vector<const float*>& bottoms, const std::vector<Operand>& operands,
                    std::vector<float*> tops) {
  if (epilogue_.empty()) return main_.Run(bottoms, tops);
  const size_t count = CountOf(shape_);
  float* const result = tops[0];
  between_[0].resize(count);
  tops[0] = between_[0].data();
  main_.Run(bottoms, tops);
  const float* from = tops[0];
  for (size_t i = 0; i < epilogue_.size(); ++i) {
    std::vector<Shape> shapes = {shape_};
    std::vector<const float*> values = {from};
    if (operands[i].data) {
      shapes.push_back(operands[i].shape);
      values.push_back(operands[i].data);
    }
    float* to = result;
    if (i + 1 < epilogue_.size()) {
      std::vector<float>& next = between_[(i + 1) % 2];
      next.resize(count);
      to = next.data();
    }
    Require(epilogue_[i].Reshape(shapes)[0] == shape_, "an epilogue changes the shape");
    epilogue_[i].Run(values, {to});
    from = to;
  }
}

}  // namespace inference
}  // namespace caffe
