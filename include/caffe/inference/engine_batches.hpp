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

/// A value by itself: CountOf(shape) elements in Caffe's order.
struct NamedTensor {
  Shape shape;
  std::vector<float> values;
};
using Tensors = std::map<std::string, NamedTensor>;  ///< by blob

/// True if rows of this output are detections: (1, 1, N, 7), each (item of the batch, label, score,
/// xmin, ymin, xmax, ymax), as many as the pictures have.
bool IsDetections(const Engine& engine, const std::string& output);

/// A net that has an engine's inputs, and nothing else: what fills the inputs of nets
/// (InputBatches) fills an engine's with it. They have the largest shapes (of the first profile),
/// with a batch of at most `batch` where that is not 0, and those in `shapes` the shapes there.
/// Throws Error, listing the inputs, for a name that is none; that of the only input may be "".
std::unique_ptr<Net<float>> InputNetOf(const Engine& engine, int batch = 0,
                                       const std::map<std::string, Shape>& shapes = {});

/// Takes an engine's inputs from a net that has blobs of the same names: inputs, or tops of layers
/// that read data.
class InputSource {
 public:
  /// Throws Error naming an input of the engine that the net does not have, or makes of others.
  InputSource(const Net<float>& net, const Engine& engine);
  /// All tops of layers that read data are inputs.
  explicit InputSource(const Net<float>& net);

  /// Runs the layers of the net that make the inputs (a net with inputs has none), and copies them.
  Tensors Read(Net<float>* net) const;
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// Tops of layers that read data which the engine does not take, as labels.
  const std::vector<std::string>& others() const { return others_; }
  /// Copies of those, after Read.
  Tensors ReadOthers(const Net<float>& net) const;
  /// The last layer that makes one of the inputs or others.
  int last_layer() const { return last_layer_; }

 private:
  std::vector<std::string> inputs_, others_;
  int last_layer_ = -1;
};

/// Items [first, first + count) of a batch of `batch` items; all of what has another extent 0.
NamedTensor Items(const NamedTensor& all, int batch, int first, int count);

/// Writes inputs of one batch of at most max_batch() items. The context takes their shapes. Throws
/// Error for an input that is missing.
void SetInputs(const Tensors& inputs, ExecutionContext* context);
/// An image: a file to be read, or values in memory.
struct ImageSource {
  std::string name;                 ///< the file; with values what messages call them
  const uint8_t* values = nullptr;  ///< height x width x channels (1: grey; 3: blue, green, red)
  int height = 0, width = 0, channels = 0;
};
/// Writes images to the inputs of a context, prepared as engine().preprocessing() says. The context
/// takes their number, 1 to max_batch(), as its batch, and keeps the other extents of its inputs.
/// Throws Error for an engine that does not know how images are prepared, naming an image that
/// cannot be read, and where the library is built without OpenCV.
void SetImages(const std::vector<ImageSource>& images, ExecutionContext* context);

/// All outputs of the last Run.
Tensors Outputs(ExecutionContext* context);
/// The same as JSON: a list, for each output {"name": "prob", "dimensions": "1x10", "values":
/// [...]}.
std::string OutputsToJson(ExecutionContext* context);

/// Runs a batch of any size, in pieces of at most max_batch() items, and puts the outputs' pieces
/// together: along the batch, detections row below row. Throws Error for an output that is not made
/// item by item where there are several pieces.
Tensors RunInPieces(const Tensors& inputs, ExecutionContext* context);

/// What a blob of a net holds.
NamedTensor CopyOf(const Blob<float>& blob);

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_ENGINE_BATCHES_HPP_
