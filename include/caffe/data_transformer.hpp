#ifndef CAFFE_DATA_TRANSFORMER_HPP_
#define CAFFE_DATA_TRANSFORMER_HPP_

#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// From pictures to blobs: y = (x - mean) * scale, cropped to crop_size (at random in TRAIN, in the
/// middle in TEST) and mirrored at random if `mirror`. Draws per picture: mirror, then height and
/// width of the crop's corner.
template <typename Dtype>
class DataTransformer {
 public:
  /// Throws Error for a mean file that cannot be read or contradicts mean_value.
  explicit DataTransformer(const TransformationParameter& param, Phase phase);
  virtual ~DataTransformer() {}

  /// Seeds the generator of this transformer by one draw of the thread's, if it draws at all.
  void InitRand();

  /// One picture into a blob of one item.
  void Transform(const Datum& datum, Blob<Dtype>* transformed_blob);
  void Transform(const vector<Datum>& datum_vector, Blob<Dtype>* transformed_blob);
#ifdef USE_OPENCV
  void Transform(const vector<cv::Mat>& mat_vector, Blob<Dtype>* transformed_blob);
  void Transform(const cv::Mat& cv_img, Blob<Dtype>* transformed_blob);
#endif
  /// Items of a blob, which is left as it is.
  void Transform(Blob<Dtype>* input_blob, Blob<Dtype>* transformed_blob);

  /// The shape of a transformed picture: (1, channels, height, width); of several: their number
  /// first.
  vector<int> InferBlobShape(const Datum& datum);
  vector<int> InferBlobShape(const vector<Datum>& datum_vector);
#ifdef USE_OPENCV
  vector<int> InferBlobShape(const vector<cv::Mat>& mat_vector);
  vector<int> InferBlobShape(const cv::Mat& cv_img);
#endif

  /// The generator's state as text ("" if it draws nothing), for resumed runs.
  string RandomState() const;
  void SetRandomState(const string& state);

 protected:
  /// A draw from [0, n).
  virtual int Rand(int n);

  TransformationParameter param_;
  shared_ptr<Caffe::RNG> rng_;
  Phase phase_;
  Blob<Dtype> data_mean_;
  vector<Dtype> mean_values_;

 private:
  /// Where one picture is cut and whether it is mirrored.
  struct Cut {
    bool mirror = false;
    int h_offset = 0, w_offset = 0;
    int height = 0, width = 0;
  };
  Cut DrawCut(int height, int width);
  void CheckSizes(int channels, int height, int width, const Blob<Dtype>& top) const;
  /// value(c, h, w) of the picture -> one item of the top.
  template <typename Value>
  void Write(int channels, int height, int width, const Cut& cut, Value&& value, Dtype* top);
  vector<int> CroppedShape(int channels, int height, int width) const;
};

}  // namespace caffe

#endif  // CAFFE_DATA_TRANSFORMER_HPP_
