#include "training_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/core/error_context.hpp"
#include "caffe/io/caffemodel.hpp"
#include "caffe/net/integer_grids.hpp"

namespace caffe::inference {

QuantizationScheme SchemeOf(QuantizedTrainingParameter::Scheme scheme) {
  switch (scheme) {
    case QuantizedTrainingParameter_Scheme_PAPER:
      return QuantizationScheme::PAPER;
    case QuantizedTrainingParameter_Scheme_SYMMETRIC:
      return QuantizationScheme::SYMMETRIC;
    default:
      return QuantizationScheme::AFFINE;
  }
}

namespace {

std::vector<double> ValuesOf(const BlobProto& proto) {
  Blob<double> blob;
  blob.FromProto(proto);
  return {blob.cpu_data(), blob.cpu_data() + blob.count()};
}

struct LayerRange {
  bool is_known = false;
  TrainedRanges::Range range;
};

LayerRange RangeOfLayer(const LayerParameter& layer) {
  const FakeQuantizationParameter& param = layer.fake_quantization_param();
  CheckQuantizedTraining(param.quantization());
  Require(!param.blob().empty(), Error::Field{"fake_quantization_param: blob"}, " is not set");
  LayerRange found;
  if (param.has_minimum()) {
    found.is_known = true;
    found.range = {param.minimum(), param.maximum()};
  } else {
    Require(layer.blobs_size() == 2, "has ", layer.blobs_size(), " blob(s) instead of 2: the file ",
            "is damaged");
    const std::vector<double> range = ValuesOf(layer.blobs(0)), state = ValuesOf(layer.blobs(1));
    Require(range.size() == 2 && state.size() == 2, "its blobs have ", range.size(), " and ",
            state.size(), " elements instead of 2 each: the file is damaged");
    found.is_known = state[0] > 0;
    // As a .caffemodel has it, of a net of doubles, too: engines are the same to the bit.
    found.range = {static_cast<float>(range[0]), static_cast<float>(range[1])};
  }
  const TrainedRanges::Range& range = found.range;
  Require(!found.is_known || (std::isfinite(range.minimum) && std::isfinite(range.maximum) &&
                              range.minimum <= 0 && range.maximum >= 0),
          "the range of blob '", param.blob(), "' is ", range.minimum, " to ", range.maximum,
          ": it must be finite, with 0 in it. Train again, or calibrate");
  return found;
}

}  // namespace

std::optional<TrainedRanges> ReadTrainedRanges(const NetParameter& weights) {
  TrainedRanges ranges;
  std::map<std::string, std::string> groups;            // of blobs
  std::map<std::string, TrainedRanges::Range> grouped;  // by group
  const LayerParameter* first = nullptr;
  for (const LayerParameter& layer : weights.layer()) {
    if (layer.type() != "FakeQuantization") continue;
    WithLayer(layer, [&] {
      const LayerRange found = RangeOfLayer(layer);
      const FakeQuantizationParameter& param = layer.fake_quantization_param();
      const QuantizedTrainingParameter& own = param.quantization();
      if (!first) {
        first = &layer;
        ranges.numbers.scheme = SchemeOf(own.scheme());
        ranges.numbers.weight_bits = static_cast<int>(own.weight_bits());
        ranges.numbers.activation_bits = static_cast<int>(own.activation_bits());
      }
      Require(SchemeOf(own.scheme()) == ranges.numbers.scheme &&
                  static_cast<int>(own.weight_bits()) == ranges.numbers.weight_bits &&
                  static_cast<int>(own.activation_bits()) == ranges.numbers.activation_bits,
              "was trained for scheme ", Name(SchemeOf(own.scheme())), ", ", own.weight_bits(),
              " and ", own.activation_bits(), " bits, layer '", first->name(), "' for scheme ",
              Name(ranges.numbers.scheme), ", ", ranges.numbers.weight_bits, " and ",
              ranges.numbers.activation_bits, " bits",
              Error::Remedy{"train all with one quantized_training"});
      if (!found.is_known) return;
      const std::string group =
          param.has_group() ? "group " + param.group() : "blob " + param.blob();
      groups[param.blob()] = group;
      TrainedRanges::Range& all = grouped[group];
      all.minimum = std::min(all.minimum, found.range.minimum);
      all.maximum = std::max(all.maximum, found.range.maximum);
    });
  }
  if (!first) return {};
  for (const auto& blob : groups) {
    const TrainedRanges::Range& range = grouped[blob.second];
    if (range.minimum < range.maximum) ranges.blobs[blob.first] = range;
  }
  Require(!ranges.blobs.empty(),
          "the weights have FakeQuantization layers, but no blob's range has ",
          "been observed: they were saved before quantized_training began (start_iter), or never ",
          "trained");
  return ranges;
}

std::optional<TrainedRanges> ReadTrainedRanges(const std::string& file) {
  if (file.size() < 11 || file.substr(file.size() - 11) != ".caffemodel") return {};
  const CaffemodelReader reader(file);
  NetParameter net;
  for (const StoredLayer& stored : reader.layers()) {
    if (stored.param.type() != "FakeQuantization") continue;
    LayerParameter* layer = net.add_layer();
    *layer = stored.param;
    for (const StoredBlob& from : stored.blobs) {
      BlobProto* blob = layer->add_blobs();
      for (const int64_t extent : from.shape) blob->mutable_shape()->add_dim(extent);
      blob->mutable_data()->Resize(static_cast<int>(from.ShapeCount()), 0);
      from.ReadInto(blob->mutable_data()->mutable_data(), ElementType::FLOAT);
    }
  }
  return WithFile(file, [&] { return ReadTrainedRanges(net); });
}

}  // namespace caffe::inference
