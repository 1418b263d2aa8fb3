// A program that includes one header and takes from it what Caffe's brought along: Boost's
// lexical_cast, clocks and file system, functions, smart pointers, and much of the standard
// library.
#include "caffe/caffe.hpp"

using boost::shared_ptr;
using std::cout;
using std::endl;
using std::string;
using std::vector;

int main(int argc, char** argv) {
  ::google::InitGoogleLogging(argv[0]);
  CHECK_EQ(argc, 2) << "usage: transitive_includes net.prototxt";
  const boost::posix_time::ptime start = boost::posix_time::microsec_clock::local_time();

  CHECK(boost::filesystem::exists(argv[1]));
  CHECK_EQ(boost::filesystem::path(argv[1]).extension().string(), ".prototxt");
  const int phase = boost::lexical_cast<int>(boost::lexical_cast<string>(caffe::TEST));
  boost::scoped_ptr<caffe::Net<float> > net(
      new caffe::Net<float>(argv[1], static_cast<caffe::Phase>(phase)));
  net->Forward();
  const boost::function<float(float)> root = [](float x) { return std::sqrt(x); };
  CHECK_EQ(root(4), 2);
  CHECK(!std::isnan(net->output_blobs()[0]->asum_data()));

  std::map<string, int> layers;
  std::set<string> names;
  std::ostringstream stream;
  for (int i = 0; i < net->layers().size(); ++i) {
    ++layers[net->layers()[i]->type()];
    names.insert(net->layer_names()[i]);
    stream << std::setw(12) << net->layer_names()[i];
  }
  CHECK_EQ(names.size(), net->layers().size());
  CHECK_EQ(stream.str().size(), 12 * names.size());
  std::sort(const_cast<char*>(argv[1]), const_cast<char*>(argv[1]));
  CHECK_LE(layers.size(), INT_MAX);

  const boost::posix_time::time_duration took =
      boost::posix_time::microsec_clock::local_time() - start;
  CHECK_GE(took.total_microseconds(), 0);
  const shared_ptr<caffe::CPUTimer> timer(new caffe::CPUTimer);
  timer->Start();
  CHECK_GE(timer->MilliSeconds(), 0);
  cout << "took " << took.total_milliseconds() << " ms" << endl;
  return 0;
}
