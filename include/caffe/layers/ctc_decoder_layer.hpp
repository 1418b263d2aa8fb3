#ifndef CAFFE_CTC_DECODER_LAYER_HPP_
#define CAFFE_CTC_DECODER_LAYER_HPP_

#include <vector>

#include "caffe/layers/forward_only_layer.hpp"

namespace caffe {

/// Reads label sequences off scores (T, N, C) along the best path: the best class of every step,
/// equal neighbours merged unless ctc_decoder_param.ctc_merge_repeated is false, blanks left out.
/// blank_index below 0 is the last class. What the bottoms are decides what the tops are, as in the
/// forks that have this layer:
///
///     scores                          -> sequences
///     scores, labels (N, L)           -> (1, 2, 1, 1): 1 - the mean edit distance of sequence and
///                                        labels as a part of the longer one; the part of sequences
///                                        without any error
///     scores, indicators (T, N)       -> sequences [, penalties]
///     scores, indicators, labels (L, N) -> sequences [, penalties], (1, 1, 1, 1): 1 - the mean
///                                        edit distance; with two tops the second one is that
///
/// Sequences are (N, T, 1, 1), filled up with -1; penalties (N, 1, 1, 1) the negative sum of the
/// best scores. A sequence ends before its next indicator 0, labels before the first negative one.
/// Two bottoms are scores and indicators only if the second has shape (T, N). No gradients.
template <typename Dtype>
class CTCGreedyDecoderLayer : public ForwardOnlyLayer<Dtype> {
 public:
  explicit CTCGreedyDecoderLayer(const LayerParameter& param) : ForwardOnlyLayer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  const char* type() const override { return "CTCGreedyDecoder"; }
  int MinBottomBlobs() const override { return 1; }
  int MaxBottomBlobs() const override { return 3; }
  int MinTopBlobs() const override { return 1; }
  int MaxTopBlobs() const override { return 3; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

 private:
  vector<int> LabelsOf(const Blob<Dtype>& labels, int sequence, bool by_step) const;
  int blank() const {
    const int index = this->layer_param_.ctc_decoder_param().blank_index();
    return index < 0 ? C_ - 1 : index;
  }

  int T_ = 0, N_ = 0, C_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_CTC_DECODER_LAYER_HPP_
