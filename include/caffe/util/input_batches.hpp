#ifndef CAFFE_UTIL_INPUT_BATCHES_HPP_
#define CAFFE_UTIL_INPUT_BATCHES_HPP_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe/inference/image_preprocessing.hpp"
#include "caffe/net.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// A part of an image, in its pixels.
struct ImagePart {
  double left = 0, top = 0, width = 0, height = 0;
};
/// What a net's input shows of an image that was prepared so: all of it where images are resized to
/// the input, less where they are cut. Sizes are in pixels.
ImagePart SeenPart(const inference::ImagePreprocessing& preprocessing, int input_height,
                   int input_width, int image_height, int image_width);

/// One item of a batch.
struct InputItem {
  std::string name;  ///< an image's path, a record's key, "row 3", ...
  int label = -1;    ///< -1: unknown
};

/// Batches of inputs for a net, the same ones for every net that asks.
class InputBatches {
 public:
  virtual ~InputBatches() = default;
  /// Writes batch number `batch`, from 0, to the net's inputs. False if there is none; Error if the
  /// net's inputs do not fit, naming the file or record.
  virtual bool Feed(int batch, Net<float>* net) = 0;
  /// The images (items) that the last batch had, without those that only filled it up.
  const std::vector<InputItem>& items() const { return items_; }
  /// How many they are.
  int64_t images() const { return static_cast<int64_t>(items_.size()); }
  /// How many batches there are for this net, at most; 0 if that is unknown.
  virtual int64_t batches(const Net<float>& net) const = 0;

  /// The images of a folder, or those that fit a pattern of the shell's (image_files.hpp); else
  /// those that a file lists, one path a line (what follows the last space is taken as a
  /// label if the path without it exists); relative paths count from the list's folder, else from
  /// the current one. Images are resized to the input; the last batch is filled up with the
  /// first images. Throws Error if the list is missing or names no image.
  static std::unique_ptr<InputBatches> FromList(const std::string& list,
                                                const inference::ImagePreprocessing& preprocessing);
  /// These images. Throws Error for one that does not exist.
  static std::unique_ptr<InputBatches> FromImages(
      const std::vector<std::string>& paths, const inference::ImagePreprocessing& preprocessing);
  /// The records of a database (Datum or AnnotatedDatum), at most `limit` batches. `backend` is
  /// lmdb or leveldb. Throws Error if it is missing or has no records.
  static std::unique_ptr<InputBatches> FromDatabase(
      const std::string& source, const std::string& backend, int limit,
      const inference::ImagePreprocessing& preprocessing);
  /// `count` batches of noise: pixels from 0 to 255, prepared like images.
  static std::unique_ptr<InputBatches> Random(int count, unsigned seed,
                                              const inference::ImagePreprocessing& preprocessing);
  /// `count` batches of the net's own data layers.
  static std::unique_ptr<InputBatches> Own(int count);
  /// Rows of NumPy files, by the input that takes them; "" stands for the only input that
  /// `constants` (by blob, repeated to fill it) leaves. An array is (rows, shape of one item), its
  /// values are taken as they are, and all have the same number of rows. The last batch is filled
  /// up with the first rows. Throws Error if a file is missing or no such array.
  static std::unique_ptr<InputBatches> FromNpy(
      const std::map<std::string, std::string>& files,
      const std::map<std::string, std::vector<float>>& constants);

 protected:
  std::vector<InputItem> items_;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_INPUT_BATCHES_HPP_
