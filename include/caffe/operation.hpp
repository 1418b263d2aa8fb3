#ifndef CAFFE_OPERATION_HPP_
#define CAFFE_OPERATION_HPP_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caffe/element_type.hpp"

namespace caffe {

class LayerParameter;

namespace kernels {
struct Activation;
}

/// The extents of a blob.
using Shape = std::vector<int>;

/// Reasons that several layer types have to stay on the CPU (Operation::CpuOnly).
constexpr char kMadeOnHost[] = "its data are made on the host";
constexpr char kSequential[] = "it sorts, suppresses or matches, one after another";
constexpr char kSharesMemory[] = "it shares memory and computes nothing";
constexpr char kSmallConstants[] = "it makes small constants of the shapes";

/// What the rest of the library has to know about a layer type without making a layer of it. Each
/// layer's .cpp registers its own:
///
///     static const bool registered = OperationTable::Add(
///         Operation("ReLU").InPlace().Native().Homogeneous().BackwardReads(kBottomData)...);
///
/// Types that are not in the table (custom layers) are treated as knowing only the net's
/// Dtype, not in place, and nothing else.
struct Operation {
  explicit Operation(std::string type) : type(std::move(type)) {}

  /// Shapes of the tops for bottoms of these shapes; no allocation. Throws Error as Reshape would.
  using TopShapes =
      std::function<std::vector<Shape>(const LayerParameter&, const std::vector<Shape>& bottoms)>;
  /// What the backward pass reads in addition to the tops' diffs; combined with |.
  enum Reads : unsigned { kNothing = 0, kBottomData = 1, kTopData = 2 };

  // Each of these functions sets what it is named after, and returns the same Operation; fields
  // below say more. `which`: indices of bottoms or tops, {-1} for all of them.

  Operation& Shapes(TopShapes function) {
    top_shapes = std::move(function);
    return *this;
  }
  Operation& InPlace() {
    in_place = true;
    return *this;
  }
  Operation& AnyInPlace() {
    in_place = any_in_place = true;
    return *this;
  }
  Operation& BackwardReads(unsigned what) {
    backward_reads = what;
    return *this;
  }
  /// Has kernels that read and write FLOAT, DOUBLE and FLOAT16 as they are, without conversion.
  Operation& Native() {
    native = true;
    return *this;
  }
  Operation& FloatBottoms(std::vector<int> which) {
    float_bottoms = std::move(which);
    return *this;
  }
  Operation& FloatTops(std::vector<int> which) {
    float_tops = std::move(which);
    return *this;
  }
  Operation& FloatParameters() {
    float_parameters = true;
    return *this;
  }
  Operation& Homogeneous() {
    homogeneous = true;
    return *this;
  }
  Operation& TestIdentity() {
    test_identity = true;
    return *this;
  }
  Operation& Quantizable() {
    quantizable = true;
    return *this;
  }
  /// Has an INT8 form in engines of integers alone, and in no other.
  Operation& QuantizableInIntegers() {
    quantizable_in_integers = true;
    return *this;
  }
  /// How large its tops are depends on the bottoms' values.
  Operation& SizedByData() {
    sized_by_data = true;
    return *this;
  }
  Operation& TypeAgnostic() {
    type_agnostic = true;
    return *this;
  }
  Operation& Source() {
    source = true;
    return *this;
  }
  /// Its tops depend on more than bottoms and parameters, or it does more than write them: a second
  /// pass over the same bottoms is not the same. Sources need not say so.
  Operation& Stateful() {
    stateful = true;
    return *this;
  }
  /// The forward pass may write its parameters (statistics) in the TEST phase.
  Operation& UpdatesParameters() {
    updates_parameters = true;
    return *this;
  }
  Operation& Loss() {
    loss = true;
    return *this;
  }
  /// Applies an activation, found from its parameters, to each number. Throws Error for bad ones.
  Operation& Activates(std::function<kernels::Activation(const LayerParameter&)> function) {
    activation = std::move(function);
    return *this;
  }
  /// What a layer does with its weights (parameter 0), as far as optimizers know it.
  enum class Weights { NONE, CONVOLUTION, DECONVOLUTION, INNER_PRODUCT };
  Operation& Multiplies(Weights kind) {
    weights = kind;
    return *this;
  }
  /// In the TEST phase y = a x + b for each channel of its only bottom, a and b from parameters.
  Operation& Affine() {
    affine = true;
    return *this;
  }
  /// Its values lie between those of neighbours in the same channel of bottom 0.
  Operation& Interpolates() {
    interpolates = true;
    return *this;
  }
  /// Of these bottoms it reads the shape alone. -1: of all, and its tops do not depend on the
  /// batch.
  Operation& ShapeBottoms(std::vector<int> which) {
    shape_bottoms = std::move(which);
    return *this;
  }
  /// With one bottom its tops are that bottom's memory, as in Caffe: what works in place on one of
  /// these blobs changes all.
  Operation& SharesBottom() {
    shares_bottom = true;
    return *this;
  }
  /// Compares outputs with labels: a number for reports.
  Operation& Scores() {
    scores = true;
    return *this;
  }
  /// Values of top 0 lie within these bounds, both included, whatever the bottoms.
  Operation& Within(float lowest, float highest) {
    bounds = std::make_pair(lowest, highest);
    return *this;
  }
  /// Has no kernels for the GPU, and why the CPU is right: a part of a sentence about the layer.
  Operation& CpuOnly(std::string why) {
    cpu_only = std::move(why);
    return *this;
  }

  std::string type;
  TopShapes top_shapes;  ///< empty: only a layer can tell
  /// Empty: it is more than a function of one number. Slopes of PRELU are the layer's parameter.
  std::function<kernels::Activation(const LayerParameter&)> activation;
  bool in_place = false;                             ///< top 0 may be bottom 0
  bool any_in_place = false;                         ///< so may any other top be any bottom
  unsigned backward_reads = kBottomData | kTopData;  ///< values of Reads
  bool native = false;
  std::vector<int> float_bottoms;  ///< read as the net's Dtype always; -1: all
  std::vector<int> float_tops;     ///< written as the net's Dtype always; -1: all
  bool float_parameters = false;   ///< parameters are stored FLOAT (statistics)
  bool homogeneous = false;        ///< f(p x) = p f(x) for p > 0
  bool test_identity = false;      ///< top 0 equals bottom 0 in the TEST phase
  bool quantizable = false;        ///< has an INT8 form
  bool quantizable_in_integers = false;
  bool sized_by_data = false;
  bool type_agnostic = false;       ///< moves elements without arithmetic
  bool source = false;              ///< makes data (no bottoms, no gradients)
  bool stateful = false;            ///< a pass cannot be repeated
  bool updates_parameters = false;  ///< a pass in TEST may write them
  bool loss = false;                ///< top 0 is a loss, of weight 1 unless the net says otherwise
  Weights weights = Weights::NONE;
  bool affine = false;
  bool interpolates = false;
  std::vector<int> shape_bottoms;  ///< read for their shapes alone; -1: all
  bool shares_bottom = false;
  bool scores = false;
  std::optional<std::pair<float, float>> bounds;
  std::string cpu_only;  ///< why GPU mode runs it on the CPU; empty: it has kernels for the GPU

  /// True if top (bottom) number `index` is kept in the net's Dtype whatever the layer's type.
  bool IsFloatTop(int index) const;
  bool IsFloatBottom(int index) const;
  /// True if bottom number `index` is read for its shape alone.
  bool IsShapeBottom(int index) const;
  /// True if it makes its tops from the bottoms' shapes, whatever the batch.
  bool ReadsShapesOnly() const;
};

/// True if the layer's tops are its bottom's memory.
bool SharesBottom(const LayerParameter& layer);

/// What the layer does to each number; nothing where it does anything else.
std::optional<kernels::Activation> ActivationOf(const LayerParameter& layer);

/// All operations, by layer type.
class OperationTable {
 public:
  /// Returns true so that it can initialise a static. Aborts on a type added twice.
  static bool Add(const Operation& operation);
  /// nullptr if the type is not in the table, or if a program has registered a layer of its own
  /// under that name. The row lives as long as the program.
  static const Operation* Find(const std::string& type);
  /// A row that says nothing if the type is not in the table.
  static const Operation& Of(const std::string& type);
  /// In alphabetical order.
  static std::vector<const Operation*> All();
};

}  // namespace caffe

#endif  // CAFFE_OPERATION_HPP_
