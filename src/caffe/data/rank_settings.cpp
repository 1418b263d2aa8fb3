#include "caffe/data/rank_settings.hpp"

namespace caffe {

RankSettings& RankSettings::Current() {
  thread_local RankSettings settings;
  return settings;
}

}  // namespace caffe
