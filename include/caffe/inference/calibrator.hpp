#ifndef CAFFE_INFERENCE_CALIBRATOR_HPP_
#define CAFFE_INFERENCE_CALIBRATOR_HPP_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "caffe/inference/calibration_table.hpp"
#include "caffe/inference/histogram.hpp"
#include "caffe/net.hpp"
#include "caffe/util/input_batches.hpp"

namespace caffe {

/// Where calibration gets its data, and how it chooses a blob's threshold. Five calibrators are
/// below; a custom one derives from this class or from one of them:
///
///     class Cameras : public AutoCalibrator {
///       int GetBatch(Net<float>* net) override { ...fill net->input_blobs()...; return images; }
///     };
///     Cameras cameras;
///     CalibrationTable table = Calibrate(&net, &cameras);
class Calibrator {
 public:
  virtual ~Calibrator() = default;

  /// Writes the next batch to the net's inputs (a net with data layers needs nothing). Returns how
  /// many images it has, 0 when there are no more.
  virtual int64_t GetBatch(Net<float>* net) = 0;
  /// How many batches there will be, for showing progress; 0 if that is unknown.
  virtual int64_t Batches(const Net<float>& net) const;

  /// An earlier result (CalibrationTable::Text), which is taken instead of running the net if it is
  /// for this net and these weights; "" if there is none.
  virtual std::string ReadCalibrationCache() { return ""; }
  virtual void WriteCalibrationCache(const std::string& /*cache*/) {}

  /// The threshold of a blob, above 0 and at most histogram.largest(). Not every value of the blob
  /// is 0.
  virtual double ChooseThreshold(const Histogram& histogram) const = 0;
  /// The method's name in the table: one word.
  virtual std::string method() const = 0;
  /// Calibrators whose tables are compared by the error of the net's outputs; the best one is
  /// taken, the first of equal ones. None: ChooseThreshold decides.
  virtual std::vector<std::shared_ptr<const Calibrator>> Candidates() const { return {}; }
};

/// What the five calibrators below share: batches, and a file as the cache.
class BatchCalibrator : public Calibrator {
 public:
  /// For classes that override GetBatch.
  BatchCalibrator() = default;
  /// Uses at most `most_batches` batches (0: all). The cache is a table file ("": none).
  explicit BatchCalibrator(std::unique_ptr<InputBatches> batches, int64_t most_batches = 0,
                           const std::string& cache_file = "");

  int64_t GetBatch(Net<float>* net) override;
  int64_t Batches(const Net<float>& net) const override;
  std::string ReadCalibrationCache() override;
  void WriteCalibrationCache(const std::string& cache) override;

 private:
  std::unique_ptr<InputBatches> batches_;
  int64_t most_batches_ = 0;
  std::string cache_file_;
  int64_t next_ = 0;
};

/// Least Kullback-Leibler divergence; S. Migacz, 8-bit Inference with TensorRT, GTC 2017.
class EntropyCalibrator : public BatchCalibrator {
 public:
  using BatchCalibrator::BatchCalibrator;
  double ChooseThreshold(const Histogram& histogram) const override;
  std::string method() const override { return "entropy"; }
};

/// Nothing saturates.
class MinMaxCalibrator : public BatchCalibrator {
 public:
  using BatchCalibrator::BatchCalibrator;
  double ChooseThreshold(const Histogram& histogram) const override;
  std::string method() const override { return "minmax"; }
};

/// A given share of the values does not saturate.
class PercentileCalibrator : public BatchCalibrator {
 public:
  static constexpr double kDefaultPercent = 99.99;

  using BatchCalibrator::BatchCalibrator;
  double percent() const { return percent_; }
  /// Throws Error unless 0 < percent <= 100.
  void set_percent(double percent);
  double ChooseThreshold(const Histogram& histogram) const override;
  std::string method() const override { return "percentile"; }

 private:
  double percent_ = kDefaultPercent;
};

/// Least mean squared error.
class MseCalibrator : public BatchCalibrator {
 public:
  using BatchCalibrator::BatchCalibrator;
  double ChooseThreshold(const Histogram& histogram) const override;
  std::string method() const override { return "mse"; }
};

/// Tries the other methods and takes the one whose INT8 engine has outputs closest to those in
/// FLOAT, on a sample of the images: up to 64, spread evenly, or a batch where that is larger. The
/// engines are for the CPU; detections are compared by the share of boxes without a partner. A net
/// that cannot be built as an engine gets the thresholds of MseCalibrator, with a warning in the
/// log.
class AutoCalibrator : public BatchCalibrator {
 public:
  using BatchCalibrator::BatchCalibrator;
  /// That of the percentile's. Throws Error unless 0 < percent <= 100.
  void set_percent(double percent);
  /// MseCalibrator's.
  double ChooseThreshold(const Histogram& histogram) const override;
  std::string method() const override { return "auto"; }
  std::vector<std::shared_ptr<const Calibrator>> Candidates() const override;

 private:
  double percent_ = PercentileCalibrator::kDefaultPercent;
};

struct CalibrationOptions {
  /// The smallest published set has 125 images; fewer than this say little about the tails.
  static constexpr int64_t kEnoughImages = 100;

  /// Fewer are an Error; 0: the log warns of fewer than kEnoughImages.
  int64_t minimum_images = 0;
  std::set<std::string> leave_out;  ///< blobs without an entry: they stay float
  bool weight_scales = true;        ///< puts the weights' scales into the table
  /// Called after each batch with the number of batches and images so far.
  std::function<void(int64_t batches, int64_t images)> progress;
  /// Called before each of the calibrator's candidates is tried, and once at the end.
  std::function<void(int done, int of)> candidate_progress;
};

/// Runs the net on the calibrator's batches once and returns a threshold for each blob that may be
/// quantized (what layers with an INT8 form write or read), or what the calibrator's cache holds.
/// The log warns of few images and of noisy blobs.
///
/// Throws Error: fewer images than options.minimum_images; a blob with NaN or infinities, a blob of
/// zeros, a blob whose values are all the same (each named, with its layer); NaN among weights; a
/// blob in leave_out that the net lacks; a net without blobs that may be quantized; a cache for
/// this net that lacks blobs. A cache that was made for another net or other weights is not taken;
/// the log says so.
CalibrationTable Calibrate(Net<float>* net, Calibrator* calibrator,
                           const CalibrationOptions& options = CalibrationOptions());

/// Blobs that an INT8 engine for the net may ask for and the table lacks.
std::vector<std::string> MissingBlobs(const CalibrationTable& table, const Net<float>& net);

/// The default method.
constexpr char kDefaultCalibrator[] = "auto";
/// A calibrator by its method: auto, entropy, minmax, percentile or mse. Throws Error for an
/// unknown one.
std::unique_ptr<Calibrator> MakeCalibrator(const std::string& method,
                                           std::unique_ptr<InputBatches> batches,
                                           int64_t most_batches, double percent);

}  // namespace caffe

#endif  // CAFFE_INFERENCE_CALIBRATOR_HPP_
