#include "result_drawer.hpp"

#ifdef USE_OPENCV

#include "caffe/inference/evaluation/result_drawing.hpp"
#include "caffe/util/image.hpp"
#include "caffe/util/input_batches.hpp"

namespace caffe {
namespace {

/// What the net sees of an image.
ImagePart Seen(const Net<float>& feed, const inference::ImagePreprocessing& preprocessing,
               const cv::Mat& image) {
  for (int i = 0; i < feed.num_inputs(); ++i) {
    const Blob<float>& input = *feed.input_blobs()[i];
    const std::string& name = feed.blob_names()[feed.input_blob_indices()[i]];
    if (preprocessing.constants.count(name) > 0 || input.num_axes() != 4) continue;
    return SeenPart(preprocessing, input.shape(2), input.shape(3), image.rows, image.cols);
  }
  Fail(Error::Field{"-draw"}, ": the net has no input that takes images");
}

}  // namespace

struct ResultDrawer::State {
  inference::ImageWriter writer;
  inference::ClassNames names;
  inference::DrawingOptions options;
};

ResultDrawer::ResultDrawer(const std::string& out, const inference::ClassNames& names,
                           const inference::ResultOptions& options)
    : state_(new State{inference::ImageWriter(out), names, {}}) {
  state_->options.top = options.top;
  state_->options.least_score = options.least_score;
}

void ResultDrawer::Draw(const inference::Engine& engine, const std::vector<std::string>& files,
                        const inference::Tensors& outputs, const Net<float>& feed,
                        const inference::ImagePreprocessing& preprocessing) {
  state_->options.rgb = preprocessing.rgb;
  for (size_t i = 0; i < files.size(); ++i) {
    const cv::Mat image = ReadImageToCVMat(files[i], /*is_color=*/true);
    Require(!image.empty(), files[i], ": cannot be read as an image");
    inference::Tensors item;
    for (const auto& output : outputs) {
      item[output.first] =
          inference::ItemOf(engine, output.first, output.second, static_cast<int>(i));
    }
    state_->writer.Write(files[i],
                         inference::DrawResults(image, item, state_->names,
                                                Seen(feed, preprocessing, image), state_->options));
    ++drawn_;
  }
}

ResultDrawer::~ResultDrawer() = default;

}  // namespace caffe

#else

#include "caffe/error.hpp"

namespace caffe {

struct ResultDrawer::State {};

ResultDrawer::ResultDrawer(const std::string& out, const inference::ClassNames&,
                           const inference::ResultOptions&) {
  Fail(Error::Field{"-draw"}, " ", out, ": drawing needs OpenCV",
       Error::Remedy{"build with USE_OPENCV=ON"});
}
ResultDrawer::~ResultDrawer() = default;

void ResultDrawer::Draw(const inference::Engine&, const std::vector<std::string>&,
                        const inference::Tensors&, const Net<float>&,
                        const inference::ImagePreprocessing&) {}

}  // namespace caffe

#endif  // USE_OPENCV
