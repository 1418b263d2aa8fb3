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

/// An Eltwise that a convolution computes with integers alone while it writes.
struct SumInfo {
  std::string name;
  AffineParameters before;  ///< of what the convolution makes
  /// Of that, of what is added, and of the sum.
  std::vector<kernels::Multiplier> multipliers;
};

/// What is known of a layer of an engine.
struct LayerInfo {
  std::string name, type;
  std::string implementation;     ///< "winograd", "layer", ...
  ElementType type_of_math;       ///< FLOAT, FLOAT16, BFLOAT16 or INT8
  bool integers = false;          ///< it computes with integers alone
  std::vector<Shape> tops;        ///< at the largest shapes
  size_t weight_bytes = 0;        ///< as the engine holds them
  size_t activation_bytes = 0;    ///< of the tops, at the largest shapes
  double microseconds = 0;        ///< as timed when the engine was built; 0: not timed
  std::vector<std::string> also;  ///< names of the layers that were fused into it
  AffineParameters affine;        ///< of the first top, where `integers`
  /// Of each output of a layer with weights, where `integers`: what sums are multiplied by.
  std::vector<kernels::Multiplier> multipliers;
  std::optional<SumInfo> sum;  ///< that was fused into it, where `integers`

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

  /// Reads a plan. The weights stay in the mapped file, which lives as long as something uses them.
  /// Throws Error with the file for one that is missing, truncated, damaged, no plan, or built by
  /// another version or for another instruction set.
  static std::shared_ptr<const Engine> Load(const std::string& file);
  /// Writes the plan, aside and then renamed. Throws Error.
  void Save(const std::string& file) const;

  const std::string& name() const { return graph()->name; }
  /// The largest batch of all profiles; 0 for a net without inputs.
  int max_batch() const;
  /// Names of inputs and outputs.
  std::vector<std::string> inputs() const { return Names(*graph(), graph()->inputs); }
  std::vector<std::string> outputs() const { return Names(*graph(), graph()->outputs); }
  /// The threads with which layers were timed when it was built (BuilderConfig::threads); 0: they
  /// were not, or on a GPU. Contexts may take another number, for which other ways of computing
  /// layers may be faster.
  int tuned_threads() const { return tuned_threads_; }
  /// How images become the input; null: not known.
  const ImagePreprocessing* preprocessing() const { return graph()->preprocessing.get(); }
  /// Names of classes, by label; none: not known.
  const std::vector<std::string>& class_names() const { return graph()->class_names; }

  /// The ranges of shapes that it was built for, all inputs named in each; none: it was built for
  /// the largest shapes only.
  std::vector<ShapeProfile> profiles() const;
  bool has_profiles() const { return !graphs_[0]->min_inputs.empty(); }
  /// How many graphs there are: one for each profile, 1 without profiles.
  int num_graphs() const { return static_cast<int>(graphs_.size()); }
  /// What is run in a profile; its values have the largest shapes. Throws Error for a number that
  /// is none.
  const std::shared_ptr<const Graph>& graph(int profile = 0) const;

  /// How the bytes became numbers of which an output is made; nothing where floats computed it.
  std::optional<AffineParameters> OutputAffine(const std::string& output) const;

  /// Of a profile, in the order in which they run; layers of which nothing is left do not appear.
  std::vector<LayerInfo> layers(int profile = 0) const;
  size_t weight_bytes() const;
  /// What each context takes for activations and scratch, once it has run all profiles. Found out
  /// by making one, once.
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

/// Is told what each layer took.
class Profiler {
 public:
  virtual ~Profiler() = default;
  virtual void ReportLayerTime(const std::string& layer, double milliseconds) = 0;
};

/// When a run did what. On the CPU nothing is copied or enqueued: `inputs` and `enqueued` are
/// `begin`, `end` is `computed`.
struct RunTimes {
  using Time = std::chrono::steady_clock::time_point;
  Time begin;
  Time inputs;    ///< inputs are in the GPU's memory
  Time enqueued;  ///< the GPU has been given its work
  Time computed;  ///< it has done it
  Time end;       ///< outputs are in the host's memory
};

/// Sees every blob that a layer has made, as floats in Caffe's order, right after it; those of
/// layers of which nothing is left (Engine::layers) too. Blobs inside a joined layer are nowhere.
using BlobObserver =
    std::function<void(const std::string& blob, const Shape& shape, const float* values)>;

/// What one thread needs to run an engine: activations, layer objects, a batch. The weights are the
/// engine's.
class ExecutionContext {
 public:
  /// Starts at the largest shapes of the first profile. Its runs take `threads` threads, in
  /// whatever thread they are asked for; 0: as many as the calling thread has now (Caffe::threads).
  /// Throws Error naming a layer that cannot be made, and for less than 0 threads.
  explicit ExecutionContext(std::shared_ptr<const Engine> engine, int threads = 0);
  ~ExecutionContext();
  ExecutionContext(ExecutionContext&&) noexcept;
  ExecutionContext& operator=(ExecutionContext&&) noexcept;

  /// Runs `batch` items from now on, 1 to max_batch(): axis 0 of the inputs, whose other extents
  /// stay as they are. Contents of inputs are lost. Throws Error for another number, or with the
  /// layer that cannot take it; everything is as it was then.
  void SetBatch(int batch);
  int batch() const;
  /// What a run takes.
  int threads() const;

  /// Another shape of an input, with no more elements than it was built for, nor any blob that
  /// follows from it; for an engine with profiles, one that a profile has in its range. Contents of
  /// inputs are lost. Throws Error with the layer that cannot take it, with the blob that does not
  /// fit, or with the ranges that it is not in; everything is as it was then.
  /// The name of the only input may be "".
  void SetInputShape(const std::string& name, const Shape& shape);
  /// The same for several inputs at once, by name; the others stay as they are.
  void SetInputShapes(const std::map<std::string, Shape>& shapes);

  /// Runs one profile only from now on, starting at its largest shapes; a profile's memory is taken
  /// when it is first run. Without this the first profile is taken that has the shapes in its
  /// range. Contents of inputs are lost. Throws Error for a number that is none; everything is as
  /// it was then.
  void SetProfile(int profile);
  /// The one that is run now.
  int profile() const;

  /// Where to write an input's elements, in Caffe's order; they stay as they are until they are
  /// written again. The place is the same as long as the context lives and stays in one profile.
  /// Throws Error, listing the inputs, for another name.
  float* Input(const std::string& name);
  const Shape& InputShape(const std::string& name) const;

  /// Computes the outputs. Throws Error with the layer where one fails.
  void Run();
  /// Run on a thread of the context's own, after those enqueued before; the future rethrows what
  /// Run throws. Until then the context is left alone: inputs are not written, outputs not read,
  /// nothing is set. The destructor waits for all that was enqueued.
  std::future<void> Enqueue();
  /// The same; `done` is called on that thread, with null or what Run threw. It may read outputs,
  /// write inputs and enqueue the next run; it must not throw, nor destroy the context.
  void Enqueue(std::function<void(std::exception_ptr)> done);

  /// Puts a run of an engine on a GPU on `stream`, of that GPU, behind what is there, and returns.
  /// `places` has for each input and output, by its name, where its elements are in the GPU's
  /// memory: FLOAT in Caffe's order, of the shapes that Run would have; addresses are multiples of
  /// 16. They are left alone until the run is done. From the second run with the same places on it
  /// is one CUDA graph. Several contexts may compute at the same time, each on a stream of its own;
  /// runs of one context are one behind the other. Throws Error, naming it, for a binding that is
  /// missing or not the engine's, or whose shape depends on the data; for an engine on the CPU; and
  /// with the layer where one fails.
  void Enqueue(Stream& stream, const std::map<std::string, void*>& places);

  /// From now on, while nothing is enqueued; null: nobody. They must outlive their use. What they
  /// throw comes out of Run.
  void SetProfiler(Profiler* profiler);
  void SetObserver(BlobObserver observer);
  /// From now on, while nothing is enqueued, each Run writes there when it did what, for which it
  /// waits between the steps on a GPU; null: none does. It must outlive its use. Without
  /// `transfers` such a run on a GPU copies nothing: it computes on what lies where its inputs do,
  /// and Output stays as it was. With a profiler or an observer all of a run counts as computing.
  void SetRunTimes(RunTimes* times, bool transfers = true);

  /// An output's elements, valid until the next Run, SetBatch, SetInputShape or SetProfile. Throws
  /// Error, listing the outputs, for another name.
  const float* Output(const std::string& name);
  /// Where a shape depends on the data (detections), that of the last Run.
  const Shape& OutputShape(const std::string& name) const;

  const Engine& engine() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace caffe::inference

#endif  // CAFFE_INFERENCE_ENGINE_HPP_
