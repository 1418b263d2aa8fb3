#include "caffe/layers/image_list_layer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif

#include <filesystem>
#include <limits>

#include "caffe/core/error_context.hpp"
#include "caffe/core/limits.hpp"
#include "caffe/util/image.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/text_file.hpp"
#include "source_state.hpp"

namespace caffe {

template <typename Dtype, typename Label>
void ImageListLayer<Dtype, Label>::ReadLines() {
  std::ifstream file = OpenTextFile(source_, "the list file cannot be opened");
  lines_.clear();
  string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const char* const white = " \t\r";
    const size_t first = line.find_first_not_of(white);
    if (first == string::npos) continue;
    line = line.substr(first, line.find_last_not_of(white) - first + 1);
    try {
      lines_.push_back(ParseLine(line));
    } catch (Error& error) {
      AddFile(source_, Join(", line ", number), &error);
      throw;
    }
  }
  Require(!lines_.empty(), Error::File{source_}, ": the list file names no images");
  Require(lines_.size() <= size_t(std::numeric_limits<int>::max()), Error::File{source_},
          ": the list file has too many lines");
}

template <typename Dtype, typename Label>
void ImageListLayer<Dtype, Label>::OpenList(const string& source, bool shuffle,
                                            uint32_t rand_skip) {
  source_ = source;
  ReadLines();
  if (shuffle) {
    LOG_IF(INFO, Caffe::root_solver()) << "Shuffling data";
    seed_ = caffe_rng_rand();
    prefetch_rng_.reset(new Caffe::RNG(seed_));
    ShuffleImages();
    shuffles_ = 1;
  }
  LOG_IF(INFO, Caffe::root_solver()) << "A total of " << lines_.size() << " images.";
  lines_id_ = 0;
  if (rand_skip == 0) return;
  const unsigned int skip = caffe_rng_rand() % rand_skip;
  LOG(INFO) << "Skipping first " << skip << " data points.";
  Require(skip < lines_.size(), Error::File{source_}, ": ", Error::Field{"rand_skip"}, " ",
          rand_skip, " may skip all of the ", lines_.size(), " images");
  lines_id_ = static_cast<int>(skip);
}

template <typename Dtype, typename Label>
void ImageListLayer<Dtype, Label>::ShuffleImages() {
  shuffle(lines_.begin(), lines_.end(), static_cast<rng_t*>(prefetch_rng_->generator()));
}

template <typename Dtype, typename Label>
void ImageListLayer<Dtype, Label>::NextLine() {
  if (++lines_id_ < static_cast<int>(lines_.size())) return;
  lines_id_ = 0;
  if (!prefetch_rng_) return;
  ShuffleImages();
  ++shuffles_;
}

template <typename Dtype, typename Label>
vector<typename ImageListLayer<Dtype, Label>::Item> ImageListLayer<Dtype, Label>::TakeItems(
    int count) {
  vector<Item> items;
  for (uint64_t i = 0; i < share_.Total(count); ++i) {
    // Drawn for every image: each gets what it would get from one solver.
    const ImageDraws draws = this->data_transformer_->Draw();
    if (share_.Has(i, count)) items.push_back({lines_[lines_id_], draws});
    NextLine();
  }
  return items;
}

template <typename Dtype, typename Label>
string ImageListLayer<Dtype, Label>::SourceState() {
  StateWriter state;
  state.Put(lines_id_);
  state.Put(this->data_transformer_->RandomState());
  if (prefetch_rng_) {
    state.Put(seed_);
    state.Put(shuffles_);
  }
  return state.text();
}

// Every pass shuffles the order of the one before: they are all repeated.
template <typename Dtype, typename Label>
void ImageListLayer<Dtype, Label>::SetSourceState(const string& text) {
  StateReader state(text);
  const uint64_t line = state.Number();
  const string random = state.Text();
  const bool shuffled = prefetch_rng_ != nullptr;
  Require(state.at_end() == !shuffled,
          "the stored position does not fit the layer: one shuffles, the other does not");
  Require(line < lines_.size(), Error::File{source_}, " has ", lines_.size(),
          " lines, the run stopped at number ", line, ": has the list changed?");
  const uint64_t seed = shuffled ? state.Number() : 0;
  const uint64_t shuffles = shuffled ? state.Number() : 0;
  this->data_transformer_->SetRandomState(random);
  lines_id_ = static_cast<int>(line);
  if (!shuffled) return;
  ReadLines();
  seed_ = static_cast<unsigned int>(seed);
  prefetch_rng_.reset(new Caffe::RNG(seed_));
  for (shuffles_ = 0; shuffles_ < shuffles; ++shuffles_) ShuffleImages();
}

template class ImageListLayer<float, int>;
template class ImageListLayer<double, int>;
template class ImageListLayer<float, string>;
template class ImageListLayer<double, string>;
template class ImageListLayer<float, std::pair<int, int>>;
template class ImageListLayer<double, std::pair<int, int>>;

#ifdef USE_OPENCV

cv::Mat ReadListedImage(const string& file, int height, int width, bool is_color) {
  const cv::Mat image = ReadImageToCVMat(file, height, width, is_color);
  if (!image.empty()) return image;
  std::error_code ignored;
  Fail(Error::File{file}, ": cannot be read as an image: ",
       std::filesystem::exists(file, ignored)
           ? "it is damaged, or in no format that this OpenCV reads"
           : "there is no such file");
}

cv::Mat ReadListedLabels(const string& file, const cv::Mat& image, bool resized, int factor) {
  const cv::Mat labels = ReadListedImage(file, 0, 0, false);
  Require(resized || labels.size() == image.size(), Error::File{file}, ": the labels are ",
          labels.rows, " x ", labels.cols, ", their image is ", image.rows, " x ", image.cols);
  const cv::Size size(image.cols / factor, image.rows / factor);
  limits::CheckImage(size.height, size.width, "the labels of " + file);
  if (size == labels.size()) return labels;
  cv::Mat fitting;
  cv::resize(labels, fitting, size, 0, 0, cv::INTER_NEAREST);
  return fitting;
}

#endif

void CheckNewSize(const char* message, uint32_t new_height, uint32_t new_width) {
  constexpr uint32_t kMax = 1 << 20;
  Require((new_height == 0) == (new_width == 0), Error::Field{message}, ": new_height ", new_height,
          " and new_width ", new_width, " are given together, or not at all");
  Require(new_height <= kMax && new_width <= kMax, Error::Field{message}, ": images of ",
          new_height, " x ", new_width, " are too large");
}

}  // namespace caffe
