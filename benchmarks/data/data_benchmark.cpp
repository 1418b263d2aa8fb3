// Measures what feeds a net: decoding, transforming, and the Data layer around both.
#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../../tools/common/command_line.hpp"
#include "caffe/caffe.hpp"
#include "caffe/data_transformer.hpp"
#include "caffe/util/db.hpp"

DEFINE_string(images, "", "A folder of JPEG images; without it images are made up.");
DEFINE_int32(records, 512, "Records in the database.");
DEFINE_int32(size, 256, "Height and width that images are stored with.");
DEFINE_int32(crop, 227, "Height and width that are cut out of them.");
DEFINE_int32(batch, 64, "Images in a batch.");
DEFINE_int32(quality, 95, "JPEG quality.");
DEFINE_int32(rounds, 5, "How often each is measured; the best counts.");
DEFINE_string(threads, "1,2,4", "Numbers of threads to measure.");

namespace {

using caffe::Blob;
using caffe::Datum;
using caffe::Require;

const char kUsage[] = R"(data_benchmark: measures what feeds a net.

usage: data_benchmark [-images FOLDER] [-records N] [-size N] [-crop N] [-batch N] [-threads 1,2,4]

Makes databases of JPEG records, of raw records and of annotated ones, and files with lists of them,
and prints, in images a second and in milliseconds of a core for each image: decoding alone
(OpenCV, in as many threads), transforming alone (random crop, mirror, mean), and the layers Data,
ImageData, WindowData and AnnotatedData, which read, decode and transform; and which share of decoding
alone a Data layer reaches.

example:
  data_benchmark -records 256
)";

// Colored noise on several scales: JPEG files of about a photograph's size.
cv::Mat MadeUpImage(int number) {
  cv::RNG random(number + 1);
  cv::Mat image(FLAGS_size, FLAGS_size, CV_32FC3, cv::Scalar::all(0));
  for (int cells = 4; cells <= FLAGS_size; cells *= 2) {
    cv::Mat noise(cells, cells, CV_32FC3);
    random.fill(noise, cv::RNG::NORMAL, 0, 120. / cells);
    cv::resize(noise, noise, image.size(), 0, 0, cv::INTER_CUBIC);
    image += noise * 2;
  }
  image += cv::Scalar::all(128);
  image.convertTo(image, CV_8U);
  return image;
}

std::vector<cv::Mat> Images() {
  std::vector<cv::Mat> images;
  if (FLAGS_images.empty()) {
    for (int i = 0; i < std::min(FLAGS_records, 64); ++i) images.push_back(MadeUpImage(i));
    return images;
  }
  for (const auto& entry : std::filesystem::directory_iterator(FLAGS_images)) {
    if (entry.path().extension() != ".jpg" && entry.path().extension() != ".jpeg") continue;
    cv::Mat image = cv::imread(entry.path().string());
    if (image.empty()) continue;
    cv::resize(image, image, cv::Size(FLAGS_size, FLAGS_size), 0, 0, cv::INTER_AREA);
    images.push_back(image);
  }
  Require(!images.empty(), FLAGS_images, ": there are no JPEG images (.jpg)");
  return images;
}

std::vector<Datum> Records(const std::vector<cv::Mat>& images, bool encoded) {
  std::vector<Datum> records(FLAGS_records);
  for (int i = 0; i < FLAGS_records; ++i) {
    const cv::Mat& image = images[i % images.size()];
    if (encoded) {
      std::vector<uchar> bytes;
      cv::imencode(".jpg", image, bytes, {cv::IMWRITE_JPEG_QUALITY, FLAGS_quality});
      records[i].set_data(std::string(bytes.begin(), bytes.end()));
      records[i].set_encoded(true);
    } else {
      caffe::CVMatToDatum(image, &records[i]);
    }
    records[i].set_label(i % 10);
  }
  return records;
}

template <typename Record>
std::string Database(const std::string& path, const std::vector<Record>& records) {
  std::unique_ptr<caffe::db::DB> db(caffe::db::GetDB("lmdb"));
  db->Open(path, caffe::db::NEW);
  std::unique_ptr<caffe::db::Transaction> transaction(db->NewTransaction());
  for (size_t i = 0; i < records.size(); ++i) {
    transaction->Put(caffe::format_int(static_cast<int>(i), 8), records[i].SerializeAsString());
  }
  transaction->Commit();
  return path;
}

caffe::TransformationParameter Transform() {
  caffe::TransformationParameter param;
  param.set_crop_size(FLAGS_crop);
  param.set_mirror(true);
  param.set_random_seed(1);
  for (const float mean : {104.f, 117.f, 123.f}) param.add_mean_value(mean);
  return param;
}

/// Images a second, and milliseconds of a core for each, which other programs hardly change.
struct Speed {
  double rate, core_ms;
};

/// Calls `f`, which works on `images` images, several times, and gives the best.
template <typename Function>
Speed Measure(int images, Function&& f) {
  Speed best = {0, 1e30};
  for (int round = 0; round < FLAGS_rounds; ++round) {
    caffe::CPUTimer timer;
    const std::clock_t start = std::clock();  // of all threads
    timer.Start();
    f();
    best.rate = std::max(best.rate, images / static_cast<double>(timer.Seconds()));
    const double core = double(std::clock() - start) / CLOCKS_PER_SEC;
    best.core_ms = std::min(best.core_ms, 1000 * core / images);
  }
  return best;
}

/// f(i) for all records, shared by `threads` threads.
template <typename Function>
void ForEachRecord(int threads, Function&& f) {
  std::atomic<int> next(0);
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i) {
    team.emplace_back([&] {
      for (int record; (record = next++) < FLAGS_records;) f(record);
    });
  }
  for (std::thread& thread : team) thread.join();
}

Speed DecodingSpeed(const std::vector<Datum>& records, int threads) {
  return Measure(FLAGS_records, [&] {
    ForEachRecord(threads, [&](int i) { caffe::DecodeDatumToCVMatNative(records[i]); });
  });
}

/// Speed for images in memory: in OpenCV's order, or in that of raw records.
Speed TransformingSpeed(const std::vector<cv::Mat>& images, bool planar) {
  caffe::DataTransformer<float> transformer(Transform(), caffe::TRAIN);
  transformer.InitRand();
  std::vector<Datum> planes(images.size());
  for (size_t i = 0; i < images.size(); ++i) caffe::CVMatToDatum(images[i], &planes[i]);
  Blob<float> batch(FLAGS_batch, 3, FLAGS_crop, FLAGS_crop);
  float* data = batch.mutable_cpu_data();
  return Measure(FLAGS_records, [&] {
    for (int i = 0; i < FLAGS_records; ++i) {
      float* item = data + batch.offset(i % FLAGS_batch);
      const size_t k = i % images.size();
      if (planar) {
        transformer.TransformTo(planes[k], transformer.Draw(), batch.shape(), item);
      } else {
        transformer.TransformTo(images[k], transformer.Draw(), batch.shape(), item);
      }
    }
  });
}

/// Speed of a data layer, without the batches that it made ahead.
Speed LayerSpeed(caffe::LayerParameter param) {
  *param.mutable_transform_param() = Transform();
  param.set_phase(caffe::TRAIN);
  const auto layer = caffe::LayerRegistry<float>::CreateLayer(param);
  Blob<float> images, labels;
  layer->SetUp({}, {&images, &labels});
  const int batches = std::max(1, FLAGS_records / FLAGS_batch);
  for (int i = 0; i < 8; ++i) layer->Forward({}, {&images, &labels});
  return Measure(batches * FLAGS_batch, [&] {
    for (int i = 0; i < batches; ++i) layer->Forward({}, {&images, &labels});
  });
}

/// "Data" or "AnnotatedData" over a database.
caffe::LayerParameter DatabaseLayer(const std::string& type, const std::string& database,
                                    int threads) {
  caffe::LayerParameter param;
  param.set_type(type);
  caffe::DataParameter* data = param.mutable_data_param();
  data->set_source(database);
  data->set_backend(caffe::DataParameter_DB_LMDB);
  data->set_batch_size(FLAGS_batch);
  data->set_threads(threads);
  data->set_prefetch(4);
  return param;
}

caffe::LayerParameter ImageDataLayer(const std::string& list) {
  caffe::LayerParameter param;
  param.set_type("ImageData");
  param.mutable_image_data_param()->set_source(list);
  param.mutable_image_data_param()->set_batch_size(FLAGS_batch);
  return param;
}

caffe::LayerParameter WindowDataLayer(const std::string& windows) {
  caffe::LayerParameter param;
  param.set_type("WindowData");
  caffe::WindowDataParameter* data = param.mutable_window_data_param();
  data->set_source(windows);
  data->set_batch_size(FLAGS_batch);
  data->set_context_pad(16);
  return param;
}

/// Records with one box each.
std::vector<caffe::AnnotatedDatum> Annotated(const std::vector<Datum>& records) {
  std::vector<caffe::AnnotatedDatum> annotated(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    *annotated[i].mutable_datum() = records[i];
    annotated[i].set_type(caffe::AnnotatedDatum_AnnotationType_BBOX);
    caffe::AnnotationGroup* group = annotated[i].add_annotation_group();
    group->set_group_label(1);
    caffe::NormalizedBBox* box = group->add_annotation()->mutable_bbox();
    box->set_xmin(0.25f);
    box->set_ymin(0.25f);
    box->set_xmax(0.75f);
    box->set_ymax(0.75f);
  }
  return annotated;
}

/// Writes the records' JPEG files, a list of them for ImageData and windows for WindowData: in each
/// image one that fits an object and three that do not.
void WriteFiles(const std::vector<Datum>& records, const std::string& folder) {
  std::ofstream list(folder + "/list.txt"), windows(folder + "/windows.txt");
  const int end = FLAGS_size - 1, middle = FLAGS_size / 2;
  for (size_t i = 0; i < records.size(); ++i) {
    const std::string file = folder + "/" + std::to_string(i) + ".jpg";
    std::ofstream(file, std::ios::binary) << records[i].data();
    list << file << " " << records[i].label() << "\n";
    windows << "# " << i << "\n" << file << "\n3\n" << FLAGS_size << "\n" << FLAGS_size << "\n4\n";
    windows << "1 0.9 0 0 " << end << " " << end << "\n";
    for (const int left : {0, middle / 2, middle - 1}) {
      windows << "0 0.1 " << left << " 0 " << left + middle << " " << middle << "\n";
    }
  }
  Require(list.good() && windows.good(), folder, ": the lists cannot be written");
}

void Print(const std::string& what, const Speed& speed, const std::string& more = "") {
  std::cout << std::left << std::setw(34) << what << std::right << std::fixed
            << std::setprecision(0) << std::setw(8) << speed.rate << " images/s"
            << std::setprecision(3) << std::setw(10) << speed.core_ms << " core ms each" << more
            << std::endl;
}

std::string Share(const Speed& part, const Speed& whole) {
  std::ostringstream stream;
  stream << "  " << std::fixed << std::setprecision(0) << 100 * part.rate / whole.rate
         << "% of decoding alone";
  return stream.str();
}

int Run(int argc, char**) {
  Require(argc == 1, "data_benchmark takes no arguments but flags; --help shows them");
  Require(FLAGS_records > 0 && FLAGS_batch > 0 && FLAGS_rounds > 0 && FLAGS_crop > 0 &&
              FLAGS_size >= FLAGS_crop,
          "-records, -batch, -rounds and -crop must be positive, and -size at least -crop");
  cv::setNumThreads(1);
  std::vector<int> thread_counts;
  std::istringstream counts(FLAGS_threads);
  for (std::string count; std::getline(counts, count, ',');) {
    thread_counts.push_back(std::stoi(count));
    Require(thread_counts.back() > 0, "-threads: numbers above 0, separated by commas");
  }
  const std::vector<cv::Mat> images = Images();
  const std::vector<Datum> encoded = Records(images, true), raw = Records(images, false);
  size_t bytes = 0;
  for (const Datum& record : encoded) bytes += record.data().size();
  std::cout << FLAGS_size << " x " << FLAGS_size << ", cut to " << FLAGS_crop << " x " << FLAGS_crop
            << ", " << bytes / encoded.size() / 1024 << " kB per JPEG record, "
            << std::thread::hardware_concurrency() << " cores\n";
  std::string folder;
  caffe::MakeTempDir(&folder);
  const std::string encoded_database = Database(folder + "/encoded", encoded);
  const std::string raw_database = Database(folder + "/raw", raw);
  const std::string annotated_database = Database(folder + "/annotated", Annotated(encoded));
  WriteFiles(encoded, folder);

  Print("transforming alone, decoded", TransformingSpeed(images, false));
  Print("transforming alone, raw", TransformingSpeed(images, true));
  for (const int threads : thread_counts) {
    const std::string with = ", " + std::to_string(threads) + " thread" + (threads > 1 ? "s" : "");
    const Speed decoding = DecodingSpeed(encoded, threads);
    Print("decoding alone" + with, decoding);
    const Speed layer = LayerSpeed(DatabaseLayer("Data", encoded_database, threads));
    Print("Data layer, JPEG" + with, layer, Share(layer, decoding));
    Print("Data layer, raw" + with, LayerSpeed(DatabaseLayer("Data", raw_database, threads)));
    Print("AnnotatedData, JPEG" + with,
          LayerSpeed(DatabaseLayer("AnnotatedData", annotated_database, threads)));
  }
  Print("ImageData, JPEG", LayerSpeed(ImageDataLayer(folder + "/list.txt")));
  Print("WindowData, JPEG", LayerSpeed(WindowDataLayer(folder + "/windows.txt")));
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return caffe::RunTool(argc, argv, kUsage, Run); }
