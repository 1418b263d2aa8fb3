#include "caffe/layers/hdf5_data_layer.hpp"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <numeric>

#include "caffe/util/hdf5.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/string_stream.hpp"
#include "caffe/util/text_file.hpp"
#include "data_fields.hpp"
#include "source_state.hpp"

namespace caffe {
namespace {

// Shapes are the files'; tops may be labels: both stay in the net's own type.
const bool hdf5_data_registered = OperationTable::Add(Operation("HDF5Data")
                                                          .CpuOnly(kMadeOnHost)
                                                          .BackwardReads(Operation::kNothing)
                                                          .FloatTops({-1})
                                                          .Source());
const bool hdf5_data_dealt_out = RecordShare::AddType("HDF5Data");

/// The paths in a line of the list. Caffe splits it at blanks, but a path may have some, too: it
/// is split only where some of its parts are there, and it is not itself.
vector<string> PathsIn(const string& line) {
  const char* const white = " \t\r";
  const size_t first = line.find_first_not_of(white);
  if (first == string::npos) return {};
  const string whole = line.substr(first, line.find_last_not_of(white) - first + 1);
  const auto is_there = [](const string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
  };
  if (whole.find_first_of(white) == string::npos || is_there(whole)) return {whole};
  vector<string> parts;
  StringReader words(whole);
  for (string word; words >> word;) parts.push_back(word);
  // Of parts the missing one is named where the line is read.
  return std::any_of(parts.begin(), parts.end(), is_there) ? parts : vector<string>{whole};
}

}  // namespace

template <typename Dtype>
void HDF5DataLayer<Dtype>::ReadSource() {
  const string& source = this->layer_param_.hdf5_data_param().source();
  Require(!source.empty(), Error::Field{"hdf5_data_param"}, ": source is missing");
  std::ifstream file = OpenTextFile(source, "the list of HDF5 files cannot be opened");
  hdf_filenames_.clear();
  for (string line; std::getline(file, line);) {
    Require(hdf_filenames_.size() < 100000 && line.find('\0') == string::npos, Error::File{source},
            " is not a list of HDF5 files: source names a text file with the path of one in each "
            "line");
    const vector<string> paths = PathsIn(line);
    hdf_filenames_.insert(hdf_filenames_.end(), paths.begin(), paths.end());
  }
  Require(!hdf_filenames_.empty(), Error::File{source}, ": the list names no HDF5 files");
  num_files_ = static_cast<unsigned int>(hdf_filenames_.size());
  LOG_IF(INFO, Caffe::root_solver()) << "Number of HDF5 files: " << num_files_;
}

#ifdef USE_HDF5

namespace {

rng_t* SharedGenerator(const shared_ptr<Caffe::RNG>& random) {
  return static_cast<rng_t*>(random->generator());
}

}  // namespace

template <typename Dtype>
void HDF5DataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&,
                                      const vector<Blob<Dtype>*>& top) {
  Require(!this->layer_param_.has_transform_param(), Error::Field{"transform_param"},
          ": HDF5Data does not transform data", Error::Remedy{"leave it out"});
  const int batch_size =
      CheckedBatchSize("hdf5_data_param", this->layer_param_.hdf5_data_param().batch_size());
  Require(this->layer_param_.top_size() == static_cast<int>(top.size()),
          "HDF5Data reads the datasets that its tops are called after", Error::Remedy{"name them"});
  ReadSource();
  // Caffe shuffles without a draw from its generator: ours stands where it stood.
  rng_t generator = *caffe_rng();
  random_.reset(new Caffe::RNG(static_cast<unsigned int>(generator())));
  offset_ = 0;
  BeginPass();
  LoadFile();
  for (size_t i = 0; i < top.size(); ++i) {
    vector<int> shape = hdf_blobs_[i]->shape();
    shape[0] = batch_size;
    top[i]->Reshape(shape);
  }
}

// Each pass is drawn from the start, so that one can be repeated without those before it.
template <typename Dtype>
void HDF5DataLayer<Dtype>::BeginPass() {
  pass_state_ = RandomStateOf(*SharedGenerator(random_));
  file_permutation_.resize(num_files_);
  std::iota(file_permutation_.begin(), file_permutation_.end(), 0u);
  if (this->layer_param_.hdf5_data_param().shuffle()) {
    shuffle(file_permutation_.begin(), file_permutation_.end(), SharedGenerator(random_));
  }
  current_file_ = 0;
}

// One draw per file, so that files before it can be passed without knowing how many rows they have.
template <typename Dtype>
void HDF5DataLayer<Dtype>::DrawRows() {
  data_permutation_.resize(hdf_blobs_[0]->shape(0));
  std::iota(data_permutation_.begin(), data_permutation_.end(), 0u);
  rng_t generator((*SharedGenerator(random_))());
  if (this->layer_param_.hdf5_data_param().shuffle()) {
    shuffle(data_permutation_.begin(), data_permutation_.end(), &generator);
  }
  current_row_ = 0;
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::LoadFile() {
  const string& file = hdf_filenames_[file_permutation_[current_file_]];
  if (file != loaded_file_) {
    loaded_file_.clear();  // until it is there completely
    LoadHDF5FileData(file.c_str());
    loaded_file_ = file;
  }
  DrawRows();
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::LoadHDF5FileData(const char* filename) {
  DLOG(INFO) << "Loading HDF5 file: " << filename;
  const Hdf5Handle file = Hdf5Handle::OpenFile(filename);
  const int tops = this->layer_param_.top_size();
  const bool first = hdf_blobs_.empty();
  vector<shared_ptr<Blob<Dtype>>> blobs;
  for (int i = 0; i < tops; ++i) {
    const string& name = this->layer_param_.top(i);
    blobs.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>()));
    hdf5_load_nd_dataset(file.id(), name.c_str(), 1, INT_MAX, blobs[i].get(), true);
    const vector<int>& shape = blobs[i]->shape();
    Require(shape[0] > 0, Error::File{filename}, ": dataset /", name, " has no rows");
    Require(shape[0] == blobs[0]->shape(0), Error::File{filename}, ": dataset /", name, " has ",
            shape[0], " rows and /", this->layer_param_.top(0), " has ", blobs[0]->shape(0));
    Require(first || std::equal(shape.begin() + 1, shape.end(), hdf_blobs_[i]->shape().begin() + 1,
                                hdf_blobs_[i]->shape().end()),
            Error::File{filename}, ": dataset /", name, " has shape ",
            ShapeString(blobs[i]->shape()), ", another file's is ",
            first ? "" : hdf_blobs_[i]->shape_string(), ": all but the first axis must agree");
  }
  hdf_blobs_ = blobs;
  DLOG(INFO) << "Successfully loaded " << hdf_blobs_[0]->shape(0) << " rows";
}

template <typename Dtype>
bool HDF5DataLayer<Dtype>::Skip() const {
  return !share_.Has(offset_ - batch_start_, batch_size());
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::Next() {
  ++offset_;
  if (++current_row_ < rows()) return;
  if (++current_file_ == num_files_) {
    DLOG(INFO) << "Looping around to first file.";
    BeginPass();
  }
  LoadFile();
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&,
                                       const vector<Blob<Dtype>*>& top) {
  batch_start_ = offset_;
  vector<Dtype*> out;
  for (Blob<Dtype>* blob : top) out.push_back(blob->template overwrite_cpu_data_as<Dtype>());
  for (int i = 0; i < batch_size(); ++i) {
    if (loaded_file_.empty()) LoadFile();  // the last pass failed here
    while (Skip()) Next();
    for (size_t j = 0; j < top.size(); ++j) {
      const int count = top[j]->count(1);
      const Dtype* row =
          hdf_blobs_[j]->cpu_data() + size_t(data_permutation_[current_row_]) * count;
      out[j] = std::copy(row, row + count, out[j]);
    }
    Next();
  }
  while (offset_ < batch_start_ + share_.Total(batch_size())) Next();  // the other solvers' rows
}

// Rows passed, the generator before this pass, file and row in it.
template <typename Dtype>
string HDF5DataLayer<Dtype>::SaveState() {
  StateWriter state;
  state.Put(offset_);
  state.Put(pass_state_);
  state.Put(current_file_);
  state.Put(current_row_);
  return state.text();
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::RestoreState(const string& text) {
  StateReader state(text);
  const uint64_t offset = state.Number();
  const string pass_state = state.Text();
  const uint64_t file = state.Number(), row = state.Number();
  Require(file < num_files_, Error::File{this->layer_param_.hdf5_data_param().source()}, " lists ",
          num_files_, " files, the run stopped in number ", file, ": has the list changed?");
  SetRandomStateOf(pass_state, SharedGenerator(random_));
  BeginPass();
  for (; current_file_ < file; ++current_file_) (*SharedGenerator(random_))();
  LoadFile();
  Require(row < rows(), Error::File{loaded_file_}, " has ", rows(),
          " rows, the run stopped at number ", row, ": has the file changed?");
  current_row_ = row;
  offset_ = offset;
}

template <typename Dtype>
uint64_t HDF5DataLayer<Dtype>::EpochItems() {
  uint64_t rows = 0;
  Blob<Dtype> shaped;
  for (const string& name : hdf_filenames_) {
    const Hdf5Handle file = Hdf5Handle::OpenFile(name);
    hdf5_load_nd_dataset_helper(file.id(), this->layer_param_.top(0).c_str(), 1, INT_MAX, &shaped,
                                /*reshape=*/true);
    rows += shaped.shape(0);
  }
  return rows;
}

#else

template <typename Dtype>
void HDF5DataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  Fail("HDF5Data needs HDF5", Error::Remedy{"build with USE_HDF5=ON"});
}

template <typename Dtype>
void HDF5DataLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {}
template <typename Dtype>
void HDF5DataLayer<Dtype>::LoadHDF5FileData(const char*) {}
template <typename Dtype>
string HDF5DataLayer<Dtype>::SaveState() {
  return string();
}
template <typename Dtype>
void HDF5DataLayer<Dtype>::RestoreState(const string&) {}
template <typename Dtype>
uint64_t HDF5DataLayer<Dtype>::EpochItems() {
  return 0;
}

#endif  // USE_HDF5

INSTANTIATE_CLASS(HDF5DataLayer);
REGISTER_LAYER_CLASS(HDF5Data);

}  // namespace caffe
