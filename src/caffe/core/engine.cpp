#include "caffe/engine.hpp"

#include "caffe/common.hpp"
#include "caffe/onednn/onednn.hpp"

namespace caffe {
namespace {

// All messages have the same names and numbers of engines.
using Named = ConvolutionParameter;

/// The field `engine` of the first of the layer's parameters that states it.
const google::protobuf::EnumValueDescriptor* OwnEngine(const LayerParameter& layer) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  layer.GetReflection()->ListFields(layer, &fields);
  for (const auto* field : fields) {
    if (field->is_repeated() || !field->message_type()) continue;
    const auto* engine = field->message_type()->FindFieldByName("engine");
    if (!engine || !engine->enum_type()) continue;
    const google::protobuf::Message& own = layer.GetReflection()->GetMessage(layer, field);
    if (own.GetReflection()->HasField(own, engine)) {
      return own.GetReflection()->GetEnum(own, engine);
    }
  }
  return nullptr;
}

/// The engine that the field `engine` of `owner` ("layer 'conv1'") names.
Named::Engine EngineNamed(const std::string& field, const std::string& owner) {
  if (field.empty()) return Named::DEFAULT;
  // Intel Caffe: a list of devices may follow.
  const std::string name = field.substr(0, field.find(':'));
  const auto* value = Named::Engine_descriptor()->FindValueByName(name);
  Require(value != nullptr, owner, ": engine '", field,
          "' is not known: it is DEFAULT, CAFFE, CUDNN, ONEDNN (MKLDNN, MKL2017) or REFERENCE");
  return static_cast<Named::Engine>(value->number());
}

Named::Engine NamedEngine(const LayerParameter& layer) {
  if (const auto* own = OwnEngine(layer)) return static_cast<Named::Engine>(own->number());
  return EngineNamed(layer.engine(), Join("layer '", layer.name(), "'"));
}

}  // namespace

Engine ReadEngine(const LayerParameter& layer) {
  const Named::Engine named = NamedEngine(layer);
  return named == Named::ONEDNN      ? Engine::ONEDNN
         : named == Named::REFERENCE ? Engine::REFERENCE
                                     : Engine::DEFAULT;
}

bool MayUseCudnn(const LayerParameter& layer) { return NamedEngine(layer) != Named::CAFFE; }

namespace {

void GiveNetCudnnSettings(NetParameter* net) {
  for (LayerParameter& layer : *net->mutable_layer()) {
    if (net->has_default_cudnn_math_override() && !layer.has_cudnn_math_override()) {
      layer.set_cudnn_math_override(net->default_cudnn_math_override());
    }
    if (net->has_default_conv_algos_override() && layer.has_convolution_param() &&
        !layer.convolution_param().has_conv_algos_override()) {
      layer.mutable_convolution_param()->set_conv_algos_override(
          net->default_conv_algos_override());
    }
  }
}

}  // namespace

void PropagateEngine(NetParameter* net) {
  GiveNetCudnnSettings(net);
  if (net->engine().empty()) return;
  EngineNamed(net->engine(), Join("net '", net->name(), "'"));
  for (LayerParameter& layer : *net->mutable_layer()) {
    if (layer.engine().empty()) layer.set_engine(net->engine());
  }
}

void ExplainEngine(const LayerParameter& layer) {
  const Named::Engine named = NamedEngine(layer);
  if (named == Named::CUDNN && Caffe::mode() == Caffe::CPU) {
    LOG(INFO) << "Layer " << layer.name() << ": engine CUDNN is for GPUs; DEFAULT computes.";
  } else if (named == Named::ONEDNN && !onednn::Enabled()) {
    LOG(INFO) << "Layer " << layer.name() << ": engine ONEDNN is "
              << (*onednn::Version() ? "turned off (CAFFE_ONEDNN=0)" : "not in this build")
              << "; DEFAULT computes.";
  }
}

}  // namespace caffe
