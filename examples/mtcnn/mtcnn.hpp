#ifndef MTCNN_HPP_
#define MTCNN_HPP_

#include <array>
#include <caffe/caffe.hpp>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

/// Faces and five points in each, found by three nets in turn: K. Zhang, Z. Zhang, Z. Li, Y. Qiao,
/// "Joint Face Detection and Alignment Using Multitask Cascaded Convolutional Networks", IEEE
/// Signal Processing Letters 23 (2016).
namespace mtcnn {

/// Corners in pixels of the image, which they may lie outside of; pixel 0 is the first one.
struct Face {
  float left, top, right, bottom;
  float score;  ///< in [0, 1]
  /// Left eye, right eye, nose, left and right corner of the mouth, as one sees them.
  std::array<cv::Point2f, 5> points;
};

struct Options {
  float min_size = 20;                       ///< pixels of the smallest face that is looked for
  float factor = 0.709f;                     ///< from one level of the image pyramid to the next
  float thresholds[3] = {0.6f, 0.7f, 0.7f};  ///< scores that the three nets must exceed
};

/// A net and its weights.
struct Files {
  std::string net, weights;
};

class Detector {
 public:
  /// The proposal, refinement and output net: those that the authors published as det1, det2 and
  /// det3. Throws caffe::Error for files that cannot be read and options out of range.
  Detector(const Files& proposal, const Files& refinement, const Files& output,
           const Options& options = Options());

  /// Faces in an image of three 8-bit channels (blue, green, red), the surest first.
  std::vector<Face> Detect(const cv::Mat& image);

 private:
  /// A box, counted from pixel 1 and with both corners inside, as the nets were trained.
  struct Candidate {
    float x1, y1, x2, y2, score;
    float shift[4];    ///< of the corners, in units of the box's size
    float points[10];  ///< five x, then five y, in units of the box's size
  };
  using Candidates = std::vector<Candidate>;

  std::vector<float> Scales(const cv::Mat& image) const;
  void Propose(const cv::Mat& image, float scale, Candidates* candidates);
  /// Scores and shifts of boxes from a net that sees each as size x size pixels; keeps those above
  /// the threshold.
  Candidates Judge(const cv::Mat& image, const Candidates& boxes, int size,
                   const std::string& shifts, const std::string& points, float threshold,
                   caffe::Net<float>* net);

  caffe::Net<float> proposal_, refinement_, output_;
  Options options_;
};

}  // namespace mtcnn

#endif  // MTCNN_HPP_
