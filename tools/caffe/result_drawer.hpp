#ifndef CAFFE_TOOLS_CAFFE_RESULT_DRAWER_HPP_
#define CAFFE_TOOLS_CAFFE_RESULT_DRAWER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/image_preprocessing.hpp"
#include "caffe/inference/results.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// Draws results onto the image files that they are of.
class ResultDrawer {
 public:
  /// Into `out`, a folder or, for one image, a file. Throws Error without OpenCV.
  ResultDrawer(const std::string& out, const inference::ClassNames& names,
               const inference::ResultOptions& options);
  ~ResultDrawer();

  /// `outputs` of a batch of these files, which were prepared for the inputs of `feed`.
  void Draw(const inference::Engine& engine, const std::vector<std::string>& files,
            const inference::Tensors& outputs, const Net<float>& feed,
            const inference::ImagePreprocessing& preprocessing);
  int drawn() const { return drawn_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  int drawn_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_TOOLS_CAFFE_RESULT_DRAWER_HPP_
