#ifndef CAFFE_TEST_FIRST_PICTURES_HPP_
#define CAFFE_TEST_FIRST_PICTURES_HPP_

#include "caffe/inference/calibrator.hpp"
#include "trained_models.hpp"

namespace caffe {

/// The first pictures, batch by batch.
class FirstPictures : public AutoCalibrator {
 public:
  FirstPictures(const LabelledPictures& pictures, int count) : pictures_(pictures), count_(count) {}
  int64_t GetBatch(Net<float>* net) override {
    if (next_ >= count_) return 0;
    pictures_.Feed(next_, net);
    next_ += kPicturesAtOnce;
    return kPicturesAtOnce;
  }

 private:
  const LabelledPictures& pictures_;
  const int count_;
  int next_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_TEST_FIRST_PICTURES_HPP_
