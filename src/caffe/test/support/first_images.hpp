#ifndef CAFFE_TEST_FIRST_IMAGES_HPP_
#define CAFFE_TEST_FIRST_IMAGES_HPP_

#include "caffe/inference/calibrator.hpp"
#include "trained_models.hpp"

namespace caffe {

/// The first images, batch by batch.
class FirstImages : public AutoCalibrator {
 public:
  FirstImages(const LabelledImages& images, int count) : images_(images), count_(count) {}
  int64_t GetBatch(Net<float>* net) override {
    if (next_ >= count_) return 0;
    images_.Feed(next_, net);
    next_ += kImagesAtOnce;
    return kImagesAtOnce;
  }

 private:
  const LabelledImages& images_;
  const int count_;
  int next_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_TEST_FIRST_IMAGES_HPP_
