#ifndef CAFFE_INFERENCE_ENGINE_BATCHES_HPP_
#define CAFFE_INFERENCE_ENGINE_BATCHES_HPP_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/engine.hpp"
#include "caffe/net.hpp"

namespace caffe::inference {

/// A tensor's data: CountOf(shape) elements in Caffe's order.
struct NamedTensor {
  Shape shape;
  std::vector<float> values;
};
using Tensors = std::map<std::string, NamedTensor>;  ///< by blob

/// True if rows of this output are detections: (1, 1, N, 7), each (item of the batch, label, score,
/// xmin, ymin, xmax, ymax), as many as the images have.
bool IsDetections(const Engine& engine, const std::string& output);

/// A net with an engine's inputs and nothing else: with it InputBatches, which fills the inputs of
/// nets, fills an engine's. They have the largest shapes (of the first profile), with a batch of at
/// most `batch` if that is not 0, or the shapes given in `shapes`. Throws Error, listing the
/// inputs, for an unknown name; that of the only input may be "".
std::unique_ptr<Net<float>> InputNetOf(const Engine& engine, int batch = 0,
                                       const std::map<std::string, Shape>& shapes = {});

/// Copies an engine's inputs from a net that has blobs of the same names: inputs, or tops of data
/// layers.
class InputSource {
 public:
  /// Throws Error naming an input of the engine that the net lacks or computes from others.
  InputSource(const Net<float>& net, const Engine& engine);
  /// Treats all tops of data layers as inputs.
  explicit InputSource(const Net<float>& net);

  /// Runs the layers of the net that make the inputs (a net with inputs has none), and copies them.
  Tensors Read(Net<float>* net) const;
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// Tops of data layers that the engine does not take, such as labels.
  const std::vector<std::string>& others() const { return others_; }
  /// Copies of these, after Read.
  Tensors ReadOthers(const Net<float>& net) const;
  /// The last layer that makes one of the inputs or others.
  int last_layer() const { return last_layer_; }

 private:
  std::vector<std::string> inputs_, others_;
  int last_layer_ = -1;
};

/// Items [first, first + count) of a batch of `batch` items; all if extent 0 is not `batch`.
NamedTensor Items(const NamedTensor& all, int batch, int first, int count);

/// Writes the inputs of one batch of at most max_batch() items and sets the context to their
/// shapes. Throws Error for a missing input.
void SetInputs(const Tensors& inputs, ExecutionContext* context);
/// An image: a file to be read, or values in memory.
struct ImageSource {
  std::string name;                 ///< the file; with values, their name in messages
  const uint8_t* values = nullptr;  ///< height x width x channels (1: grey; 3: blue, green, red)
  int height = 0, width = 0, channels = 0;
};
/// Writes images to the inputs of a context, prepared as engine().preprocessing() says. Their
/// number, 1 to max_batch(), becomes the context's batch; the other extents of its inputs stay.
/// Throws Error for an engine without preprocessing, naming an image that cannot be read, and where
/// the library is built without OpenCV.
void SetImages(const std::vector<ImageSource>& images, ExecutionContext* context);

/// All outputs of the last Run.
Tensors Outputs(ExecutionContext* context);
/// The same as JSON: a list, for each output {"name": "prob", "dimensions": "1x10", "values":
/// [...]}.
std::string OutputsToJson(ExecutionContext* context);

/// Runs a batch of any size, in pieces of at most max_batch() items, and concatenates the outputs:
/// along the batch, detections row by row. Throws Error for several pieces if an output is not
/// computed item by item.
Tensors RunInPieces(const Tensors& inputs, ExecutionContext* context);

/// The values of a net's blob.
NamedTensor CopyOf(const Blob<float>& blob);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_ENGINE_BATCHES_HPP_
