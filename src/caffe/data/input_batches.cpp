#include "caffe/util/input_batches.hpp"
#include "caffe/core/error_context.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#endif

#include "caffe/data/image_files.hpp"
#include "caffe/io/mapped_file.hpp"
#include "caffe/io/npy.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text/list_line.hpp"
#include "caffe/util/text/printable.hpp"
#include "image_input.hpp"

namespace caffe {

using inference::ImagePreprocessing;

namespace {

int64_t BatchesOf(int64_t items, int64_t batch_size) {
  return (items + batch_size - 1) / std::max<int64_t>(batch_size, 1);
}

/// Items of the first input; of the first layer's data if there is none.
int64_t BatchSize(const Net<float>& net) {
  if (net.num_inputs() == 0) {
    const Blob<float>& first = *net.top_vecs()[0][0];
    return first.num_axes() == 0 ? 1 : first.shape(0);
  }
  const Blob<float>& input = *net.input_blobs()[0];
  return input.num_axes() == 0 ? 1 : input.shape(0);
}

/// Numbered images, of which batches take the next ones.
class NumberedImages : public InputBatches {
 public:
  explicit NumberedImages(const ImagePreprocessing& preprocessing)
      : preprocessing_(preprocessing) {}

  bool Feed(int batch, Net<float>* net) override {
    ImageInput input(preprocessing_, InputsOf(net));
    const int64_t first = int64_t(batch) * input.items();
    if (!Begin(first, input.items())) return false;
    items_.clear();
    for (int i = 0; i < input.items(); ++i) {
      InputItem item;
      if (Write(first + i, i, &input, &item)) items_.push_back(item);
    }
    return true;
  }

 protected:
  /// False if there is no image `first`.
  virtual bool Begin(int64_t first, int count) = 0;
  /// Writes that image and says what it is; behind the last writes an earlier one in its place
  /// and returns false.
  virtual bool Write(int64_t number, int item, ImageInput* input, InputItem* about) = 0;

 private:
  const ImagePreprocessing preprocessing_;
};

#ifdef USE_OPENCV

/// -1 for text that is no label.
int LabelIn(const std::string& text, const std::string& list) {
  int label = -1;
  return ParseLabel(text, list, &label) && label >= 0 ? label : -1;
}

/// The path on a line of the list, below its folder or as it is; "" if there is no such file.
std::string ExistingPath(const std::string& path, const std::string& list) {
  const std::filesystem::path sibling = std::filesystem::path(list).parent_path() / path;
  if (std::filesystem::exists(sibling)) return sibling.string();
  return std::filesystem::exists(path) ? path : "";
}

InputItem ImageOnLine(const std::string& line, const std::string& list) {
  const std::string whole = ExistingPath(line, list);
  if (!whole.empty()) return {whole, -1};
  if (const auto parts = SplitListLine(line)) {
    const std::string path = ExistingPath(parts->path, list);
    if (!path.empty()) return {path, LabelIn(parts->rest, list)};
  }
  Fail("'", Printable(line), "': there is no such image");
}

std::vector<InputItem> WithoutLabels(const std::vector<std::string>& files) {
  std::vector<InputItem> items;
  for (const std::string& file : files) items.push_back({file, -1});
  return items;
}

std::vector<InputItem> ImagesInList(const std::string& list) {
  if (IsFolderOrPattern(list)) return WithoutLabels(ImageFilesIn(list));
  constexpr char kWanted[] =
      "-images takes a folder, a pattern, or a text file with the path of an image on each line";
  Require(std::filesystem::exists(list), Error::File{list}, ": there is no such file: ", kWanted);
  const MappedFile file(list);
  const std::string why_no_text = WhyNoText(file);
  Require(why_no_text.empty(), Error::File{list}, ": this is not a list of images, ", why_no_text,
          ": ", kWanted);
  std::vector<InputItem> images;
  StringReader stream(std::string(reinterpret_cast<const char*>(file.data()), file.size()));
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.empty()) continue;
    try {
      images.push_back(ImageOnLine(line, list));
    } catch (Error& error) {
      AddFile(list, Join(", line ", number), &error);
      throw;
    }
  }
  Require(!images.empty(), Error::File{list}, ": the list names no images");
  return images;
}

std::vector<InputItem> ExistingImages(const std::vector<std::string>& paths) {
  Require(!paths.empty(), "no images are given");
  for (const std::string& path : paths) {
    Require(std::filesystem::exists(path), Error::File{path}, ": there is no such image");
  }
  return WithoutLabels(paths);
}

class ListedImages : public NumberedImages {
 public:
  ListedImages(std::vector<InputItem> images, const ImagePreprocessing& preprocessing)
      : NumberedImages(preprocessing), images_(std::move(images)) {}
  int64_t batches(const Net<float>& net) const override {
    return BatchesOf(images_.size(), BatchSize(net));
  }

 protected:
  bool Begin(int64_t first, int) override { return first < int64_t(images_.size()); }
  bool Write(int64_t number, int item, ImageInput* input, InputItem* about) override {
    *about = images_[number % images_.size()];
    const cv::Mat image = ReadImageToCVMat(about->name, input->blob().shape(1) == 3);
    Require(!image.empty(), Error::File{about->name}, ": cannot be read as an image");
    input->Write(image, item);
    return number < int64_t(images_.size());
  }

 private:
  const std::vector<InputItem> images_;
};

// Planes become pixels.
cv::Mat PixelsOf(const Datum& datum) {
  cv::Mat image(datum.height(), datum.width(), CV_8UC(datum.channels()));
  const size_t plane = size_t(datum.height()) * datum.width();
  for (size_t i = 0; i < plane * datum.channels(); ++i) {
    image.data[i % plane * datum.channels() + i / plane] = static_cast<uint8_t>(datum.data()[i]);
  }
  return image;
}

#endif  // USE_OPENCV

class DatabaseImages : public NumberedImages {
 public:
  DatabaseImages(const std::string& source, const std::string& backend, int limit,
                 const ImagePreprocessing& preprocessing)
      : NumberedImages(preprocessing), source_(source), limit_(limit), db_(db::GetDB(backend)) {
    db_->Open(source, db::READ);
    cursor_.reset(db_->NewCursor());
    Require(cursor_->valid(), Error::File{source}, ": the database has no records");
  }
  int64_t batches(const Net<float>&) const override { return limit_; }

 protected:
  // Records are read forward; asking for batch 0 starts again.
  bool Begin(int64_t first, int count) override {
    if (first / count >= limit_) return false;
    if (first < next_) {
      cursor_->SeekToFirst();
      next_ = 0;
      ended_ = false;
    }
    while (next_ < first && cursor_->valid()) Next();
    return !ended_ && cursor_->valid();  // not the records that filled up the last batch
  }

  bool Write(int64_t, int item, ImageInput* input, InputItem* about) override {
    ended_ |= !cursor_->valid();
    if (!cursor_->valid()) cursor_->SeekToFirst();
    try {
      *about = {cursor_->key(), WriteRecord(cursor_->value(), item, input)};
    } catch (Error& error) {
      AddFile(source_, Join(", record '", cursor_->key(), "'"), &error);
      throw;
    }
    Next();
    return !ended_;
  }

 private:
  void Next() {
    cursor_->Next();
    ++next_;
  }

  static Datum Parsed(const std::string& value) {
    Datum datum;
    if (datum.ParseFromString(value) && (datum.encoded() || datum.channels() > 0)) return datum;
    AnnotatedDatum annotated;
    Require(annotated.ParseFromString(value) && annotated.has_datum(),
            "the record is neither a Datum nor an AnnotatedDatum");
    return annotated.datum();
  }

  /// Returns the label.
  static int WriteRecord(const std::string& value, int item, ImageInput* input) {
    const Datum datum = Parsed(value);
    WriteDatum(datum, item, input);
    return datum.has_label() ? datum.label() : -1;
  }

  static void WriteDatum(const Datum& datum, int item, ImageInput* input) {
#ifdef USE_OPENCV
    if (datum.encoded()) {
      return input->Write(DecodeDatumToCVMat(datum, input->blob().shape(1) == 3), item);
    }
    Require(datum.channels() > 0 && datum.height() > 0 && datum.width() > 0,
            "the record says that it is an image of ", datum.channels(), " x ", datum.height(),
            " x ", datum.width());
    const size_t count = size_t(datum.channels()) * datum.height() * datum.width();
    if ((datum.channels() == 1 || datum.channels() == 3) && datum.data().size() == count) {
      return input->Write(PixelsOf(datum), item);
    }
#endif
    input->WriteValues(datum, item);
  }

  const std::string source_;
  const int64_t limit_;
  std::unique_ptr<db::DB> db_;
  std::unique_ptr<db::Cursor> cursor_;
  int64_t next_ = 0;    // the number of the record at the cursor
  bool ended_ = false;  // records are repeated
};

class RandomImages : public NumberedImages {
 public:
  RandomImages(int count, unsigned seed, const ImagePreprocessing& preprocessing)
      : NumberedImages(preprocessing), count_(count), seed_(seed) {}
  int64_t batches(const Net<float>&) const override { return count_; }

 protected:
  bool Begin(int64_t first, int count) override { return first / count < count_; }
  bool Write(int64_t number, int item, ImageInput* input, InputItem* about) override {
    about->name = Join("random ", number);
    std::minstd_rand generator(seed_ + static_cast<unsigned>(number) * 7919u + 1);
    Datum datum;
    datum.set_channels(input->blob().shape(1));
    datum.set_height(input->image_height());
    datum.set_width(input->image_width());
    std::string* pixels = datum.mutable_data();
    pixels->resize(size_t(datum.channels()) * datum.height() * datum.width());
    for (char& pixel : *pixels) pixel = static_cast<char>(generator() >> 8 & 255);
    input->WriteValues(datum, item);
    return true;
  }

 private:
  const int64_t count_;
  const unsigned seed_;
};

class OwnData : public InputBatches {
 public:
  explicit OwnData(int count) : count_(count) {}
  bool Feed(int batch, Net<float>* net) override {
    const int64_t size = BatchSize(*net);
    items_.clear();
    for (int64_t i = 0; i < size; ++i) items_.push_back({Join("item ", batch * size + i), -1});
    return batch < count_;
  }
  int64_t batches(const Net<float>&) const override { return count_; }

 private:
  const int count_;
};

class NpyRows : public InputBatches {
 public:
  NpyRows(const std::map<std::string, std::string>& files,
          const std::map<std::string, std::vector<float>>& constants)
      : constants_(constants) {
    Require(!files.empty(), "no .npy file is given");
    for (const auto& file : files) {
      const auto array = std::make_shared<NpyFile>(file.second);
      Require(!array->shape().empty() && array->shape()[0] > 0, file.second,
              ": the array has no rows");
      Require(rows_ == 0 || rows_ == array->shape()[0], file.second, ": the array has ",
              array->shape()[0], " rows, others have ", rows_);
      rows_ = array->shape()[0];
      arrays_[file.first] = array;
    }
  }

  bool Feed(int batch, Net<float>* net) override {
    Assign(*net);
    const int64_t size = BatchSize(*net), first = batch * size;
    if (first >= rows_) return false;
    items_.clear();
    for (int64_t i = first; i < std::min(first + size, rows_); ++i) {
      items_.push_back({Join("row ", i), -1});
    }
    for (int i = 0; i < net->num_inputs(); ++i) {
      Blob<float>* blob = net->input_blobs()[i];
      const std::string& name = InputName(*net, i);
      const auto constant = constants_.find(name);
      if (constant != constants_.end()) {
        FillWith(constant->second, {name, blob});
      } else {
        Read(*arrays_.at(name), name, first, size, blob);
      }
    }
    return true;
  }
  int64_t batches(const Net<float>& net) const override { return BatchesOf(rows_, BatchSize(net)); }

 private:
  static const std::string& InputName(const Net<float>& net, int i) {
    return net.blob_names()[net.input_blob_indices()[i]];
  }

  // Gives the array without a name to the input that nothing else fills.
  void Assign(const Net<float>& net) {
    std::vector<std::string> names;
    for (int i = 0; i < net.num_inputs(); ++i) names.push_back(InputName(net, i));
    for (const auto& array : arrays_) {
      Require(array.first.empty() || std::count(names.begin(), names.end(), array.first) > 0,
              array.second->name(), ": the net has no input '", array.first, "'");
    }
    for (const std::string& name : names) {
      if (arrays_.count(name) + constants_.count(name) > 0) continue;
      const auto unnamed = arrays_.find("");
      Require(unnamed != arrays_.end(), "input '", name,
              "' has no array: give one for each, as in -npy data=a.npy,", name, "=b.npy");
      arrays_[name] = unnamed->second;
      arrays_.erase(unnamed);
    }
    Require(arrays_.count("") == 0, "the net has no input for ", arrays_.begin()->second->name());
  }

  void Read(const NpyFile& array, const std::string& name, int64_t first, int64_t size,
            Blob<float>* blob) const {
    const std::vector<int> item(blob->shape().begin() + 1, blob->shape().end());
    const std::vector<int> rows(array.shape().begin() + 1, array.shape().end());
    Require(item == rows && blob->shape(0) == size, Error::File{array.name()},
            ": the array's rows do not have ", "the shape of input '", name, "', ",
            blob->shape_string());
    const size_t count = blob->count(1);
    float* data = blob->mutable_cpu_data();
    for (int64_t row = 0; row < size; ++row) {
      array.Read((first + row) % rows_ * count, count, data + row * count);
    }
  }

  const std::map<std::string, std::vector<float>> constants_;
  std::map<std::string, std::shared_ptr<NpyFile>> arrays_;
  int64_t rows_ = 0;
};

}  // namespace

ImagePart SeenPart(const ImagePreprocessing& preprocessing, int input_height, int input_width,
                   int image_height, int image_width) {
  const bool resized = preprocessing.resize_height > 0;
  const int height = resized ? preprocessing.resize_height : input_height;
  const int width = resized ? preprocessing.resize_width : input_width;
  const double x = double(image_width) / width, y = double(image_height) / height;
  // DataTransformer cuts at a whole pixel.
  const int left = (width - input_width) / 2, top = (height - input_height) / 2;
  return {left * x, top * y, input_width * x, input_height * y};
}

std::unique_ptr<InputBatches> InputBatches::FromList(const std::string& list,
                                                     const ImagePreprocessing& preprocessing) {
#ifdef USE_OPENCV
  return std::make_unique<ListedImages>(ImagesInList(list), preprocessing);
#else
  (void)preprocessing;
  Fail(Error::File{list}, ": reading images needs OpenCV",
       Error::Remedy{"build with USE_OPENCV=ON"});
#endif
}

std::unique_ptr<InputBatches> InputBatches::FromImages(const std::vector<std::string>& paths,
                                                       const ImagePreprocessing& preprocessing) {
#ifdef USE_OPENCV
  return std::make_unique<ListedImages>(ExistingImages(paths), preprocessing);
#else
  (void)preprocessing;
  Fail(paths.empty() ? "" : paths[0], ": reading images needs OpenCV",
       Error::Remedy{"build with USE_OPENCV=ON"});
#endif
}

std::unique_ptr<InputBatches> InputBatches::FromDatabase(const std::string& source,
                                                         const std::string& backend, int limit,
                                                         const ImagePreprocessing& preprocessing) {
  return std::make_unique<DatabaseImages>(source, backend, limit, preprocessing);
}

std::unique_ptr<InputBatches> InputBatches::Random(int count, unsigned seed,
                                                   const ImagePreprocessing& preprocessing) {
  return std::make_unique<RandomImages>(count, seed, preprocessing);
}

std::unique_ptr<InputBatches> InputBatches::FromNpy(
    const std::map<std::string, std::string>& files,
    const std::map<std::string, std::vector<float>>& constants) {
  return std::make_unique<NpyRows>(files, constants);
}

std::unique_ptr<InputBatches> InputBatches::Own(int count) {
  return std::make_unique<OwnData>(count);
}

}  // namespace caffe
