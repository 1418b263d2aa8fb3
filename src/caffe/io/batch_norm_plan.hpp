#ifndef CAFFE_IO_BATCH_NORM_PLAN_HPP_
#define CAFFE_IO_BATCH_NORM_PLAN_HPP_

#include <string>
#include <vector>

#include "caffe/io/model_layers.hpp"
#include "caffe/io/text_fields.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// The forms in which a prototxt and its weights hold batch normalization; see
/// batch_norm_forms.hpp.
enum class BatchNormForm {
  KEEP,    ///< as it is
  BVLC,    ///< three blobs, and a Scale layer for scale and bias
  NVCAFFE  ///< five blobs, scale_bias: true
};

/// Which BatchNorm layers of a net take another form, and how: found out from the prototxt alone,
/// then carried out on its text and on the weights.
class BatchNormPlan {
 public:
  /// `net` is the prototxt as parsed, not upgraded.
  BatchNormPlan(const NetParameter& net, BatchNormForm form);

  /// Sentences on layers that stay as they are.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Collects what changes in the text that `net` was parsed from, of which `fields` are the
  /// fields.
  void EditText(const std::string& text, const std::vector<TextField>& fields,
                TextEdits* edits) const;
  /// Changes the layers' blobs. Throws Error for blobs that are no batch normalization's.
  void EditWeights(std::vector<ModelLayer>* layers) const;

 private:
  struct Change {
    int layer;             // the BatchNorm, an index into net.layer()
    int scale_layer = -1;  // its Scale, likewise; -1: there is none (yet)
    std::string name, scale_name;
    std::string bottom, top;  // of the pair together
    bool edits_text = true;
    bool has_bias = true;  // the Scale layer
  };
  void PlanMerge(int layer);
  void PlanSplit(int layer);
  int ScaleAfter(int layer) const;
  bool IsReadBesides(const std::string& blob, int writer, int reader) const;
  std::string MemoryOf(std::string blob, int end) const;
  std::string SeenBesides(int layer, int reader) const;
  std::string NewName(std::string name) const;
  std::string MergedParams(const Change& change, const std::string& text,
                           const TextField& scale) const;
  void MergeText(const Change& change, const std::string& text, const TextField& norm,
                 const TextField& scale, TextEdits* edits) const;
  std::string SplitParams(const Change& change, const std::string& text, const TextField& norm,
                          TextEdits* edits) const;
  void SplitText(const Change& change, const std::string& text, const TextField& norm,
                 TextEdits* edits) const;

  const NetParameter& net_;
  BatchNormForm form_;
  std::vector<Change> changes_;
  std::vector<std::string> notes_;
};

}  // namespace caffe

#endif  // CAFFE_IO_BATCH_NORM_PLAN_HPP_
