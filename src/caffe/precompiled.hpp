#ifndef CAFFE_PRECOMPILED_HPP_
#define CAFFE_PRECOMPILED_HPP_

// What most files include anyway, compiled once where CAFFE_PCH says so. Each file still includes
// what it uses: builds without precompiled headers have to work.
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/net.hpp"
#include "caffe/operation.hpp"
#include "caffe/proto/caffe.pb.h"

#endif  // CAFFE_PRECOMPILED_HPP_
