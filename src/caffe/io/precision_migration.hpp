#ifndef CAFFE_IO_PRECISION_MIGRATION_HPP_
#define CAFFE_IO_PRECISION_MIGRATION_HPP_

#include <string>
#include <vector>

#include "caffe/io/atomic_file.hpp"
#include "caffe/io/batch_norm_plan.hpp"
#include "caffe/io/conversion_report.hpp"
#include "caffe/io/model_layers.hpp"

namespace caffe {

/// What a net's files are to become.
struct MigrationOptions {
  ElementType to = ElementType::FLOAT16;    ///< FLOAT16: NVCaffe's raw form; FLOAT: BVLC's
  ElementType math = ElementType::FLOAT16;  ///< default_forward_math, default_backward_math
  bool clamp = false;                       ///< saturate instead of overflowing
  BatchNormForm batch_norm = BatchNormForm::KEEP;
};

/// "fp16", "FLOAT16", "fp32" or "FLOAT", in any case. Throws Error, with `flag`, for anything else.
ElementType PrecisionNamed(const std::string& flag, const std::string& name);
/// The same, or "bf16" or "BFLOAT16".
ElementType MathNamed(const std::string& flag, const std::string& name);
/// "keep", "bvlc" or "nvcaffe". Throws Error.
BatchNormForm BatchNormFormNamed(const std::string& flag, const std::string& name);

/// Turns a net's prototxt and weights from one precision into another.
///
/// To FLOAT16: the prototxt gets the four default_*_type and default_*_math lines; the weights
/// become raw_data. Parameters that the net keeps in FLOAT stay FLOAT: batch normalization's,
/// those of layers without kernels for FLOAT16 (Python layers, and types that are not known here,
/// too), and those of layers that say forward_type: FLOAT or DOUBLE. To FLOAT: everything becomes
/// `data`, and the fields of half precision leave the prototxt, so that BVLC Caffe reads
/// both. Comments and layout of the prototxt stay. The weights may be a caffemodel of any age, with
/// elements of any type, or an HDF5 file.
class PrecisionMigration {
 public:
  /// Reads both files. Throws Error if one is damaged or if they have no layer in common.
  PrecisionMigration(const std::string& prototxt, const std::string& model,
                     const MigrationOptions& options);

  /// The new prototxt's text.
  const std::string& prototxt() const { return text_; }
  /// Writes the new weights; what happened to each layer's.
  std::vector<LayerConversion> WriteModel(AtomicFile* file) const;
  /// What the user should know besides.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  ModelLayers::Storage StorageOf(const ModelLayer& layer) const;
  void CheckNames(const std::string& prototxt, const std::string& model);
  void NoteNames(const std::string& what, const std::vector<std::string>& names);
  std::string EditedText(const std::string& text, const BatchNormPlan& plan) const;

  NetParameter net_;  // the old prototxt, not upgraded
  MigrationOptions options_;
  ModelLayers model_;
  std::string text_;
  std::vector<std::string> notes_;
};

/// Sentences on what a table does not make plain: NaN and infinity by layer, and overflow with its
/// cures. `written` is false where the new weights are not kept.
std::vector<std::string> ConversionWarnings(const std::vector<LayerConversion>& layers,
                                            const MigrationOptions& options, bool written = true);
/// What makes new weights unusable, in all layers: "2 values overflow and 1 are NaN or infinite".
/// "" if nothing does.
std::string ConversionFaults(const std::vector<LayerConversion>& layers);

}  // namespace caffe

#endif  // CAFFE_IO_PRECISION_MIGRATION_HPP_
