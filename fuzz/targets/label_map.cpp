// Label maps as text.
#include "caffe/util/label_map.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/message_mutator.hpp"

CAFFE_FUZZ_MUTATOR(caffe::LabelMap, MutateText)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] {
    const caffe::LabelMap map =
        caffe::ReadLabelMap(caffe::fuzz::NewFile("labelmap.prototxt", data, size));
    std::map<std::string, int> labels;
    std::map<int, std::string> names;
    caffe::MapNameToLabel(map, /*strict_check=*/true, &labels);
    caffe::MapLabelToName(map, /*strict_check=*/false, &names);
    caffe::MapLabelToDisplayName(map, /*strict_check=*/true, &names);
  });
}
