#ifndef CAFFE_SOLVER_FACTORY_HPP_
#define CAFFE_SOLVER_FACTORY_HPP_

#include <map>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

template <typename Dtype>
class Solver;

/// Solver types by name; see LayerRegistry for how to add one.
template <typename Dtype>
class SolverRegistry {
 public:
  typedef Solver<Dtype>* (*Creator)(const SolverParameter&);
  typedef std::map<string, Creator> CreatorRegistry;

  static CreatorRegistry& Registry();
  static void AddCreator(const string& type, Creator creator);
  /// Throws Error for an unknown type, listing the known ones.
  static Solver<Dtype>* CreateSolver(const SolverParameter& param);
  /// The same; errors in the solver's own fields name the file that they were read from.
  static Solver<Dtype>* CreateSolver(const SolverParameter& param, const string& param_file);
  static vector<string> SolverTypeList();

 private:
  SolverRegistry() {}
};

/// The name of CreateSolver in Caffe before 2016.
template <typename Dtype>
Solver<Dtype>* GetSolver(const SolverParameter& param) {
  return SolverRegistry<Dtype>::CreateSolver(param);
}

template <typename Dtype>
class SolverRegisterer {
 public:
  SolverRegisterer(const string& type, Solver<Dtype>* (*creator)(const SolverParameter&)) {
    SolverRegistry<Dtype>::AddCreator(type, creator);
  }
};

#define REGISTER_SOLVER_CREATOR(type, creator)                              \
  static SolverRegisterer<float> g_creator_f_##type(#type, creator<float>); \
  static SolverRegisterer<double> g_creator_d_##type(#type, creator<double>)

#define REGISTER_SOLVER_CLASS(type)                                     \
  template <typename Dtype>                                             \
  Solver<Dtype>* Creator_##type##Solver(const SolverParameter& param) { \
    return new type##Solver<Dtype>(param);                              \
  }                                                                     \
  REGISTER_SOLVER_CREATOR(type, Creator_##type##Solver)

}  // namespace caffe

#endif  // CAFFE_SOLVER_FACTORY_HPP_
