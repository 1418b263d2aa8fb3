// Boxes of images as convert_annoset reads them: XML, JSON and lines.
#include "caffe/util/detection/annotations.hpp"

#include <map>

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace caffe;  // NOLINT: the function cannot be in the namespace
  static const std::map<std::string, int> labels = {{"cat", 1}, {"7", 2}, {"", 3}};
  const std::string file = fuzz::NewFile("boxes", data, size);
  for (const auto read : {&ReadXMLToAnnotatedDatum, &ReadJSONToAnnotatedDatum}) {
    fuzz::Try([&] {
      AnnotatedDatum annotated;
      read(file, 10, 12, labels, &annotated);
    });
  }
  return fuzz::Try([&] {
    AnnotatedDatum annotated;
    ReadTxtToAnnotatedDatum(file, 10, 12, &annotated);
  });
}
