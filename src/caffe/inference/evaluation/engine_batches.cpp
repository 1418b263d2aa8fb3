#include "caffe/inference/engine_batches.hpp"

#include <algorithm>

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#endif

#include "caffe/data/image_input.hpp"
#include "caffe/error.hpp"
#include "caffe/inference/shape_profiles.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/text/json.hpp"

namespace caffe::inference {
namespace {

const Value& OutputOf(const Engine& engine, const std::string& name) {
  for (const int output : engine.graph()->outputs) {
    if (engine.graph()->values[output].name == name) return engine.graph()->values[output];
  }
  Fail("engine '", engine.name(), "' has no output '", name, "'");
}

/// Appends a piece that begins at item `first` to the pieces before it.
void Append(const NamedTensor& piece, bool detections, int first, NamedTensor* all) {
  const size_t axis = detections ? 2 : 0;
  if (all->shape.empty()) {
    all->shape = piece.shape;
    all->shape[axis] = 0;
  }
  all->shape[axis] += piece.shape[axis];
  const size_t begin = all->values.size();
  all->values.insert(all->values.end(), piece.values.begin(), piece.values.end());
  if (!detections) return;
  for (size_t row = begin; row < all->values.size(); row += 7) {
    all->values[row] += static_cast<float>(first);
  }
}

}  // namespace

bool IsDetections(const Engine& engine, const std::string& output) {
  const Value& value = OutputOf(engine, output);
  const std::vector<bool> dependent = HaveDataDependentShapes(*engine.graph());
  return dependent[&value - engine.graph()->values.data()] && value.shape.size() == 4 &&
         value.shape[0] == 1 && value.shape[1] == 1 && value.shape[3] == 7;
}

std::unique_ptr<Net<float>> InputNetOf(const Engine& engine, int batch,
                                       const std::map<std::string, Shape>& given) {
  const Graph& graph = *engine.graph();
  const int most = BatchOf(graph);
  // The net's source pads batches, so that a few images make the smallest batch of a range.
  const bool has_least = !graph.min_inputs.empty() && !graph.min_inputs[0].empty();
  const int least = has_least ? std::min(graph.min_inputs[0][0], most) : std::min(1, most);
  std::vector<Shape> shapes = InputShapes(graph, batch > 0 ? std::clamp(batch, least, most) : most);
  for (const auto& [name, shape] : given) {
    shapes[InputNamed(graph, name, Join("engine '", engine.name(), "'"))] = shape;
  }
  NetParameter param;
  param.set_name(engine.name());
  for (size_t i = 0; i < shapes.size(); ++i) {
    LayerParameter* layer = param.add_layer();
    layer->set_name(graph.values[graph.inputs[i]].name);
    layer->set_type("Input");
    layer->add_top(layer->name());
    BlobShape* shape = layer->mutable_input_param()->add_shape();
    for (const int extent : shapes[i]) shape->add_dim(extent);
  }
  param.mutable_state()->set_phase(TEST);
  return std::make_unique<Net<float>>(param);
}

InputSource::InputSource(const Net<float>& net) {
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const LayerParameter& layer = net.layers()[i]->layer_param();
    const Operation& operation = OperationTable::Of(layer.type());
    if (!operation.source || layer.top_size() == 0) continue;
    last_layer_ = static_cast<int>(i);
    inputs_.insert(inputs_.end(), layer.top().begin(), layer.top().end());
  }
}

InputSource::InputSource(const Net<float>& net, const Engine& engine) : InputSource(net) {
  const std::vector<std::string> found = std::move(inputs_);
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  inputs_ = engine.inputs();
  for (const std::string& input : inputs_) {
    Require(has(found, input), "engine '", engine.name(), "' has an input '", input, "' and net '",
            net.name(), "' has none of this name, or computes it");
  }
  for (const std::string& top : found) {
    if (!has(inputs_, top)) others_.push_back(top);
  }
}

Tensors InputSource::Read(Net<float>* net) const {
  net->ForwardFromTo(0, last_layer_);
  Tensors tensors;
  for (const std::string& input : inputs_) tensors[input] = CopyOf(*net->blob_by_name(input));
  return tensors;
}

Tensors InputSource::ReadOthers(const Net<float>& net) const {
  Tensors tensors;
  for (const std::string& other : others_) tensors[other] = CopyOf(*net.blob_by_name(other));
  return tensors;
}

NamedTensor Items(const NamedTensor& all, int batch, int first, int count) {
  if (all.shape.empty() || all.shape[0] != batch) return all;
  NamedTensor piece{all.shape, {}};
  piece.shape[0] = count;
  const size_t item = CountOf(all.shape) / batch;
  piece.values.assign(all.values.begin() + first * item,
                      all.values.begin() + (first + count) * item);
  return piece;
}

void SetInputs(const Tensors& inputs, ExecutionContext* context) {
  const std::vector<std::string> names = context->engine().inputs();
  for (const std::string& name : names) {
    Require(inputs.count(name) > 0, "engine '", context->engine().name(), "' needs an input '",
            name, "'");
  }
  std::map<std::string, Shape> shapes;
  for (const std::string& name : names) {
    const Shape& shape = inputs.at(name).shape;
    if (shape != context->InputShape(name)) shapes[name] = shape;
  }
  // Words the error in terms of the batch if that is too large.
  const Shape first = names.empty() ? Shape() : inputs.at(names[0]).shape;
  if (!first.empty() && first[0] > context->engine().max_batch()) context->SetBatch(first[0]);
  if (!shapes.empty()) context->SetInputShapes(shapes);
  for (const std::string& name : names) {
    const std::vector<float>& values = inputs.at(name).values;
    std::copy(values.begin(), values.end(), context->Input(name));
  }
}

#ifdef USE_OPENCV
namespace {

cv::Mat Read(const ImageSource& image, int channels) {
  if (!image.values) {
    cv::Mat read = ReadImageToCVMat(image.name, channels == 3);
    Require(!read.empty(), Error::File{image.name}, ": cannot be read as an image");
    return read;
  }
  Require(image.height > 0 && image.width > 0 && (image.channels == 1 || image.channels == 3),
          Error::File{image.name}, ": ", image.height, "x", image.width, "x", image.channels,
          " is no image: it has rows, columns, and 1 or 3 channels");
  // OpenCV has no const matrices; this one is only read.
  return cv::Mat(image.height, image.width, CV_8UC(image.channels),
                 const_cast<uint8_t*>(image.values));
}

}  // namespace
#endif

void SetImages(const std::vector<ImageSource>& images, ExecutionContext* context) {
#ifdef USE_OPENCV
  const Engine& engine = context->engine();
  Require(engine.preprocessing() != nullptr, "engine '", engine.name(),
          "' does not know how images are prepared", Error::Remedy{"build it with preprocessing"});
  if (context->batch() != static_cast<int>(images.size())) {
    context->SetBatch(static_cast<int>(images.size()));
  }
  std::vector<std::unique_ptr<Blob<float>>> blobs;
  std::vector<NamedBlob> inputs;
  for (const std::string& name : engine.inputs()) {
    blobs.push_back(std::make_unique<Blob<float>>(context->InputShape(name)));
    blobs.back()->set_cpu_data(context->Input(name));
    inputs.push_back({name, blobs.back().get()});
  }
  ImageInput input(*engine.preprocessing(), inputs);
  Require(static_cast<int>(images.size()) == input.items(), "engine '", engine.name(), "': input '",
          engine.preprocessing()->input, "' takes ", input.items(), " images at a time, got ",
          images.size(), Error::Remedy{"give as many, or set its shape"});
  for (size_t i = 0; i < images.size(); ++i) {
    input.Write(Read(images[i], input.blob().shape(1)), static_cast<int>(i));
  }
#else
  (void)images;
  Fail("engine '", context->engine().name(), "': images need OpenCV",
       Error::Remedy{"build with USE_OPENCV=ON"});
#endif
}

Tensors Outputs(ExecutionContext* context) {
  Tensors outputs;
  for (const std::string& name : context->engine().outputs()) {
    const Shape& shape = context->OutputShape(name);
    const float* values = context->Output(name);
    outputs[name] = {shape, {values, values + CountOf(shape)}};
  }
  return outputs;
}

std::string OutputsToJson(ExecutionContext* context) {
  std::string text = "[";
  for (const std::string& name : context->engine().outputs()) {
    std::string dimensions;
    for (const int extent : context->OutputShape(name)) {
      dimensions += (dimensions.empty() ? "" : "x") + std::to_string(extent);
    }
    json::Struct object;
    json::Set(&object, "name", name);
    json::Set(&object, "dimensions", dimensions);
    const float* values = context->Output(name);
    json::Set(&object, "values",
              std::vector<float>(values, values + CountOf(context->OutputShape(name))));
    text += (text.size() > 1 ? ",\n" : "\n") + json::Text(object);
  }
  return text + "]\n";
}

Tensors RunInPieces(const Tensors& inputs, ExecutionContext* context) {
  const Engine& engine = context->engine();
  const int most = engine.max_batch();
  const std::vector<std::string> names = engine.inputs();
  const auto first_input = names.empty() ? inputs.end() : inputs.find(names[0]);
  const bool known = first_input != inputs.end() && !first_input->second.shape.empty();
  const int batch = known ? first_input->second.shape[0] : most;
  if (batch <= most) {
    SetInputs(inputs, context);
    context->Run();
    return Outputs(context);
  }
  Tensors all;
  for (int first = 0; first < batch; first += most) {
    const int count = std::min(most, batch - first);
    Tensors piece;
    for (const auto& input : inputs) {
      piece[input.first] = Items(input.second, batch, first, count);
    }
    SetInputs(piece, context);
    context->Run();
    for (const auto& output : Outputs(context)) {
      const Shape& shape = output.second.shape;
      const bool detections = IsDetections(engine, output.first);
      Require(detections || (!shape.empty() && shape[0] == count), "output '", output.first,
              "' of engine '", engine.name(), "' has shape ", ShapeString(shape),
              ", not an item for each of ", count, ": a batch of ", batch,
              " cannot be run in pieces; build the engine with -max_batch ", batch);
      Append(output.second, detections, first, &all[output.first]);
    }
  }
  return all;
}

NamedTensor CopyOf(const Blob<float>& blob) {
  return {blob.shape(), {blob.cpu_data(), blob.cpu_data() + blob.count()}};
}

}  // namespace caffe::inference
