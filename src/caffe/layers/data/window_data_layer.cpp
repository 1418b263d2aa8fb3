#include "caffe/layers/window_data_layer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#endif

#include <algorithm>
#include <cmath>
#include <map>

#include "caffe/core/error_context.hpp"
#include "caffe/layers/image_list_layer.hpp"
#include "caffe/util/image.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "caffe/util/text_file.hpp"
#include "data_fields.hpp"
#include "source_state.hpp"

namespace caffe {
namespace {

const bool window_data_registered = OperationTable::Add(
    Operation("WindowData").BackwardReads(Operation::kNothing).FloatTops({-1}).Source());

constexpr int kChannels = 3;  // as images are decoded

int CropSize(const LayerParameter& layer) {
  return static_cast<int>(layer.transform_param().crop_size());
}

void CheckParameters(const LayerParameter& layer) {
  const WindowDataParameter& param = layer.window_data_param();
  const uint32_t crop_size = layer.transform_param().crop_size();
  Require(!param.source().empty(), Error::Field{"window_data_param"}, ": source is missing");
  Require(CheckedBatchSize("window_data_param", param.batch_size()) <= 1 << 20,
          Error::Field{"window_data_param"}, ": batch_size ", param.batch_size(), " is too large");
  Require(crop_size > 0 && crop_size <= 1u << 15, Error::Field{"transform_param"},
          ": crop_size, the size of WindowData's windows, must be positive, got ", crop_size);
  Require(param.context_pad() < (crop_size + 1) / 2, Error::Field{"window_data_param"},
          ": context_pad ", param.context_pad(), " leaves nothing of windows of crop_size ",
          crop_size);
  Require(param.crop_mode() == "warp" || param.crop_mode() == "square",
          Error::Field{"window_data_param"}, ": crop_mode '", param.crop_mode(),
          "' is neither 'warp' nor 'square'");
  Require(param.fg_fraction() >= 0 && param.fg_fraction() <= 1, Error::Field{"window_data_param"},
          ": fg_fraction must be in [0, 1], got ", param.fg_fraction());
}

/// What the transformers of other layers know and windows have no use for must not be passed over.
void RefuseUnknown(const TransformationParameter& transform) {
  const auto refuse = [](bool given, const char* field, const char* remedy) {
    Require(!given, Error::Field{"transform_param"}, ": WindowData does not know ", field,
            Error::Remedy{remedy});
  };
  refuse(transform.has_resize_param(), "resize_param",
         "leave it out, windows become crop_size large");
  refuse(transform.force_gray(), "force_gray", "leave it out, windows have 3 channels");
  refuse(transform.img_rand_resize_upper() > 0, "img_rand_resize", "leave it out");
  refuse(transform.rand_resize_ratio_upper() > 0, "rand_resize_ratio", "leave it out");
  refuse(transform.vertical_stretch_lower() != 1 || transform.vertical_stretch_upper() != 1,
         "vertical_stretch", "leave it out");
  refuse(transform.horizontal_stretch_lower() != 1 || transform.horizontal_stretch_upper() != 1,
         "horizontal_stretch", "leave it out");
}

/// Of a batch, how many windows are foreground.
int ForegroundCount(const WindowDataParameter& param) {
  return static_cast<int>(static_cast<float>(param.batch_size()) * param.fg_fraction());
}

template <typename Number>
Number Take(std::istream* file, const char* what) {
  Number number;
  Require(static_cast<bool>(*file >> number), what, " is missing or no number");
  return number;
}

}  // namespace

template <typename Dtype>
struct WindowDataLayer<Dtype>::Placement {
  int x = 0, y = 0, width = 0, height = 0;  // the part of the image
  int warped_width = 0, warped_height = 0;
  int left = 0, top = 0;  // of the warped part in the item
};

template <typename Dtype>
unsigned int WindowDataLayer<Dtype>::PrefetchRand() {
  CHECK(prefetch_rng_);
  return (*static_cast<rng_t*>(prefetch_rng_->generator()))();
}

template <typename Dtype>
void WindowDataLayer<Dtype>::ReadWindow(std::istream* file, int image) {
  const WindowDataParameter& param = this->layer_param_.window_data_param();
  vector<float> window(NUM);
  window[IMAGE_INDEX] = image;
  window[LABEL] = Take<int>(file, "a window's label");
  window[OVERLAP] = Take<float>(file, "a window's overlap");
  for (const int corner : {X1, Y1, X2, Y2}) window[corner] = Take<int>(file, "a window's corner");
  Require(window[X1] <= window[X2] && window[Y1] <= window[Y2], "the window ", window[X1], " ",
          window[Y1], " ", window[X2], " ", window[Y2], " has nothing in it");
  if (window[OVERLAP] >= param.fg_threshold()) {
    Require(window[LABEL] > 0, "a foreground window has label ", window[LABEL],
            ": labels of objects are positive");
    fg_windows_.push_back(window);
  } else if (window[OVERLAP] < param.bg_threshold()) {
    window[LABEL] = 0;
    window[OVERLAP] = 0;
    bg_windows_.push_back(window);
  }
}

template <typename Dtype>
void WindowDataLayer<Dtype>::ReadImage(std::istream* file, int number) {
  const int found = Take<int>(file, "the image's number");
  Require(found == number, "the number is ", found, ", expected is ", number,
          ": images are numbered from 0 on");
  string path;
  Require(static_cast<bool>(*file >> path), "the path is missing");
  path = this->layer_param_.window_data_param().root_folder() + path;
  vector<int> size;
  for (const char* what : {"channels", "height", "width"}) size.push_back(Take<int>(file, what));
  Require(size[0] == kChannels, path, " has ", size[0], " channels: WindowData is for ", kChannels);
  image_database_.emplace_back(path, size);
  if (cache_images_) {
    Datum datum;
    Require(ReadFileToDatum(path, &datum), Error::File{path}, ": cannot be opened");
    image_database_cache_.emplace_back(path, datum);
  }
  const int windows = Take<int>(file, "the number of windows");
  for (int i = 0; i < windows; ++i) ReadWindow(file, number);
}

template <typename Dtype>
void WindowDataLayer<Dtype>::ReadWindowFile(const string& source) {
  std::ifstream file = OpenTextFile(source, "the window file cannot be opened");
  image_database_.clear();
  image_database_cache_.clear();
  fg_windows_.clear();
  bg_windows_.clear();
  string mark;
  for (int number = 0; file >> mark; ++number) {
    try {
      Require(mark == "#", "'", mark, "' stands where the # of an image should be");
      ReadImage(&file, number);
    } catch (Error& error) {
      AddFile(source, Join(", image ", number), &error);
      throw;
    }
  }
  Require(!image_database_.empty(), Error::File{source}, ": the window file names no images");
}

template <typename Dtype>
void WindowDataLayer<Dtype>::LogWindows() const {
  LOG(INFO) << "Number of images: " << image_database_.size();
  std::map<int, size_t> histogram = {{0, bg_windows_.size()}};
  for (const vector<float>& window : fg_windows_) ++histogram[static_cast<int>(window[LABEL])];
  for (const auto& entry : histogram) {
    LOG(INFO) << "class " << entry.first << " has " << entry.second << " samples";
  }
}

#ifdef USE_OPENCV

template <typename Dtype>
void WindowDataLayer<Dtype>::SetUpMean() {
  const TransformationParameter& transform = this->transform_param_;
  has_mean_file_ = transform.has_mean_file();
  has_mean_values_ = transform.mean_value_size() > 0;
  if (has_mean_file_) {
    BlobProto proto;
    ReadProtoFromBinaryFileOrDie(transform.mean_file(), &proto);
    data_mean_.FromProto(proto);
    const int crop = CropSize(this->layer_param_);
    const int offset = (data_mean_.width() - crop) / 2;
    Require(data_mean_.channels() == kChannels && data_mean_.width() >= crop &&
                data_mean_.height() >= offset + crop,
            Error::Field{"transform_param"}, ": the mean in ", transform.mean_file(), " has shape ",
            ShapeString(data_mean_.shape()), ": WindowData needs one of ", kChannels,
            " channels that is square and as large as crop_size, ", crop, ", or larger");
    data_mean_.cpu_data();
  }
  if (has_mean_values_) {
    mean_values_.assign(transform.mean_value().begin(), transform.mean_value().end());
    Require(mean_values_.size() == 1 || mean_values_.size() == size_t(kChannels),
            Error::Field{"transform_param"}, ": mean_value is given ", mean_values_.size(),
            " times for ", kChannels, " channels",
            Error::Remedy{"give it once, or once per channel"});
    mean_values_.resize(kChannels, mean_values_[0]);
  }
}

template <typename Dtype>
void WindowDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                            const vector<Blob<Dtype>*>& top) {
  CheckParameters(this->layer_param_);
  RefuseUnknown(this->transform_param_);
  WarnOfOldTransformation(this->layer_param_, "window_data_param",
                          this->layer_param_.window_data_param());
  const WindowDataParameter& param = this->layer_param_.window_data_param();
  const int batch_size = static_cast<int>(param.batch_size());
  const int foreground = ForegroundCount(param);
  cache_images_ = param.cache_images();
  // Each solver draws its own windows.
  prefetch_rng_.reset(new Caffe::RNG(caffe_rng_rand() + Caffe::solver_rank()));
  ReadWindowFile(param.source());
  LogWindows();
  Require(foreground == 0 || !fg_windows_.empty(), Error::File{param.source()},
          ": no window is foreground (overlap of fg_threshold ", param.fg_threshold(),
          " or more), but fg_fraction ", param.fg_fraction(), " of a batch should be");
  Require(foreground == batch_size || !bg_windows_.empty(), Error::File{param.source()},
          ": no window is background (overlap below bg_threshold ", param.bg_threshold(),
          "), but part of a batch should be: see fg_fraction");
  SetUpMean();

  const int crop = CropSize(this->layer_param_);
  top[0]->Reshape(batch_size, kChannels, crop, crop);
  top[1]->Reshape(vector<int>(1, batch_size));
  for (const auto& batch : this->prefetch_) {
    batch->data_.ReshapeLike(*top[0]);
    batch->label_.ReshapeLike(*top[1]);
  }
  LOG(INFO) << "output data size: " << top[0]->num() << "," << top[0]->channels() << ","
            << top[0]->height() << "," << top[0]->width();
}

template <typename Dtype>
cv::Mat WindowDataLayer<Dtype>::LoadImage(const vector<float>& window) const {
  const size_t index = static_cast<size_t>(window[IMAGE_INDEX]);
  if (cache_images_) return DecodeDatumToCVMat(image_database_cache_[index].second, true);
  return ReadListedImage(image_database_[index].first, 0, 0, true);
}

template <typename Dtype>
typename WindowDataLayer<Dtype>::Placement WindowDataLayer<Dtype>::PlacementOf(
    const vector<float>& window, const cv::Mat& image, bool mirror) const {
  const WindowDataParameter& param = this->layer_param_.window_data_param();
  const int crop = CropSize(this->layer_param_), context = static_cast<int>(param.context_pad());
  const bool square = param.crop_mode() == "square";
  const int x1 = window[X1], y1 = window[Y1], x2 = window[X2], y2 = window[Y2];
  const auto check = [&](bool inside) {
    Require(inside, "the window ", x1, " ", y1, " ", x2, " ", y2, " lies outside of the image");
  };
  Placement placement;
  if (context == 0 && !square) {
    check(x1 >= 0 && y1 >= 0 && x2 < image.cols && y2 < image.rows);
    placement = {x1, y1, x2 - x1 + 1, y2 - y1 + 1, crop, crop, 0, 0};
    return placement;
  }

  // The enlarged window, context included, would be warped to the whole item.
  const Dtype enlarge = Dtype(crop) / (crop - 2 * context);
  Dtype half_height = Dtype(y2 - y1 + 1) / 2, half_width = Dtype(x2 - x1 + 1) / 2;
  const Dtype center_x = x1 + half_width, center_y = y1 + half_height;
  if (square) half_height = half_width = std::max(half_height, half_width);

  // Along one axis: the part inside of the image, and where its warped form begins in the item.
  struct Span {
    int begin, length, warped, before, after;
  };
  const auto span = [&](Dtype center, Dtype half, int extent) {
    const int first = static_cast<int>(std::round(center - half * enlarge));
    const int last = static_cast<int>(std::round(center + half * enlarge));
    const int before = std::max(0, -first), after = std::max(0, last - extent + 1);
    const int length = last - first + 1 - before - after;
    check(length > 0);
    const Dtype scale = Dtype(crop) / (last - first + 1);
    const auto scaled = [scale](int pixels) {
      return static_cast<int>(std::round(pixels * scale));
    };
    return Span{first + before, length, scaled(length), scaled(before), scaled(after)};
  };
  const Span x = span(center_x, half_width, image.cols);
  const Span y = span(center_y, half_height, image.rows);
  placement.x = x.begin;
  placement.y = y.begin;
  placement.width = x.length;
  placement.height = y.length;
  placement.left = mirror ? x.after : x.before;
  placement.top = y.before;
  // Rounding may give a pixel more than there is room for.
  placement.warped_width = std::min(x.warped, crop - placement.left);
  placement.warped_height = std::min(y.warped, crop - placement.top);
  return placement;
}

template <typename Dtype>
void WindowDataLayer<Dtype>::WriteWindow(const vector<float>& window, bool mirror,
                                         Dtype* item) const {
  const int crop = CropSize(this->layer_param_);
  const Dtype scale = this->transform_param_.scale();
  const cv::Mat image = LoadImage(window);
  const Placement at = PlacementOf(window, image, mirror);
  std::fill_n(item, size_t(kChannels) * crop * crop, Dtype(0));
  if (at.warped_width <= 0 || at.warped_height <= 0) return;  // nothing but what is outside
  cv::Mat warped;
  cv::resize(image(cv::Rect(at.x, at.y, at.width, at.height)), warped,
             cv::Size(at.warped_width, at.warped_height), 0, 0, cv::INTER_LINEAR);
  if (mirror) cv::flip(warped, warped, 1);

  // The middle of the mean image is used, as for images cropped in the middle.
  const int mean_width = has_mean_file_ ? data_mean_.width() : 0;
  const int mean_height = has_mean_file_ ? data_mean_.height() : 0;
  const int mean_offset = (mean_width - crop) / 2;
  for (int c = 0; c < kChannels; ++c) {
    const int source_c = this->transform_param_.bgr2rgb() ? kChannels - 1 - c : c;
    for (int h = 0; h < warped.rows; ++h) {
      const uint8_t* pixel = warped.ptr<uint8_t>(h) + source_c;
      Dtype* out = item + (size_t(c) * crop + at.top + h) * crop + at.left;
      const int mean_h = mean_offset + at.top + h;
      const Dtype* mean_row = has_mean_file_ ? data_mean_.cpu_data() +
                                                   (size_t(c) * mean_height + mean_h) * mean_width +
                                                   mean_offset + at.left
                                             : nullptr;
      const Dtype mean = has_mean_values_ ? mean_values_[c] : Dtype(0);
      for (int w = 0; w < warped.cols; ++w, pixel += kChannels) {
        out[w] = (*pixel - (mean_row ? mean_row[w] : mean)) * scale;
      }
    }
  }
}

template <typename Dtype>
void WindowDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const WindowDataParameter& param = this->layer_param_.window_data_param();
  const int batch_size = static_cast<int>(param.batch_size());
  const int background = batch_size - ForegroundCount(param);
  struct Draw {
    const vector<float>* window;
    bool mirror;
  };
  vector<Draw> draws;
  for (int i = 0; i < batch_size; ++i) {
    const auto& windows = i < background ? bg_windows_ : fg_windows_;
    const vector<float>& window = windows[PrefetchRand() % windows.size()];
    draws.push_back({&window, this->transform_param_.mirror() && PrefetchRand() % 2});
  }
  Dtype* const pixels = batch->data_.mutable_cpu_data();
  Dtype* const labels = batch->label_.mutable_cpu_data();
  const int item_count = batch->data_.count(1);
  this->DecodingTeam(0).ForEach(batch_size, [&](int i) {
    const vector<float>& window = *draws[i].window;
    try {
      WriteWindow(window, draws[i].mirror, pixels + size_t(i) * item_count);
    } catch (Error& error) {
      AddFile(param.source(),
              Join(", image ", window[IMAGE_INDEX], " (",
                   image_database_[static_cast<size_t>(window[IMAGE_INDEX])].first, ")"),
              &error);
      throw;
    }
    labels[i] = static_cast<Dtype>(window[LABEL]);
  });
}

#else

template <typename Dtype>
void WindowDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                            const vector<Blob<Dtype>*>&) {
  Fail("WindowData needs OpenCV", Error::Remedy{"build with USE_OPENCV=ON"});
}

template <typename Dtype>
void WindowDataLayer<Dtype>::load_batch(Batch<Dtype>*) {}

#endif  // USE_OPENCV

template <typename Dtype>
string WindowDataLayer<Dtype>::SourceState() {
  StateWriter state;
  state.Put(RandomStateOf(*static_cast<rng_t*>(prefetch_rng_->generator())));
  return state.text();
}

template <typename Dtype>
void WindowDataLayer<Dtype>::SetSourceState(const string& text) {
  StateReader state(text);
  SetRandomStateOf(state.Text(), static_cast<rng_t*>(prefetch_rng_->generator()));
}

INSTANTIATE_CLASS(WindowDataLayer);
REGISTER_LAYER_CLASS(WindowData);

}  // namespace caffe
