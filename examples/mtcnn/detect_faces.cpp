// Prints the faces in images, and five points in each.
#include <gflags/gflags.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "mtcnn.hpp"

DEFINE_double(min_size, 20, "pixels of the smallest face that is looked for");
DEFINE_double(factor, 0.709, "from one level of the image pyramid to the next");
DEFINE_double(threshold1, 0.6, "score that the proposal net must give");
DEFINE_double(threshold2, 0.7, "score that the refinement net must give");
DEFINE_double(threshold3, 0.7, "score that the output net must give");

namespace {

constexpr char kUsage[] =
    "usage: detect_faces [FLAG...] FOLDER IMAGE...\n"
    "\n"
    "Finds faces with MTCNN's three nets: FOLDER has det1.prototxt, det1.caffemodel, and likewise\n"
    "det2 and det3. For each image its name, then a line for each face: left, top, width and\n"
    "height in pixels, score, then x,y of the eyes, the nose and the corners of the mouth.\n"
    "\n"
    "  -min_size N     pixels of the smallest face that is looked for (20)\n"
    "  -factor F       from one level of the image pyramid to the next (0.709)\n"
    "  -threshold1 T   score that the proposal net must give (0.6)\n"
    "  -threshold2 T   the same for the refinement net (0.7)\n"
    "  -threshold3 T   the same for the output net (0.7)\n"
    "\n"
    "example:\n"
    "  detect_faces -min_size 40 nets group.jpg\n";

mtcnn::Files NetFiles(const std::string& folder, const std::string& name) {
  return {folder + "/" + name + ".prototxt", folder + "/" + name + ".caffemodel"};
}

void PrintFaces(const std::string& file, mtcnn::Detector* detector) {
  const cv::Mat image = caffe::ReadImageToCVMat(file);
  caffe::Require(!image.empty(), file, ": cannot be read as an image");
  std::printf("%s\n", file.c_str());
  for (const mtcnn::Face& face : detector->Detect(image)) {
    std::printf("  %.0f %.0f %.0f %.0f %.4f", face.left, face.top, face.right - face.left,
                face.bottom - face.top, face.score);
    for (const cv::Point2f& point : face.points) std::printf(" %.0f,%.0f", point.x, point.y);
    std::printf("\n");
  }
}

int Run(int argc, char** argv) {
  caffe::Require(argc >= 3, "give the nets' folder and an image; --help shows how");
  mtcnn::Options options;
  options.min_size = FLAGS_min_size;
  options.factor = FLAGS_factor;
  options.thresholds[0] = FLAGS_threshold1;
  options.thresholds[1] = FLAGS_threshold2;
  options.thresholds[2] = FLAGS_threshold3;
  mtcnn::Detector detector(NetFiles(argv[1], "det1"), NetFiles(argv[1], "det2"),
                           NetFiles(argv[1], "det3"), options);
  for (int i = 2; i < argc; ++i) PrintFaces(argv[i], &detector);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string("--help")) {
      std::cout << kUsage;
      return 0;
    }
  }
  FLAGS_minloglevel = google::ERROR;
  gflags::SetUsageMessage(kUsage);
  try {
    caffe::GlobalInit(&argc, &argv);
    return Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "detect_faces: " << error.what() << "\n";
    return 1;
  }
}
