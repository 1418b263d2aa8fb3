#ifndef CAFFE_INFERENCE_ENGINE_HPP_
#define CAFFE_INFERENCE_ENGINE_HPP_

#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "caffe/device.hpp"
#include "caffe/inference/graph.hpp"
#include "caffe/inference/shape_profile.hpp"

namespace caffe::inference {

/// An Eltwise that an integer-only convolution computes while it writes.
struct SumInfo {
  std::string name;
  AffineParameters before;  ///< of what the convolution makes
  /// Three: of that, of what is added, of the sum.
  std::vector<kernels::Multiplier> multipliers;
};

/// How a layer computes with integers alone.
struct IntegerInfo {
  std::string name, type;   ///< the layer's
  AffineParameters affine;  ///< of its first top; with a sum, of what that makes
  std::vector<kernels::Multiplier> multipliers;  ///< of the sums of each output, with weights
  std::optional<SumInfo> sum;                    ///< that was fused into it
};

/// Describes a layer of an engine.
struct LayerInfo {
  std::string name, type;
  std::string implementation;     ///< "winograd", "layer", ...
  ElementType type_of_math;       ///< FLOAT, FLOAT16, BFLOAT16 or INT8
  bool integers = false;          ///< it computes with integers alone
  std::vector<Shape> tops;        ///< at the largest shapes
  size_t weight_bytes = 0;        ///< as the engine holds them
  size_t activation_bytes = 0;    ///< of the tops, at the largest shapes
  double products = 0;            ///< multiplications by its weights, at the largest shapes
  double microseconds = 0;        ///< as timed when the engine was built; 0: not timed
  std::vector<std::string> also;  ///< names of the layers that were fused into it
  /// Of those, the layers with weights that are computed together with it.
  std::vector<std::string> joined;
  std::vector<IntegerInfo> in_integers;  ///< where `integers`: itself, and those of `joined`

  /// "FLOAT", "INT8", ...; "integers" where nothing else computes it.
  std::string precision() const { return integers ? "integers" : Name(type_of_math); }
};

/// A built net: immutable, shared by any number of contexts and threads.
///
///     const auto engine = Engine::Load("lenet.plan");
///     ExecutionContext context(engine);
///     std::copy_n(pixels, 28 * 28, context.Input("data"));
///     context.Run();
///     const float* probabilities = context.Output("prob");
class Engine {
 public:
  /// An optimized graph, which is validated.
  explicit Engine(Graph graph, int tuned_threads = 0);
  /// One for each profile, at least one, with the same inputs and outputs; each has a range where
  /// there are several.
  explicit Engine(std::vector<Graph> graphs, int tuned_threads = 0);

  /// Reads a plan. The weights stay in the mapped file, which is kept as long as they are in use.
  /// Throws Error with the file for one that is missing, truncated, damaged or not a plan, or was
  /// built by another version or for another instruction set.
  static std::shared_ptr<const Engine> Load(const std::string& file);
  /// Writes the plan to a temporary file, which is then renamed. Throws Error.
  void Save(const std::string& file) const;

  const std::string& name() const { return graph()->name; }
  /// The largest batch of all profiles; 0 for a net without inputs.
  int max_batch() const;
  /// Names of inputs and outputs.
  std::vector<std::string> inputs() const { return Names(*graph(), graph()->inputs); }
  std::vector<std::string> outputs() const { return Names(*graph(), graph()->outputs); }
  /// The number of threads that layers were timed with (BuilderConfig::threads); 0: not timed, or
  /// for a GPU. Contexts may use another number, for which other implementations may be faster.
  int tuned_threads() const { return tuned_threads_; }
  /// How images become the input; null if unknown.
  const ImagePreprocessing* preprocessing() const { return graph()->preprocessing.get(); }
  /// Names of classes, by label; empty if unknown.
  const std::vector<std::string>& class_names() const { return graph()->class_names; }

  /// The ranges of shapes that it was built for, each with all inputs; empty: it was built for the
  /// largest shapes only.
  std::vector<ShapeProfile> profiles() const;
  bool has_profiles() const { return !graphs_[0]->min_inputs.empty(); }
  /// The number of graphs: one for each profile, 1 without profiles.
  int num_graphs() const { return static_cast<int>(graphs_.size()); }
  /// The graph of a profile; its values have the largest shapes. Throws Error for an unknown
  /// profile.
  const std::shared_ptr<const Graph>& graph(int profile = 0) const;

  /// Scale and zero point of an output that was computed in integers; not set for floats.
  std::optional<AffineParameters> OutputAffine(const std::string& output) const;

  /// The layers of a profile, in the order of execution, without those optimized away.
  std::vector<LayerInfo> layers(int profile = 0) const;
  size_t weight_bytes() const;
  /// Memory of each context for activations and scratch, once it has run all profiles. The first
  /// call makes a context to find out.
  size_t activation_bytes() const;
  /// Bindings and layers, as JSON.
  std::string ToJson() const;
  /// {"Layers": [...], "Bindings": [...]}: names of inputs and outputs, and of the layers; with
  /// `details` an object for each layer: Name, LayerType, Precision, TacticName (what computes it),
  /// Inputs and Outputs, each {Name, Dimensions, Format/Datatype}, FusedLayers, WeightBytes,
  /// BuildTimeUs.
  std::string LayersToJson(bool details) const;

 private:
  static std::vector<std::string> Names(const Graph& graph, const std::vector<int>& values);

  std::vector<std::shared_ptr<const Graph>> graphs_;  // one at least
  int tuned_threads_;
  mutable std::once_flag measured_;
  mutable size_t activation_bytes_ = 0;  // once measured
};

/// Receives the time of each layer.
class Profiler {
 public:
  virtual ~Profiler() = default;
  virtual void ReportLayerTime(const std::string& layer, double milliseconds) = 0;
};

/// Timestamps of a run. On the CPU nothing is copied or enqueued: `inputs` and `enqueued` are
/// `begin`, `end` is `computed`.
struct RunTimes {
  using Time = std::chrono::steady_clock::time_point;
  Time begin;
  Time inputs;    ///< inputs are in the GPU's memory
  Time enqueued;  ///< the GPU has been given its work
  Time computed;  ///< it has done it
  Time end;       ///< outputs are in the host's memory
};

/// Sees every blob right after it was computed, as floats in Caffe's order, also those of layers
/// that were optimized away (Engine::layers). Blobs inside a fused layer do not exist.
using BlobObserver =
    std::function<void(const std::string& blob, const Shape& shape, const float* values)>;

/// What one thread needs to run an engine: activations, layer objects, a batch size. The weights
/// belong to the engine.
class ExecutionContext {
 public:
  /// Starts at the largest shapes of the first profile. Its runs use `threads` threads, whichever
  /// thread calls Run; 0: as many as the calling thread has now (Caffe::threads). Throws Error
  /// naming a layer that cannot be made, and for less than 0 threads.
  explicit ExecutionContext(std::shared_ptr<const Engine> engine, int threads = 0);
  ~ExecutionContext();
  ExecutionContext(ExecutionContext&&) noexcept;
  ExecutionContext& operator=(ExecutionContext&&) noexcept;

  /// Runs `batch` items from now on, 1 to max_batch(): axis 0 of the inputs, whose other extents
  /// stay as they are. Contents of inputs are lost. Throws Error for another number, or with the
  /// layer that cannot take it; nothing has changed then.
  void SetBatch(int batch);
  int batch() const;
  /// The current batch size.
  int threads() const;

  /// Changes the shape of an input. Neither it nor any blob that depends on it may have more
  /// elements than the engine was built for; with profiles, the shape has to be in the range of
  /// one. Contents of inputs are lost. Throws Error with the layer that cannot take it, with the
  /// blob that does not fit, or with the ranges of the profiles; nothing has changed then. The name
  /// of the only input may be "".
  void SetInputShape(const std::string& name, const Shape& shape);
  /// The same for several inputs at once, by name; the others stay as they are.
  void SetInputShapes(const std::map<std::string, Shape>& shapes);

  /// Uses only this profile from now on, starting at its largest shapes; its memory is allocated at
  /// its first run. By default the first profile is used that has the shapes in its range. Contents
  /// of inputs are lost. Throws Error for an unknown profile; nothing has changed then.
  void SetProfile(int profile);
  /// The current profile.
  int profile() const;

  /// Where to write an input's elements, in Caffe's order; a run does not change them. The pointer
  /// is valid as long as the context lives and stays in one profile. Throws Error, listing the
  /// inputs, for an unknown name.
  float* Input(const std::string& name);
  const Shape& InputShape(const std::string& name) const;

  /// Computes the outputs. Throws Error with the layer that failed.
  void Run();
  /// Enqueues a run on the context's own thread, after those enqueued before; the future rethrows
  /// what Run throws. Until it is ready the caller must not write inputs, read outputs or change
  /// the context. The destructor waits for all enqueued runs.
  std::future<void> Enqueue();
  /// The same; `done` is called on that thread, with null or what Run threw. It may read outputs,
  /// write inputs and enqueue the next run; it must not throw, nor destroy the context.
  void Enqueue(std::function<void(std::exception_ptr)> done);

  /// Enqueues a run on `stream`, a stream of the engine's GPU, and returns. `places`
  /// has the address of each input and output, by name, in the GPU's memory: FLOAT
  /// elements in Caffe's order, in the shapes that Run would have; addresses are
  /// multiples of 16. The caller must not touch them until the run is done. From the
  /// second run with the same addresses on it is one CUDA graph. Several contexts may
  /// compute at the same time, each on its own stream; runs of one context are ordered.
  /// Throws Error, naming it, for a binding that is missing or unknown, or whose shape
  /// depends on the data; for an engine for the CPU; and with the layer that failed.
  void Enqueue(Stream& stream, const std::map<std::string, void*>& places);

  /// Set while nothing is enqueued; null: none. They must outlive their use. Run rethrows what they
  /// throw.
  void SetProfiler(Profiler* profiler);
  void SetObserver(BlobObserver observer);
  /// Each Run writes its timestamps there, for which it waits between the steps on a GPU; null: no
  /// run does. Set while nothing is enqueued; it must outlive its use. Without `transfers` such a
  /// run on a GPU copies nothing: it computes on what the inputs' device memory holds, and Output
  /// stays as it was. With a profiler or an observer all of a run counts as computing.
  void SetRunTimes(RunTimes* times, bool transfers = true);

  /// An output's elements, valid until the next Run, SetBatch, SetInputShape or SetProfile. Throws
  /// Error, listing the outputs, for an unknown name.
  const float* Output(const std::string& name);
  /// Where it depends on the data (detections), that of the last Run.
  const Shape& OutputShape(const std::string& name) const;

  const Engine& engine() const;

 private:
  struct State;
  State& state() const;

  std::unique_ptr<State> state_;  // null: moved from
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_ENGINE_HPP_
