// Parameters in HDF5 files: datasets data/LAYER/INDEX and diff/LAYER/INDEX.
#include "activation_memory.hpp"
#include "caffe/core/finite_weights.hpp"
#include "caffe/core/limits.hpp"
#include "caffe/net.hpp"
#include "caffe/util/hdf5.hpp"
#include "net_checks.hpp"

namespace caffe {

#ifdef USE_HDF5

namespace {

/// The groups below a group that are layers: those that hold datasets, or nothing. A layer's name
/// may have slashes, which make groups in groups. In a file of a stranger groups may hold
/// themselves.
class LayerGroups {
 public:
  explicit LayerGroups(const string& file) : file_(file) {}

  vector<string> Below(hid_t group) {
    Visit(group, "", 1);
    return std::move(names_);
  }

 private:
  void Visit(hid_t group, const string& prefix, uint64_t depth) {
    limits::Check(limits::kNesting, depth, Error::File{file_}, ": a group within groups");
    const int links = hdf5_get_num_links(group);
    for (int i = 0; i < links; ++i) {
      const string link = hdf5_get_name_by_idx(group, i);
      if (!hdf5_has_group(group, link)) continue;
      limits::Check(limits::kLayers, ++groups_, Error::File{file_}, ": its groups");
      const Hdf5Handle child = Hdf5Handle::OpenGroup(group, link);
      const int members = hdf5_get_num_links(child.id());
      bool holds_datasets = members == 0;
      for (int j = 0; j < members; ++j) {
        holds_datasets |= !hdf5_has_group(child.id(), hdf5_get_name_by_idx(child.id(), j));
      }
      if (holds_datasets) names_.push_back(prefix + link);
      Visit(child.id(), prefix + link + "/", depth + 1);
    }
  }

  const string& file_;
  vector<string> names_;
  uint64_t groups_ = 0;
};

}  // namespace

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromHDF5(const string& trained_filename) {
  const Hdf5Handle file = Hdf5Handle::OpenFile(trained_filename);
  Require(hdf5_has_group(file.id(), "data"), Error::File{trained_filename},
          ": there is no group 'data': this is not an HDF5 file of a net's parameters");
  const Hdf5Handle data = Hdf5Handle::OpenGroup(file.id(), "data");
  const vector<string> names = LayerGroups(trained_filename).Below(data.id());
  set<int> copied;
  for (const string& name : names) {
    const auto target = layer_names_index_.find(name);
    if (target == layer_names_index_.end()) {
      LOG_IF(INFO, Caffe::root_solver()) << "Ignoring source layer " << name;
      continue;
    }
    DLOG(INFO) << "Copying source layer " << name;
    CopyHdf5Layer(trained_filename, Hdf5Handle::OpenGroup(data.id(), name).id(), target->second);
    copied.insert(target->second);
  }
  LogLayersWithout(copied);
  TrimParameters();
}

// A parameter that belongs to another layer is not stored here.
template <typename Dtype>
void Net<Dtype>::CopyHdf5Layer(const string& file, int64_t group, int layer_id) {
  const vector<shared_ptr<Blob<Dtype>>>& targets = layers_[layer_id]->blobs();
  const Error::File in{file};
  const Error::Layer layer{layer_names_[layer_id]};
  const char* const kNumber = ": Incompatible number of blobs for layer ";
  const int stored = hdf5_get_num_links(group);
  Require(stored <= static_cast<int>(targets.size()), in, kNumber, layer, ": the stored layer has ",
          stored, ", the net's has ", targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    const string dataset = std::to_string(i);
    if (H5Lexists(group, dataset.c_str(), H5P_DEFAULT) <= 0) {
      Require(param_owners_[param_id_vecs_[layer_id][i]] != -1, in, kNumber, layer, ": blob ", i,
              " is missing, and no other layer owns it");
      continue;
    }
    activations_->AddReplaced(&targets[i]->data_tensor());
    hdf5_load_nd_dataset(group, dataset.c_str(), 0, kMaxBlobAxes, targets[i].get());
  }
  WarnOfNotFinite(layer_names_[layer_id], targets);
}

template <typename Dtype>
void Net<Dtype>::ToHDF5(const string& filename, bool write_diff) const {
  RequireNamesForHdf5(layer_names_);
  WriteHdf5File(filename, [&](const Hdf5Handle& file) {
    const Hdf5Handle data = Hdf5Handle::CreateGroup(file.id(), "data");
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Hdf5Handle group = Hdf5Handle::CreateGroup(data.id(), layer_names_[i]);
      for (size_t j = 0; j < param_id_vecs_[i].size(); ++j) {
        const int param = param_id_vecs_[i][j];
        if (param_owners_[param] != -1) continue;
        hdf5_save_nd_dataset<Dtype>(group.id(), std::to_string(j), *params_[param]);
      }
    }
    if (!write_diff) return;
    const Hdf5Handle diff = Hdf5Handle::CreateGroup(file.id(), "diff");
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Hdf5Handle group = Hdf5Handle::CreateGroup(diff.id(), layer_names_[i]);
      for (size_t j = 0; j < param_id_vecs_[i].size(); ++j) {
        hdf5_save_nd_dataset<Dtype>(group.id(), std::to_string(j), *params_[param_id_vecs_[i][j]],
                                    /*write_diff=*/true);
      }
    }
  });
}

#else

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromHDF5(const string& trained_filename) {
  Fail(Error::File{trained_filename}, ": this libcaffe was built without HDF5",
       Error::Remedy{"build with USE_HDF5=ON"});
}

template <typename Dtype>
void Net<Dtype>::ToHDF5(const string& filename, bool) const {
  Fail(Error::File{filename}, ": this libcaffe was built without HDF5",
       Error::Remedy{"build with USE_HDF5=ON"});
}

#endif  // USE_HDF5

template class Net<float>;
template class Net<double>;

}  // namespace caffe
