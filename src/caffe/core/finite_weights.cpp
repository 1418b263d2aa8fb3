#include "finite_weights.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/common.hpp"
#include "caffe/kernels/update.hpp"

namespace caffe {
namespace {

template <typename T>
int CountNotFinite(int count, const T* values) {
  if (kernels::AllFinite(count, values)) return 0;
  return static_cast<int>(std::count_if(
      values, values + count, [](T value) { return !std::isfinite(static_cast<double>(value)); }));
}

}  // namespace

// In the type in which they are kept: no copy is made.
template <typename Dtype>
void WarnOfNotFinite(const std::string& layer,
                     const std::vector<boost::shared_ptr<Blob<Dtype>>>& blobs) {
  for (size_t i = 0; i < blobs.size(); ++i) {
    const Blob<Dtype>& blob = *blobs[i];
    int bad = 0;
    Dispatch(blob.data_tensor().newest_type(), [&](auto tag) {
      using T = decltype(tag);
      bad = CountNotFinite(blob.count(), blob.template cpu_data_as<T>());
    });
    LOG_IF(WARNING, bad > 0 && Caffe::root_solver())
        << "Layer '" << layer << "': " << bad << " of the " << blob.count()
        << " values of parameter " << i << " are NaN or infinite";
  }
}

template void WarnOfNotFinite(const std::string&,
                              const std::vector<boost::shared_ptr<Blob<float>>>&);
template void WarnOfNotFinite(const std::string&,
                              const std::vector<boost::shared_ptr<Blob<double>>>&);

}  // namespace caffe
