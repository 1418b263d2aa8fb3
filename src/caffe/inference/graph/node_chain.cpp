#include "node_chain.hpp"

#include "caffe/error.hpp"

namespace caffe::inference {

std::vector<Shape> NodeChain::Reshape(const std::vector<Shape>& bottoms) {
  std::vector<Shape> tops = main_.Reshape(bottoms);
  if (!tops.empty()) shape_ = tops[0];
  return tops;
}

void NodeChain::Run(const std::vector<const float*>& bottoms, const std::vector<Operand>& operands,
                    std::vector<float*> tops) {
  if (epilogue_.empty()) return main_.Run(bottoms, tops);
  const auto place = [](const float* data) {
    return NodeLayer::Place{const_cast<float*>(data), ElementType::FLOAT, Layout(), false};
  };
  std::vector<NodeLayer::Place> bottom_places, operand_places, top_places;
  std::vector<Shape> shapes;
  for (const float* bottom : bottoms) bottom_places.push_back(place(bottom));
  for (const Operand& operand : operands) {
    operand_places.push_back(place(operand.data));
    shapes.push_back(operand.shape);
  }
  for (const float* top : tops) top_places.push_back(place(top));
  between_[0].resize(count());
  if (epilogue_.size() > 1) between_[1].resize(count());
  RunPlaced(bottom_places, operand_places, shapes, top_places,
            {place(between_[0].data()), place(between_[1].data())});
}

void NodeChain::RunPlaced(const std::vector<NodeLayer::Place>& bottoms,
                          const std::vector<NodeLayer::Place>& operands,
                          const std::vector<Shape>& shapes, std::vector<NodeLayer::Place> tops,
                          const std::array<NodeLayer::Place, 2>& between) {
  if (epilogue_.empty()) {
    main_.RunAndForget(bottoms, tops);
    return;
  }
  const NodeLayer::Place result = tops[0];
  tops[0] = between[0];
  main_.RunAndForget(bottoms, tops);
  for (size_t i = 0; i < epilogue_.size(); ++i) {
    std::vector<Shape> inputs = {shape_};
    std::vector<NodeLayer::Place> values = {between[i % 2]};
    if (operands[i].data) {
      inputs.push_back(shapes[i]);
      values.push_back(operands[i]);
    }
    const bool last = i + 1 == epilogue_.size();
    Require(epilogue_[i].Reshape(inputs)[0] == shape_, "an epilogue changes the shape");
    epilogue_[i].RunAndForget(values, {last ? result : between[(i + 1) % 2]});
  }
}

}  // namespace caffe::inference
