#include "caffe/inference/network_definition.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/error.hpp"
#include "caffe/inference/quantize/training_ranges.hpp"
#include "node_layer.hpp"

namespace caffe::inference {
namespace {

std::string UnusedName(const Graph& graph, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; graph.FindValue(name) >= 0; ++i) name = Join(wanted, "_", i);
  return name;
}

/// The parameters that the layer's fillers make.
std::vector<Constant> FreshParameters(const LayerParameter& layer,
                                      const std::vector<Shape>& bottoms, size_t tops) {
  LayerParameter without = layer;
  without.clear_blobs();
  NodeLayer fresh(without, {}, bottoms.size(), tops);
  fresh.Reshape(bottoms);
  return fresh.Parameters();
}

void CheckHasValues(const std::vector<Constant>& given) {
  for (size_t i = 0; i < given.size(); ++i) {
    Require(given[i].data != nullptr, "parameter ", i, " of shape ", ShapeString(given[i].shape),
            " has no values", Error::Remedy{"make it with Constant::Of"});
  }
}

void CheckShapes(const std::vector<Constant>& given, const std::vector<Constant>& wanted) {
  Require(given.size() == wanted.size(), "the layer has ", wanted.size(), " parameters, ",
          given.size(), " are given");
  for (size_t i = 0; i < given.size(); ++i) {
    Require(given[i].shape == wanted[i].shape, "parameter ", i, " has shape ",
            ShapeString(given[i].shape), " where the layer has ", ShapeString(wanted[i].shape));
  }
}

}  // namespace

void NetworkDefinition::AddInput(const std::string& name, const Shape& shape) {
  Require(graph_.FindValue(name) < 0, "input '", name, "': there is a value of this name already");
  for (const int extent : shape) {
    Require(extent >= 0, "input '", name, "': extent ", extent, " of shape ", ShapeString(shape),
            " is negative", Error::Remedy{"give the largest that is needed"});
  }
  graph_.inputs.push_back(graph_.AddValue(name, shape));
}

void NetworkDefinition::AddLayer(const LayerParameter& layer,
                                 const std::vector<Constant>& parameters) {
  try {
    Require(graph_.FindNode(layer.name()) < 0, "there is a layer of this name already");
    CheckHasValues(parameters);
    Node node;
    node.layer = layer;
    node.layer.set_phase(TEST);
    std::vector<Shape> shapes;
    for (const std::string& bottom : layer.bottom()) {
      const int value = graph_.FindValue(bottom);
      Require(value >= 0, "bottom '", bottom, "' is made by no layer before");
      node.inputs.push_back(value);
      shapes.push_back(graph_.values[value].shape);
    }
    NodeLayer made(node.layer, parameters, layer.bottom_size(), layer.top_size());
    if (parameters.empty() && layer.blobs_size() > 0) {
      std::vector<Constant> stored;
      for (const BlobProto& proto : layer.blobs()) {
        const boost::shared_ptr<Blob<float>> blob(new Blob<float>());
        blob->FromProto(proto);
        stored.push_back(Share(blob));
      }
      made = NodeLayer(node.layer, stored, layer.bottom_size(), layer.top_size());
    }
    const std::vector<Shape> tops = made.Reshape(shapes);
    if (!parameters.empty())
      CheckShapes(parameters, FreshParameters(node.layer, shapes, tops.size()));
    node.parameters = parameters.empty() ? made.Parameters() : parameters;
    node.layer.clear_blobs();
    for (int i = 0; i < layer.top_size(); ++i) {
      const int old = graph_.FindValue(layer.top(i));
      const bool in_place = i < layer.bottom_size() && layer.bottom(i) == layer.top(i);
      Require(old < 0 || in_place, "top '", layer.top(i), "' is made by another layer already");
      Require(old < 0 || !graph_.IsInput(old), "top '", layer.top(i), "' is an input",
              Error::Remedy{"give the top another name"});
      if (old >= 0) {
        graph_.values[old].name = UnusedName(graph_, layer.top(i) + "_before_" + layer.name());
      }
      node.outputs.push_back(graph_.AddValue(layer.top(i), tops[i]));
    }
    node.layer.clear_bottom();
    node.layer.clear_top();
    graph_.nodes.push_back(node);
  } catch (Error& error) {
    error.AddLayer(layer.name(), layer.type());
    throw;
  }
}

void NetworkDefinition::MarkOutput(const std::string& name) {
  const int value = graph_.FindValue(name);
  Require(value >= 0, "output '", name, "': there is no such value");
  if (!graph_.IsOutput(value)) graph_.outputs.push_back(value);
}

namespace {

/// y = scale x + shift, with a shift for each index of `shape`, from axis 1 on, as a Scale layer.
Node ScaleAndShift(const std::string& name, const Shape& shape, float scale,
                   std::vector<float> shift) {
  Node node;
  node.layer.set_name(name);
  node.layer.set_type("Scale");
  node.layer.set_phase(TEST);
  node.layer.mutable_scale_param()->set_axis(1);
  node.layer.mutable_scale_param()->set_num_axes(static_cast<int>(shape.size()));
  node.layer.mutable_scale_param()->set_bias_term(true);
  node.parameters = {Constant::Of(shape, std::vector<float>(shift.size(), scale)),
                     Constant::Of(shape, std::move(shift))};
  return node;
}

/// -scale * mean for each channel, or for each element of an item.
std::vector<float> ShiftOf(const std::vector<float>& mean, float scale, size_t channels) {
  std::vector<float> shift(mean.size() > channels ? mean.size() : channels, 0.f);
  for (size_t i = 0; i < shift.size() && !mean.empty(); ++i) {
    shift[i] = -scale * mean[mean.size() == 1 ? 0 : i];
  }
  return shift;
}

}  // namespace

void NetworkDefinition::NormalizeInput(const std::string& input, const std::vector<float>& mean,
                                       float scale) {
  const int value = graph_.FindValue(input);
  Require(value >= 0 && graph_.IsInput(value), "net '", graph_.name, "' has no input '", input,
          "' to normalize");
  const Shape shape = graph_.values[value].shape;
  Require(shape.size() >= 2, "input '", input, "' of shape ", ShapeString(shape),
          " has no channels");
  const size_t channels = shape[1];
  const Shape item(shape.begin() + 1, shape.end());
  const bool of_elements = mean.size() > channels && mean.size() == CountOf(item);
  Require(mean.size() <= 1 || mean.size() == channels || of_elements, "input '", input, "' has ",
          channels, " channels, the mean ", mean.size(),
          " values: give one, one each, or one for each of the ", CountOf(item),
          " elements of an item");
  std::vector<float> shift = ShiftOf(mean, scale, channels);
  const bool finite = std::isfinite(scale) && std::all_of(shift.begin(), shift.end(),
                                                          [](float x) { return std::isfinite(x); });
  Require(finite && scale != 0, "input '", input, "': mean and scale must be finite, scale not 0");
  const int normalized = graph_.AddValue(UnusedName(graph_, input + "_normalized"), shape);
  for (Node& node : graph_.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), value, normalized);
    for (Epilogue& step : node.epilogue) {
      if (step.operand == value) step.operand = normalized;
    }
  }
  std::string name = "normalize_" + input;
  for (int i = 2; graph_.FindNode(name) >= 0; ++i) name = Join("normalize_", input, "_", i);
  normalizations_.push_back({input, graph_.values[normalized].name, mean, scale});
  Node node = ScaleAndShift(name, of_elements ? item : Shape{shape[1]}, scale, std::move(shift));
  node.inputs = {value};
  node.outputs = {normalized};
  graph_.nodes.insert(graph_.nodes.begin(), node);
}

void NetworkDefinition::TakeTraining(const TrainedRanges& trained) {
  quantization_.training = trained.numbers;
  for (const auto& [blob, range] : trained.blobs) {
    if (graph_.FindValue(blob) < 0) continue;
    BlobCalibration calibration;
    calibration.minimum = range.minimum;
    calibration.maximum = range.maximum;
    calibration.threshold = std::max(-range.minimum, range.maximum);
    calibration.is_unsigned = range.minimum >= 0;
    calibration.method = kTrainedMethod;
    ranges_.SetExactly(blob, calibration);
  }
}

void NetworkDefinition::SetPrecision(const std::string& layer, Precision precision) {
  Require(graph_.FindNode(layer) >= 0, "net '", graph_.name, "' has no layer '", layer,
          "' to set the precision of");
  layer_precisions_[layer] = precision;
}

void NetworkDefinition::SetRange(const std::string& blob, float minimum, float maximum) {
  Require(graph_.FindValue(blob) >= 0, "net '", graph_.name, "' has no blob '", blob,
          "' to set the range of");
  Require(std::isfinite(minimum) && std::isfinite(maximum) && minimum <= maximum, "blob '", blob,
          "': a range goes from a number to one that is not smaller, not from ", minimum, " to ",
          maximum);
  const float largest = std::max(std::fabs(minimum), std::fabs(maximum));
  Require(largest > 0, "blob '", blob, "': the range from 0 to 0 leaves INT8 nothing to hold");
  ranges_.Set(blob, {largest, minimum >= 0, minimum, maximum, "given"});
}

const Graph& NetworkDefinition::graph() const {
  Require(!graph_.outputs.empty(), "net '", graph_.name, "' has no outputs: mark one");
  graph_.Validate();
  return graph_;
}

}  // namespace caffe::inference
