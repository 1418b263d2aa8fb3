#include "caffe/layers/recurrent_layer.hpp"

#include <cstring>

namespace caffe {
namespace {

template <typename Dtype>
void SetZero(Dtype* values, int count) {
  std::fill_n(values, count, Dtype(0));
}

}  // namespace

template <typename Dtype>
int RecurrentLayer<Dtype>::MinBottomBlobs() const {
  vector<string> states;
  if (this->layer_param_.recurrent_param().expose_hidden()) RecurrentInputBlobNames(&states);
  return 2 + static_cast<int>(states.size());
}

template <typename Dtype>
int RecurrentLayer<Dtype>::ExactNumTopBlobs() const {
  vector<string> outputs, states;
  OutputBlobNames(&outputs);
  if (this->layer_param_.recurrent_param().expose_hidden()) RecurrentOutputBlobNames(&states);
  return static_cast<int>(outputs.size() + states.size());
}

// Input, the subclass's layers, and for each output a loss, because only what a loss depends on
// runs backward; that loss itself is never run.
template <typename Dtype>
NetParameter RecurrentLayer<Dtype>::UnrolledNet(const vector<Blob<Dtype>*>& bottom) const {
  NetParameter net;
  net.set_force_backward(true);
  net.mutable_state()->set_phase(this->phase_);
  LayerParameter* input = net.add_layer();
  input->set_name("input");
  input->set_type("Input");
  for (int i = 0; i < FirstStateBottom(); ++i) {
    input->add_top(i == 0 ? "x" : i == 1 ? "cont" : "x_static");
    BlobShape* shape = input->mutable_input_param()->add_shape();
    for (const int extent : bottom[i]->shape()) shape->add_dim(extent);
  }
  FillUnrolledNet(&net);
  for (LayerParameter& layer : *net.mutable_layer()) {
    layer.set_name(this->layer_param_.name() + "_" + layer.name());
  }
  vector<string> outputs;
  OutputBlobNames(&outputs);
  for (const string& output : outputs) {
    LayerParameter* loss = net.add_layer();
    loss->set_name(output + "_pseudoloss");
    loss->set_type("Reduction");
    loss->add_bottom(output);
    loss->add_top(output + "_pseudoloss");
    loss->add_loss_weight(1);
  }
  return net;
}

template <typename Dtype>
vector<Blob<Dtype>*> RecurrentLayer<Dtype>::BlobsCalled(const vector<string>& names) const {
  vector<Blob<Dtype>*> blobs;
  for (const string& name : names) {
    Require(unrolled_net_->has_blob(name), this->type(), ": its unrolled net has no blob '", name,
            "'");
    blobs.push_back(unrolled_net_->blob_by_name(name).get());
  }
  return blobs;
}

template <typename Dtype>
void RecurrentLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>&) {
  Require(bottom[0]->num_axes() >= 2,
          "bottom 0, the inputs, must have axes (time, batch, ...), not ",
          ShapeString(bottom[0]->shape()));
  T_ = bottom[0]->shape(0);
  N_ = bottom[0]->shape(1);
  Require(bottom[1]->shape() == vector<int>({T_, N_}),
          "bottom 1, the continuation indicators, must ", "have shape ", T_, " ", N_,
          ", one for each step of each sequence, not ", ShapeString(bottom[1]->shape()));
  expose_hidden_ = this->layer_param_.recurrent_param().expose_hidden();
  static_input_ = static_cast<int>(bottom.size()) > MinBottomBlobs();
  if (static_input_) {
    Require(bottom[2]->num_axes() >= 1 && bottom[2]->shape(0) == N_, "bottom 2, the static input, ",
            "must have ", N_, " items, one for each sequence; it has shape ",
            ShapeString(bottom[2]->shape()));
  }
  unrolled_net_.reset(new Net<Dtype>(UnrolledNet(bottom)));
  unrolled_net_->set_debug_info(this->layer_param_.recurrent_param().debug_info());

  vector<string> inputs, states, outputs;
  RecurrentInputBlobNames(&inputs);
  RecurrentOutputBlobNames(&states);
  OutputBlobNames(&outputs);
  Require(inputs.size() == states.size(), this->type(), " names ", inputs.size(),
          " blobs before the first step and ", states.size(), " after the last one");
  recur_input_blobs_ = BlobsCalled(inputs);
  recur_output_blobs_ = BlobsCalled(states);
  output_blobs_ = BlobsCalled(outputs);
  x_input_blob_ = BlobsCalled({"x"})[0];
  cont_input_blob_ = BlobsCalled({"cont"})[0];
  if (static_input_) x_static_input_blob_ = BlobsCalled({"x_static"})[0];
  last_layer_index_ = static_cast<int>(unrolled_net_->layers().size() - outputs.size()) - 1;

  const vector<shared_ptr<Blob<Dtype>>> given = this->blobs_;
  this->blobs_.clear();
  for (size_t i = 0; i < unrolled_net_->params().size(); ++i) {
    if (unrolled_net_->param_owners()[i] == -1) this->blobs_.push_back(unrolled_net_->params()[i]);
  }
  Require(given.empty() || given.size() == this->blobs_.size(), "the layer has ",
          this->blobs_.size(), " parameters, not ", given.size());
  for (size_t i = 0; i < given.size(); ++i) this->blobs_[i]->CopyFrom(*given[i]);
  this->param_propagate_down_.assign(this->blobs_.size(), true);
  // No gradient comes from the batch behind.
  for (Blob<Dtype>* state : recur_output_blobs_) SetZero(state->mutable_cpu_diff(), state->count());
}

template <typename Dtype>
void RecurrentLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  Require(bottom[0]->num_axes() >= 2 && bottom[0]->shape(0) == T_, "the net is unrolled for ", T_,
          " steps; bottom 0 now has shape ", ShapeString(bottom[0]->shape()));
  N_ = bottom[0]->shape(1);
  Require(bottom[1]->shape() == vector<int>({T_, N_}),
          "bottom 1, the continuation indicators, must ", "have shape ", T_, " ", N_, ", not ",
          ShapeString(bottom[1]->shape()));
  x_input_blob_->ReshapeLike(*bottom[0]);
  cont_input_blob_->ReshapeLike(*bottom[1]);
  if (static_input_) x_static_input_blob_->ReshapeLike(*bottom[2]);
  vector<BlobShape> shapes;
  RecurrentInputShapes(&shapes);
  Require(shapes.size() == recur_input_blobs_.size(), this->type(), " gives ", shapes.size(),
          " shapes for ", recur_input_blobs_.size(), " states");
  for (size_t i = 0; i < shapes.size(); ++i) recur_input_blobs_[i]->Reshape(shapes[i]);
  unrolled_net_->Reshape();
  for (size_t i = 0; i < output_blobs_.size(); ++i) top[i]->ReshapeLike(*output_blobs_[i]);
  for (size_t i = 0; i < recur_output_blobs_.size(); ++i) {
    const Blob<Dtype>& state = *recur_output_blobs_[i];
    Require(state.count() == recur_input_blobs_[i]->count(), "a state has ",
            recur_input_blobs_[i]->count(), " values before the first step and ", state.count(),
            " after the last one");
    if (expose_hidden_) top[output_blobs_.size() + i]->ReshapeLike(state);
  }
}

template <typename Dtype>
void RecurrentLayer<Dtype>::Reset() {
  for (Blob<Dtype>* state : recur_output_blobs_) SetZero(state->mutable_cpu_data(), state->count());
}

template <typename Dtype>
std::string RecurrentLayer<Dtype>::SaveState() {
  std::string state;
  for (const Blob<Dtype>* blob : recur_output_blobs_) {
    state.append(reinterpret_cast<const char*>(blob->cpu_data()), blob->count() * sizeof(Dtype));
  }
  return state;
}

template <typename Dtype>
void RecurrentLayer<Dtype>::RestoreState(const std::string& state) {
  size_t bytes = 0;
  for (const Blob<Dtype>* blob : recur_output_blobs_) bytes += blob->count() * sizeof(Dtype);
  Require(state.size() == bytes, "the saved state has ", state.size(),
          " bytes where that of this layer has ", bytes, ": resume with the same batch size");
  const char* from = state.data();
  for (Blob<Dtype>* blob : recur_output_blobs_) {
    std::memcpy(blob->mutable_cpu_data(), from, blob->count() * sizeof(Dtype));
    from += blob->count() * sizeof(Dtype);
  }
}

// Values are copied in and out: the net inside keeps its own memory, whatever the one outside does
// with its blobs between passes.
template <typename Dtype>
void RecurrentLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  unrolled_net_->ShareWeights();  // the parameters may have moved since they were shared
  const auto copy = [](const Blob<Dtype>& from, Blob<Dtype>* to) {
    std::copy_n(from.cpu_data(), from.count(), to->mutable_cpu_data());
  };
  copy(*bottom[0], x_input_blob_);
  copy(*bottom[1], cont_input_blob_);
  if (static_input_) copy(*bottom[2], x_static_input_blob_);
  for (size_t i = 0; i < recur_input_blobs_.size(); ++i) {
    copy(expose_hidden_ ? *bottom[FirstStateBottom() + i] : *recur_output_blobs_[i],
         recur_input_blobs_[i]);
  }
  unrolled_net_->ForwardTo(last_layer_index_);
  for (size_t i = 0; i < output_blobs_.size(); ++i) copy(*output_blobs_[i], top[i]);
  for (size_t i = 0; i < recur_output_blobs_.size() && expose_hidden_; ++i) {
    copy(*recur_output_blobs_[i], top[output_blobs_.size() + i]);
  }
}

template <typename Dtype>
void RecurrentLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down,
                                         const vector<Blob<Dtype>*>& bottom) {
  Require(!propagate_down[1], this->type(), " has no gradient for its continuation indicators");
  const auto copy = [](const Blob<Dtype>& from, Blob<Dtype>* to) {
    std::copy_n(from.cpu_diff(), from.count(), to->mutable_cpu_diff());
  };
  for (size_t i = 0; i < output_blobs_.size(); ++i) copy(*top[i], output_blobs_[i]);
  for (size_t i = 0; i < recur_output_blobs_.size() && expose_hidden_; ++i) {
    copy(*top[output_blobs_.size() + i], recur_output_blobs_[i]);
  }
  unrolled_net_->BackwardFrom(last_layer_index_);
  if (propagate_down[0]) copy(*x_input_blob_, bottom[0]);
  if (static_input_ && propagate_down[2]) copy(*x_static_input_blob_, bottom[2]);
  for (size_t i = 0; i < recur_input_blobs_.size() && expose_hidden_; ++i) {
    const size_t index = FirstStateBottom() + i;
    if (propagate_down[index]) copy(*recur_input_blobs_[i], bottom[index]);
  }
}

INSTANTIATE_CLASS(RecurrentLayer);

}  // namespace caffe
