#ifndef CAFFE_DATA_LAYERS_HPP_
#define CAFFE_DATA_LAYERS_HPP_

// Layers that make data or write it. Caffe before 2016 had them in this one header.

#include <boost/scoped_ptr.hpp>

#include "caffe/data_reader.hpp"
#include "caffe/data_transformer.hpp"
#include "caffe/filler.hpp"
#include "caffe/layers/base_data_layer.hpp"
#include "caffe/layers/data_layer.hpp"
#include "caffe/layers/dummy_data_layer.hpp"
#include "caffe/layers/hdf5_data_layer.hpp"
#include "caffe/layers/hdf5_output_layer.hpp"
#include "caffe/layers/image_data_layer.hpp"
#include "caffe/layers/memory_data_layer.hpp"
#include "caffe/layers/window_data_layer.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/hdf5.hpp"

#endif  // CAFFE_DATA_LAYERS_HPP_
