#ifndef CAFFE_VISION_LAYERS_HPP_
#define CAFFE_VISION_LAYERS_HPP_

// Layers for images. Caffe before 2016 had them in this one header.

#include "caffe/common_layers.hpp"
#include "caffe/data_layers.hpp"
#include "caffe/layers/base_conv_layer.hpp"
#include "caffe/layers/conv_layer.hpp"
#include "caffe/layers/crop_layer.hpp"
#include "caffe/layers/deconv_layer.hpp"
#include "caffe/layers/im2col_layer.hpp"
#include "caffe/layers/lrn_layer.hpp"
#include "caffe/layers/pooling_layer.hpp"
#include "caffe/layers/spp_layer.hpp"
#include "caffe/loss_layers.hpp"
#include "caffe/neuron_layers.hpp"

#endif  // CAFFE_VISION_LAYERS_HPP_
