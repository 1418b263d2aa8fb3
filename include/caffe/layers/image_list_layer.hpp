#ifndef CAFFE_IMAGE_LIST_LAYER_HPP_
#define CAFFE_IMAGE_LIST_LAYER_HPP_

#include <string>
#include <utility>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/util/record_share.hpp"

namespace caffe {

/// What layers that read the images of a list file have in common: the lines, in the order of the
/// file or shuffled again for each pass, and where in them the layer is. `Label` is what a line has
/// next to its image.
template <typename Dtype, typename Label>
class ImageListLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit ImageListLayer(const LayerParameter& param)
      : BasePrefetchingDataLayer<Dtype>(param), share_(param.phase()) {}
  int ExactNumBottomBlobs() const override { return 0; }
  int ExactNumTopBlobs() const override { return 2; }
  uint64_t EpochItems() override { return lines_.size(); }

 protected:
  using Line = std::pair<std::string, Label>;

  /// One line of the list file, without white space around it. Throws Error if it is none.
  virtual Line ParseLine(const std::string& line) const = 0;
  /// Puts lines_ in a new random order, by prefetch_rng_.
  virtual void ShuffleImages();

  /// Reads the list file and goes to its first line: of a random order with `shuffle`, behind up to
  /// `rand_skip` - 1 lines if that is not 0.
  void OpenList(const std::string& source, bool shuffle, uint32_t rand_skip);
  /// Goes to the next line, or to the first one of the next pass.
  void NextLine();
  /// This solver's images of the batches that all solvers begin here, each with its random
  /// numbers; goes behind all of them.
  struct Item {
    Line line;
    ImageDraws draws;
  };
  vector<Item> TakeItems(int count);
  /// Which items of a batch are this solver's.
  const RecordShare& share() const { return share_; }

  std::string SourceState() override;
  void SetSourceState(const std::string& state) override;

  shared_ptr<Caffe::RNG> prefetch_rng_;
  vector<Line> lines_;
  int lines_id_ = 0;

 private:
  void ReadLines();

  std::string source_;
  const RecordShare share_;
  unsigned int seed_ = 0;  // of prefetch_rng_
  uint64_t shuffles_ = 0;
};

/// The image's file, resized to height x width where these are not 0. Throws Error, naming the
/// file, if it cannot be read as an image.
cv::Mat ReadListedImage(const std::string& file, int height, int width, bool is_color);

/// The grey image of the labels of `image`'s pixels, in 1 / factor of its size, without
/// interpolation. Throws Error, naming the file, if it cannot be read, or has not the size of
/// `image` although that was not `resized`.
cv::Mat ReadListedLabels(const std::string& file, const cv::Mat& image, bool resized,
                         int factor = 1);

/// Throws Error unless new_height and new_width are both given or both 0; `message` is the name of
/// the parameter message they are in.
void CheckNewSize(const char* message, uint32_t new_height, uint32_t new_width);

}  // namespace caffe

#endif  // CAFFE_IMAGE_LIST_LAYER_HPP_
