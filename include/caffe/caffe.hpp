// All of the library's face, for programs that include this one header.
#ifndef CAFFE_CAFFE_HPP_
#define CAFFE_CAFFE_HPP_

#include <boost/scoped_ptr.hpp>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/filler.hpp"
#include "caffe/layer.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/net.hpp"
#include "caffe/parallel.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/sgd_solvers.hpp"
#include "caffe/solver.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/util/benchmark.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/upgrade_proto.hpp"

// OpenCV's old names for conversions (CV_BGR2GRAY), which programs of Caffe's time use, where
// OpenCV still has them.
#if defined(USE_OPENCV) && __has_include(<opencv2/imgproc/types_c.h>)
#include <opencv2/imgproc/types_c.h>
#endif

#endif  // CAFFE_CAFFE_HPP_
