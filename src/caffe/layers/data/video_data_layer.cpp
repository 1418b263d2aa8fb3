#include "caffe/layers/video_data_layer.hpp"

#include "caffe/core/error_context.hpp"
#include "caffe/io/video/video_reader.hpp"
#include "caffe/util/im_transforms.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/system/thread_team.hpp"
#include "source_state.hpp"

#ifdef USE_OPENCV
#include <opencv2/imgproc.hpp>
#endif

namespace caffe {
namespace {

const bool video_data_registered = OperationTable::Add(
    Operation("VideoData").BackwardReads(Operation::kNothing).FloatTops({-1}).Source());
const bool video_data_dealt_out = RecordShare::AddType("VideoData");

int FrameChannels(const VideoDataParameter& param) {
  return param.modality() == VideoDataParameter::FLOW ? 2 : param.grayscale() ? 1 : 3;
}

/// How many channels all frames of a video have together.
int64_t AllChannels(const VideoDataParameter& param) {
  return int64_t(FrameChannels(param)) * param.new_length() * param.num_segments();
}

/// What is left for the transformer of the base class.
TransformationParameter ForTransformer(const LayerParameter& layer) {
  TransformationParameter transform = layer.transform_param();
  const VideoDataParameter& video = layer.video_data_param();
  if (!video.has_source()) {
    transform.clear_resize_param();
    return transform;
  }
  transform.clear_crop_size();
  transform.clear_mirror();
  transform.clear_fix_crop();
  transform.clear_more_fix_crop();
  transform.clear_multi_scale();
  transform.clear_is_flow();
  const int given = transform.mean_value_size();
  if (given == FrameChannels(video) && AllChannels(video) <= 512) {
    while (transform.mean_value_size() < AllChannels(video)) {
      transform.add_mean_value(transform.mean_value(transform.mean_value_size() - given));
    }
  }
  return transform;
}

}  // namespace

template <typename Dtype>
VideoDataLayer<Dtype>::VideoDataLayer(const LayerParameter& param)
    : ImageListLayer<Dtype, std::pair<int, int>>(param) {
  this->transform_param_ = ForTransformer(param);
}

template <typename Dtype>
VideoDataLayer<Dtype>::~VideoDataLayer() {
  this->StopInternalThread();
}

template <typename Dtype>
auto VideoDataLayer<Dtype>::ParseLine(const string& line) const -> Line {
  StringReader stream(line);
  string folder, more;
  int frames = 0, label = 0;
  Require(stream >> folder >> frames >> label && !(stream >> more) && frames > 0, "'", line,
          "' is not a folder, the positive number of its frames and a label");
  return {folder, {frames, label}};
}

#ifdef USE_OPENCV

template <typename Dtype>
int VideoDataLayer<Dtype>::batch_size() const {
  const bool own = param().has_batch_size();
  const int64_t size = own ? param().batch_size() : this->layer_param_.data_param().batch_size();
  const char* const message = own ? "video_data_param" : "data_param";
  Require(size > 0, Error::Field{message}, ": batch_size must be positive, got ", size);
  Require(size <= 1 << 20, Error::Field{message}, ": batch_size ", size, " is too large");
  return static_cast<int>(size);
}

template <typename Dtype>
uint32_t VideoDataLayer<Dtype>::RawDraw() {
  return (*static_cast<rng_t*>(random_->generator()))();
}

template <typename Dtype>
void VideoDataLayer<Dtype>::ShapeTops(const cv::Mat& first, const vector<Blob<Dtype>*>& top) {
  vector<int> shape = this->data_transformer_->InferBlobShape(first);
  this->transformed_data_.Reshape(shape);
  shape[0] = batch_size();
  top[0]->Reshape(shape);
  if (top.size() > 1) top[1]->Reshape({batch_size()});
  for (const auto& batch : this->prefetch_) {
    batch->data_.Reshape(shape);
    batch->label_.Reshape({batch_size()});
  }
  LOG_IF(INFO, Caffe::root_solver()) << "output data size: " << top[0]->shape_string();
}

template <typename Dtype>
void VideoDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                           const vector<Blob<Dtype>*>& top) {
  batch_size();
  random_ = std::make_unique<Caffe::RNG>(caffe_rng_rand());
  if (reads_snippets()) {
    SetUpSnippets();
    SnippetDraws draws;
    draws.offsets.assign(param().num_segments(), 0);
    ShapeTops(ReadSnippets(this->lines_[this->lines_id_], draws), top);
    return;
  }
  if (this->layer_param_.transform_param().has_resize_param()) {
    CheckResize(this->layer_param_.transform_param().resize_param());
  }
  OpenReader();
  ShapeTops(NextFrame(), top);
  if (param().video_type() == VideoDataParameter::VIDEO) OpenReader();
}

template <typename Dtype>
void VideoDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  reads_snippets() ? LoadSnippets(batch) : LoadFrames(batch);
}

// ---------------------------------------------------------------------------------------------
// Frames of one video
// ---------------------------------------------------------------------------------------------

template <typename Dtype>
void VideoDataLayer<Dtype>::OpenReader() {
  position_ = 0;
  if (param().video_type() == VideoDataParameter::VIDEO) {
    Require(!param().video_file().empty(), Error::Field{"video_data_param"},
            ": video_file is missing");
    reader_ = OpenVideo(param().video_file());
  } else {
    reader_ = OpenCamera(param().device_id());
  }
}

template <typename Dtype>
cv::Mat VideoDataLayer<Dtype>::NextFrame() {
  cv::Mat frame;
  const auto again = [&](auto&& read) {
    bool good = read();
    if (!good && position_ > 0 && param().video_type() == VideoDataParameter::VIDEO) {
      OpenReader();
      good = read();
    }
    Require(good, param().video_type() == VideoDataParameter::VIDEO
                      ? param().video_file() + ": the video has no frame that can be read"
                      : "the camera gives no more frames");
    ++position_;
  };
  for (uint32_t i = 0; i < param().skip_frames(); ++i) again([&] { return reader_->Skip(); });
  again([&] { return reader_->Read(&frame); });
  const TransformationParameter& transform = this->layer_param_.transform_param();
  if (!transform.has_resize_param()) return frame;
  const ResizeParameter& resize = transform.resize_param();
  const int modes = resize.interp_mode_size();
  return Resized(frame, resize,
                 modes == 0 ? ResizeParameter::LINEAR
                            : resize.interp_mode(modes == 1 ? 0 : RawDraw() % modes));
}

template <typename Dtype>
void VideoDataLayer<Dtype>::LoadFrames(Batch<Dtype>* batch) {
  const int items = batch_size();
  vector<int> shape;
  int item = 0;
  for (uint64_t i = 0; i < this->share().Total(items); ++i) {
    const cv::Mat frame = NextFrame();
    const ImageDraws draws = this->data_transformer_->Draw();
    if (!this->share().Has(i, items)) continue;
    if (item == 0) {
      shape = this->data_transformer_->InferBlobShape(frame);
      shape[0] = items;
      batch->data_.Reshape(shape);
    }
    this->data_transformer_->TransformTo(
        frame, draws, shape,
        batch->data_.mutable_cpu_data() + size_t(item) * batch->data_.count(1));
    ++item;
  }
  batch->label_.Reshape({items});
  std::fill_n(batch->label_.mutable_cpu_data(), items, Dtype(0));
}

// ---------------------------------------------------------------------------------------------
// Snippets of many videos
// ---------------------------------------------------------------------------------------------

namespace {

/// `pattern` with `number` in place of its %d, %4d or %04d, and `axis` in place of its %c.
string FrameName(const string& pattern, char axis, int number) {
  string name;
  int numbers = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name += pattern[i];
      continue;
    }
    const char fill = i + 1 < pattern.size() && pattern[i + 1] == '0' ? '0' : ' ';
    size_t width = 0;
    for (++i; i < pattern.size() && isdigit(pattern[i]) && width < 100; ++i) {
      width = 10 * width + (pattern[i] - '0');
    }
    const char kind = i < pattern.size() ? pattern[i] : '\0';
    Require(kind == 'd' || (kind == 'c' && axis), Error::Field{"video_data_param"},
            ": name_pattern '", pattern,
            "' may have %d, like %04d, for the frame's number, and for FLOW %c for x and y");
    const string text = kind == 'd' ? std::to_string(number) : string(1, axis);
    numbers += kind == 'd';
    if (text.size() < width) name += string(width - text.size(), fill);
    name += text;
  }
  Require(numbers == 1, Error::Field{"video_data_param"}, ": name_pattern '", pattern,
          "' needs one %d, like %04d, for the frame's number");
  return name;
}

/// The sizes that multi_scale chooses among for frames whose shorter side is `side`.
vector<cv::Size> CropSizes(const TransformationParameter& transform, int side) {
  vector<float> ratios(transform.scale_ratios().begin(), transform.scale_ratios().end());
  if (ratios.empty()) ratios = {1, 0.875f, 0.75f, 0.66f};
  const int crop = static_cast<int>(transform.crop_size());
  vector<int> sides;
  for (const float ratio : ratios) {
    const int scaled = std::max(1, static_cast<int>(side * ratio));
    sides.push_back(std::abs(scaled - crop) < 3 && crop <= side ? crop : scaled);
  }
  vector<cv::Size> sizes;
  for (int h = 0; h < static_cast<int>(sides.size()); ++h) {
    for (int w = 0; w < static_cast<int>(sides.size()); ++w) {
      if (std::abs(h - w) <= transform.max_distort()) sizes.emplace_back(sides[w], sides[h]);
    }
  }
  return sizes;
}

/// Where fix_crop cuts, as quarters of the room that there is: the corners and the middle; then the
/// middles of the sides and of the way from the corners to the middle.
constexpr int kPlaces[][2] = {{0, 0}, {0, 4}, {4, 0}, {4, 4}, {2, 2}, {0, 2}, {4, 2},
                              {2, 0}, {2, 4}, {1, 1}, {1, 3}, {3, 1}, {3, 3}};

}  // namespace

template <typename Dtype>
void VideoDataLayer<Dtype>::SetUpSnippets() {
  const TransformationParameter& transform = this->layer_param_.transform_param();
  const VideoDataParameter& p = param();
  Require(p.new_length() > 0 && p.num_segments() > 0 && AllChannels(p) <= 512,
          Error::Field{"video_data_param"}, ": new_length ", p.new_length(), " and num_segments ",
          p.num_segments(), " must be positive, and all frames have 512 channels at most");
  CheckNewSize("video_data_param", p.new_height(), p.new_width());
  Require(!p.has_scale() && !p.has_mean_file() && !p.has_crop_size() && !p.has_mirror(),
          Error::Field{"video_data_param"},
          ": scale, mean_file, crop_size and mirror are transform_param's",
          Error::Remedy{"give them there"});
  Require(!transform.has_resize_param(), Error::Field{"transform_param"},
          ": resize_param is not for snippets", Error::Remedy{"give new_height and new_width"});
  Require(transform.crop_size() <= 1u << 20, Error::Field{"transform_param"}, ": crop_size ",
          transform.crop_size(), " is too large");
  Require(!transform.multi_scale() || transform.crop_size() > 0, Error::Field{"transform_param"},
          ": multi_scale needs crop_size");
  for (const float ratio : transform.scale_ratios()) {
    Require(ratio > 0 && ratio <= 1, Error::Field{"transform_param"},
            ": scale_ratios must be above 0 and at most 1, ", "got ", ratio);
  }
  this->OpenList(p.source(), p.shuffle(), p.rand_skip());
}

template <typename Dtype>
typename VideoDataLayer<Dtype>::SnippetDraws VideoDataLayer<Dtype>::DrawSnippets() {
  SnippetDraws draws;
  draws.offsets.assign(param().num_segments(), 0);
  const bool mirrors = this->layer_param_.transform_param().mirror();
  if (this->phase_ == TRAIN) {
    for (uint32_t& offset : draws.offsets) offset = RawDraw();
    draws.size = RawDraw();
    draws.height = RawDraw();
    draws.width = RawDraw();
  }
  if (mirrors) draws.mirror = RawDraw() % 2;
  return draws;
}

template <typename Dtype>
vector<int> VideoDataLayer<Dtype>::SnippetStarts(int frames, const SnippetDraws& draws) const {
  const int part = frames / static_cast<int>(param().num_segments());
  const int room = part - static_cast<int>(param().new_length()) + 1;
  vector<int> starts;
  for (size_t i = 0; i < draws.offsets.size(); ++i) {
    if (room <= 0) {
      starts.push_back(0);
      continue;
    }
    const int within = this->phase_ == TRAIN ? static_cast<int>(draws.offsets[i] % room) : room / 2;
    starts.push_back(static_cast<int>(i) * part + within);
  }
  return starts;
}

template <typename Dtype>
struct VideoDataLayer<Dtype>::Cut {
  int x, y, width, height;
};

template <typename Dtype>
typename VideoDataLayer<Dtype>::Cut VideoDataLayer<Dtype>::CutOf(int frame_height, int frame_width,
                                                                 const SnippetDraws& draws) const {
  const TransformationParameter& transform = this->layer_param_.transform_param();
  const int crop = static_cast<int>(transform.crop_size());
  if (crop == 0) return {0, 0, frame_width, frame_height};
  cv::Size size(crop, crop);
  if (this->phase_ == TRAIN && transform.multi_scale()) {
    const vector<cv::Size> sizes = CropSizes(transform, std::min(frame_width, frame_height));
    size = sizes[draws.size % sizes.size()];
  }
  const int right = frame_width - size.width, below = frame_height - size.height;
  Require(right >= 0 && below >= 0, Error::Field{"transform_param"}, ": crop_size ", crop,
          " is larger than the frame of ", frame_height, " x ", frame_width);
  if (this->phase_ == TEST) return {right / 2, below / 2, size.width, size.height};
  if (transform.fix_crop()) {
    const int* place = kPlaces[draws.height % (transform.more_fix_crop() ? 13 : 5)];
    return {right / 4 * place[1], below / 4 * place[0], size.width, size.height};
  }
  return {static_cast<int>(draws.width % (right + 1)), static_cast<int>(draws.height % (below + 1)),
          size.width, size.height};
}

template <typename Dtype>
cv::Mat VideoDataLayer<Dtype>::ReadSnippets(const Line& line, const SnippetDraws& draws) const {
  const VideoDataParameter& p = param();
  const TransformationParameter& transform = this->layer_param_.transform_param();
  const string& folder = line.first;
  const std::pair<int, int>& video = line.second;
  const bool flow = p.modality() == VideoDataParameter::FLOW;
  const string pattern = !p.name_pattern().empty() ? p.name_pattern()
                         : flow                    ? "flow_%c_%04d.jpg"
                                                   : "img_%04d.jpg";
  const int crop = static_cast<int>(transform.crop_size());
  cv::Size whole;
  cv::Rect cut;
  vector<cv::Mat> planes;
  const auto add = [&](int number, char axis) {
    const string file = p.root_folder() + folder + "/" + FrameName(pattern, axis, number);
    const cv::Mat frame =
        ReadListedImage(file, p.new_height(), p.new_width(), !flow && !p.grayscale());
    if (planes.empty()) {
      whole = frame.size();
      const Cut c = CutOf(frame.rows, frame.cols, draws);
      cut = {c.x, c.y, c.width, c.height};
    }
    Require(frame.size() == whole, Error::File{file}, ": the frame is ", frame.rows, " x ",
            frame.cols, ", others of its video are ", whole.height, " x ", whole.width);
    cv::Mat plane = frame(cut).clone();
    if (crop > 0 && plane.size() != cv::Size(crop, crop)) {
      cv::resize(frame(cut), plane, cv::Size(crop, crop));
    }
    if (draws.mirror) cv::flip(plane, plane, 1);
    if (draws.mirror && axis == 'x' && transform.is_flow()) plane = 255 - plane;
    planes.push_back(plane);
  };
  for (const int start : SnippetStarts(video.first, draws)) {
    for (int i = 0; i < static_cast<int>(p.new_length()); ++i) {
      const int number = std::min(start + i, video.first - 1) + 1;
      if (flow) add(number, 'x');
      add(number, flow ? 'y' : '\0');
    }
  }
  cv::Mat all;
  cv::merge(planes, all);
  return all;
}

template <typename Dtype>
void VideoDataLayer<Dtype>::LoadSnippets(Batch<Dtype>* batch) {
  const int count = batch_size();
  vector<std::pair<Line, SnippetDraws>> items;
  for (uint64_t i = 0; i < this->share().Total(count); ++i) {
    // Drawn for every video: each gets what it would get from one solver.
    const SnippetDraws draws = DrawSnippets();
    if (this->share().Has(i, count)) items.emplace_back(this->lines_[this->lines_id_], draws);
    this->NextLine();
  }
  const cv::Mat first = ReadSnippets(items[0].first, items[0].second);
  vector<int> shape = WithFile(param().root_folder() + items[0].first.first,
                               [&] { return this->data_transformer_->InferBlobShape(first); });
  shape[0] = count;
  batch->data_.Reshape(shape);
  batch->label_.Reshape({count});
  Dtype* const pixels = batch->data_.mutable_cpu_data();
  Dtype* const labels = batch->label_.mutable_cpu_data();
  const size_t item_count = batch->data_.count(1);
  this->DecodingTeam(0).ForEach(count, [&](int i) {
    const Line& line = items[i].first;
    WithFile(param().root_folder() + line.first, [&] {
      const cv::Mat image = i == 0 ? first : ReadSnippets(line, items[i].second);
      this->data_transformer_->TransformTo(image, ImageDraws(), shape, pixels + i * item_count);
    });
    labels[i] = static_cast<Dtype>(line.second.second);
  });
}

template <typename Dtype>
string VideoDataLayer<Dtype>::SourceState() {
  StateWriter state;
  state.Put(RandomStateOf(*static_cast<rng_t*>(random_->generator())));
  if (reads_snippets()) {
    state.Put(ImageListLayer<Dtype, std::pair<int, int>>::SourceState());
  } else {
    state.Put(position_);
    state.Put(this->data_transformer_->RandomState());
  }
  return state.text();
}

template <typename Dtype>
void VideoDataLayer<Dtype>::SetSourceState(const string& text) {
  StateReader state(text);
  SetRandomStateOf(state.Text(), static_cast<rng_t*>(random_->generator()));
  if (reads_snippets()) {
    ImageListLayer<Dtype, std::pair<int, int>>::SetSourceState(state.Text());
    return;
  }
  const uint64_t position = state.Number();
  this->data_transformer_->SetRandomState(state.Text());
  if (param().video_type() != VideoDataParameter::VIDEO) return;
  OpenReader();
  for (; position_ < position; ++position_) {
    Require(reader_->Skip(), Error::File{param().video_file()}, ": the run stopped at frame ",
            position, ", the video has ", position_, ": has it changed?");
  }
}

#else

template <typename Dtype>
void VideoDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>&,
                                           const vector<Blob<Dtype>*>&) {
  Fail("VideoData needs OpenCV", Error::Remedy{"build with USE_OPENCV=ON"});
}
template <typename Dtype>
void VideoDataLayer<Dtype>::load_batch(Batch<Dtype>*) {}
template <typename Dtype>
string VideoDataLayer<Dtype>::SourceState() {
  return string();
}
template <typename Dtype>
void VideoDataLayer<Dtype>::SetSourceState(const string&) {}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(VideoDataLayer);
REGISTER_LAYER_CLASS(VideoData);

}  // namespace caffe
