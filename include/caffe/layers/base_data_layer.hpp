#ifndef CAFFE_BASE_DATA_LAYER_HPP_
#define CAFFE_BASE_DATA_LAYER_HPP_

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/data_transformer.hpp"
#include "caffe/device.hpp"
#include "caffe/internal_thread.hpp"
#include "caffe/layer.hpp"
#include "caffe/util/blocking_queue.hpp"

namespace caffe {

class ThreadTeam;

/// What layers that make data have in common: a DataTransformer, and labels if there is a second
/// top. A subclass implements DataLayerSetUp and shapes the tops there.
template <typename Dtype>
class BaseDataLayer : public Layer<Dtype> {
 public:
  explicit BaseDataLayer(const LayerParameter& param);
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                              const vector<Blob<Dtype>*>& /*top*/) {}
  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {}
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}
  void Backward_gpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}

 protected:
  TransformationParameter transform_param_;
  shared_ptr<DataTransformer<Dtype>> data_transformer_;
  bool output_labels_ = false;
};

/// One batch, which the reading thread hands to the net.
template <typename Dtype>
class Batch {
 public:
  Blob<Dtype> data_, label_;
  /// The source's position and generator behind this batch; see Layer::SaveState.
  std::string state_;
};

/// One of the batches that are made ready ahead: prefetch_[i]->data_ in Caffe 1.0,
/// prefetch_[i].data_ before.
template <typename Dtype>
class PrefetchedBatch : public shared_ptr<Batch<Dtype>> {
 public:
  PrefetchedBatch() : PrefetchedBatch(new Batch<Dtype>()) {}

  Blob<Dtype>& data_;
  Blob<Dtype>& label_;

 private:
  explicit PrefetchedBatch(Batch<Dtype>* batch)
      : shared_ptr<Batch<Dtype>>(batch), data_(batch->data_), label_(batch->label_) {}
};

/// A layer whose batches a thread of its own makes ready, data_param.prefetch of them ahead, and in
/// GPU mode copies to the GPU while the net computes. A subclass implements load_batch, which runs
/// in that thread.
template <typename Dtype>
class BasePrefetchingDataLayer : public BaseDataLayer<Dtype>, public InternalThread {
 public:
  explicit BasePrefetchingDataLayer(const LayerParameter& param);
  ~BasePrefetchingDataLayer() override { this->StopInternalThread(); }
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  std::string SaveState() override;
  void RestoreState(const std::string& state) override;

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void InternalThreadEntry() override;
  virtual void load_batch(Batch<Dtype>* batch) = 0;

  /// Where the source is now, as text; "" if it cannot be said. Called in the reading thread.
  virtual std::string SourceState() { return std::string(); }
  /// Goes back to where SourceState was taken; called while the reading thread stands still.
  virtual void SetSourceState(const std::string& /*state*/) {}

  /// Threads for load_batch to decode with: `asked`, or as many as suit the machine if 0.
  ThreadTeam& DecodingTeam(uint32_t asked);

  /// How many batches are made ready ahead; a constant in Caffe before 1.0.
  const int PREFETCH_COUNT;

 private:
  // Declared before the batches: their memory on the GPU is freed first.
  std::unique_ptr<Stream> copies_;  ///< the thread's, in GPU mode

 protected:
  vector<PrefetchedBatch<Dtype>> prefetch_;
  BlockingQueue<Batch<Dtype>*> prefetch_free_;
  BlockingQueue<Batch<Dtype>*> prefetch_full_;
  Batch<Dtype>* prefetch_current_ = nullptr;  ///< what the tops are a copy of
  Blob<Dtype> transformed_data_;

 private:
  void StopPrefetching();
  void ReleaseCurrent();

  std::string consumed_;  // the source's state behind the batch that the net took last
  std::shared_ptr<ThreadTeam> team_;
};

}  // namespace caffe

#endif  // CAFFE_BASE_DATA_LAYER_HPP_
