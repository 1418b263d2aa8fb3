// Weights in HDF5 files: data/<layer>/<number>, and diff/ likewise; shared ones with their owner.
#include <cstdio>

#include "caffe/net.hpp"
#include "caffe/util/hdf5.hpp"

namespace caffe {

#ifdef USE_HDF5

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromHDF5(const string& trained_filename) {
  try {
    const Hdf5Handle file = Hdf5Handle::OpenFile(trained_filename);
    const Hdf5Handle data = Hdf5Handle::OpenGroup(file.id(), "data");
    for (int i = 0; i < hdf5_get_num_links(data.id()); ++i) {
      const string name = hdf5_get_name_by_idx(data.id(), i);
      const auto target = layer_names_index_.find(name);
      if (target == layer_names_index_.end()) {
        LOG(INFO) << "Ignoring source layer " << name;
        continue;
      }
      auto& blobs = layers_[target->second]->blobs();
      const Hdf5Handle layer = Hdf5Handle::OpenGroup(data.id(), name);
      const int stored = hdf5_get_num_links(layer.id());
      Require(stored <= static_cast<int>(blobs.size()), "Incompatible number of blobs for layer ",
              name, ": the weights have ", stored, ", the net's layer has ", blobs.size());
      for (size_t j = 0; j < blobs.size(); ++j) {
        const string dataset = std::to_string(j);
        if (!H5Lexists(layer.id(), dataset.c_str(), H5P_DEFAULT)) {
          Require(param_owners_[param_id_vecs_[target->second][j]] != -1,
                  "Incompatible number of blobs for layer ", name, ": blob ", j, " is missing");
          continue;
        }
        try {
          hdf5_load_nd_dataset(layer.id(), dataset.c_str(), 0, kMaxBlobAxes, blobs[j].get());
        } catch (Error& error) {
          error.AddContext(Join("layer '", name, "'"));
          throw;
        }
      }
    }
  } catch (Error& error) {
    error.AddContext(trained_filename);
    throw;
  }
  SettleParameters();
}

template <typename Dtype>
void Net<Dtype>::ToHDF5(const string& filename, bool write_diff) const {
  const string aside = filename + ".tmp";
  try {
    Hdf5Handle file = Hdf5Handle::CreateFile(aside);
    {
      const Hdf5Handle data = Hdf5Handle::CreateGroup(file.id(), "data");
      std::unique_ptr<Hdf5Handle> diff;
      if (write_diff) diff.reset(new Hdf5Handle(Hdf5Handle::CreateGroup(file.id(), "diff")));
      for (size_t i = 0; i < layers_.size(); ++i) {
        const Hdf5Handle layer_data = Hdf5Handle::CreateGroup(data.id(), layer_names_[i]);
        std::unique_ptr<Hdf5Handle> layer_diff;
        if (diff) {
          layer_diff.reset(new Hdf5Handle(Hdf5Handle::CreateGroup(diff->id(), layer_names_[i])));
        }
        for (size_t j = 0; j < layers_[i]->blobs().size(); ++j) {
          const int id = param_id_vecs_[i][j];
          if (param_owners_[id] == -1) {
            hdf5_save_nd_dataset(layer_data.id(), std::to_string(j), *params_[id]);
          }
          if (layer_diff) {
            hdf5_save_nd_dataset(layer_diff->id(), std::to_string(j), *params_[id], true);
          }
        }
      }
    }
    file.Close();
    Require(std::rename(aside.c_str(), filename.c_str()) == 0, "the file cannot be put in place");
  } catch (Error& error) {
    std::remove(aside.c_str());
    error.AddContext(filename);
    throw;
  }
}

#else

template <typename Dtype>
void Net<Dtype>::CopyTrainedLayersFromHDF5(const string& trained_filename) {
  Fail(trained_filename, ": this libcaffe was built without HDF5: build with USE_HDF5=ON");
}

template <typename Dtype>
void Net<Dtype>::ToHDF5(const string& filename, bool) const {
  Fail(filename, ": this libcaffe was built without HDF5: build with USE_HDF5=ON");
}

#endif  // USE_HDF5

template void Net<float>::CopyTrainedLayersFromHDF5(const string&);
template void Net<double>::CopyTrainedLayersFromHDF5(const string&);
template void Net<float>::ToHDF5(const string&, bool) const;
template void Net<double>::ToHDF5(const string&, bool) const;

}  // namespace caffe
