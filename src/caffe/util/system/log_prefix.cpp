// Lines of the log begin as Caffe's did, "I1122 18:07:22.123456  4711 solver.cpp:330] ", which is
// what programs that read logs expect. glog 0.6 and newer put the year before the month.
#include <glog/logging.h>

#include <cstdlib>

namespace caffe {
namespace {

#ifdef CAFFE_GLOG_HAS_YEAR
// When the library is loaded, so that it holds for every program that links it, wherever glog
// is started. The environment, flags on the command line and the program itself have the last word.
const bool caffes_prefix = [] {
  if (!std::getenv("GLOG_log_year_in_prefix")) FLAGS_log_year_in_prefix = false;
  return true;
}();
#endif

}  // namespace
}  // namespace caffe
