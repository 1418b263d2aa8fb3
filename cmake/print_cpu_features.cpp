// Run while CMake configures with CAFFE_CPU_KERNELS=NATIVE: prints this processor's features, as a
// list.
#include <cstdio>

#include "caffe/kernels/cpu_features.hpp"

int main() {
  for (const std::string& name : caffe::kernels::NamesOf(caffe::kernels::FoundCpuFeatures())) {
    std::printf("%s;", name.c_str());
  }
}
