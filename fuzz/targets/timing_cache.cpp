// Timing caches.
#include "caffe/inference/timing_cache.hpp"

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return caffe::fuzz::Try([&] {
    const caffe::inference::TimingCache cache(caffe::fuzz::NewFile("times.txt", data, size));
    cache.Write(caffe::fuzz::Folder() + "/written.txt");
    const caffe::inference::TimingCache again(caffe::fuzz::Folder() + "/written.txt");
    if (again.size() != cache.size()) std::abort();
  });
}
