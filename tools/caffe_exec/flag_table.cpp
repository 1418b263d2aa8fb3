#include "flags.hpp"

namespace caffe::exec {
namespace {

constexpr Effect DONE = Effect::DONE, GPU = Effect::GPU, IGNORED = Effect::IGNORED,
                 REFUSED = Effect::REFUSED;

constexpr char kOnnx[] =
    "nets are read from prototxt and caffemodel: give --deploy=FILE --model=FILE";
constexpr char kUff[] = "UFF was TensorFlow's; give the Caffe net, --deploy=FILE --model=FILE";
constexpr char kDla[] = "there is no DLA in this program's reach; the CPU or --device computes";
constexpr char kSafe[] = "there are no safety-certified engines here";
constexpr char kRefit[] =
    "engines are not refitted: build again with --timingCacheFile, which chooses the same";
constexpr char kVersions[] = "a plan is good for the version that wrote it; keep the net";
constexpr char kRuntime[] = "there is one runtime, which runs and builds";
constexpr char kStreaming[] = "weights stay in memory as a whole";
constexpr char kFormats[] = "inputs and outputs are fp32:chw, whatever the layers between take";
constexpr char kTypes[] = "there are no kernels of this type: give --fp16, --bf16 or --int8";
constexpr char kOneRange[] =
    "one range is built, the largest of all that are given; caffe build -min_shape builds several";
constexpr char kOnnxParser[] = "it tells the parser of ONNX something";
constexpr char kTuning[] = "every candidate is timed";
constexpr char kCalibrationShapes[] = "calibration runs the net in the shapes of its prototxt";
constexpr char kDebug[] = "every blob that the optimizer left can be seen: --saveDebugTensors";

}  // namespace

const std::vector<FlagGroup>& FlagGroups() {
  static const std::vector<FlagGroup> groups = {
      {"Model Options",
       {{"deploy", "FILE", "", DONE, "the net (prototxt)"},
        {"model", "FILE", "", DONE,
         "trained weights (.caffemodel; several separated by ','); without it the fillers make "
         "them"},
        {"output", "NAME[,NAME]", "", DONE,
         "outputs to keep; may be given several times; without it the net's"},
        {"input", "NAME", "", IGNORED, "inputs are those of the prototxt"},
        {"onnx", "FILE", "", REFUSED, kOnnx},
        {"uff", "FILE", "", REFUSED, kUff},
        {"uffInput", "NAME,C,H,W", "", REFUSED, kUff},
        {"uffNHWC", "", "", REFUSED, kUff},
        {"engine", "FILE", "", REFUSED, "it is --saveEngine=FILE or --loadEngine=FILE"},
        {"ignore_unknown_fields", "", "", DONE,
         "(not trtexec's) warns of fields that the net should not have, and leaves them out"},
        {"limits", "LIST", "", DONE,
         "(not trtexec's) what files may ask for, as -limits of caffe: blob_bytes=2GiB,layers=500, "
         "or "
         "untrusted"}}},
      {"Build Options",
       {{"maxBatch", "N", "", DONE, "the largest batch of the engine; without it --batch"},
        {"minShapes", "SPEC", "", DONE,
         "the smallest shapes of inputs, NAME:NxCxHxW,NAME:...: the engine runs every shape from "
         "these to --maxShapes and is tuned for --optShapes"},
        {"optShapes", "SPEC", "", DONE, "the shapes that are run where --shapes does not say"},
        {"maxShapes", "SPEC", "", DONE,
         "the largest shapes of inputs, which the engine is built "
         "for; without it --optShapes or --shapes"},
        {"minShapesCalib", "SPEC", "", IGNORED, kCalibrationShapes},
        {"optShapesCalib", "SPEC", "", IGNORED, kCalibrationShapes},
        {"maxShapesCalib", "SPEC", "", IGNORED, kCalibrationShapes},
        {"calibProfile", "N", "", IGNORED, kCalibrationShapes},
        {"profile", "N", "", IGNORED, kOneRange},
        {"explicitBatch", "", "", IGNORED, "shapes that are given have a batch anyway"},
        {"explicitPrecision", "", "", IGNORED, "nets of Caffe have no quantization layers"},
        {"inputIOFormats", "SPEC", "", IGNORED, kFormats},
        {"outputIOFormats", "SPEC", "", IGNORED, kFormats},
        {"inputDataTypes", "SPEC", "", IGNORED, kFormats},
        {"outputDataTypes", "SPEC", "", IGNORED, kFormats},
        {"inputTensorFormats", "SPEC", "", IGNORED, kFormats},
        {"outputTensorFormats", "SPEC", "", IGNORED, kFormats},
        {"workspace", "MiB", "0", DONE, "scratch memory that a layer may take; 0: any"},
        {"memPoolSize", "POOL:SIZE[,POOL:SIZE]", "", DONE,
         "workspace:SIZE is scratch memory that a layer may take, in MiB or with B, K, M or G; "
         "pools of a DLA and tacticSharedMem are ignored"},
        {"profilingVerbosity", "MODE", "layer_names_only", DONE,
         "what --dumpLayerInfo and --exportLayerInfo say: layer_names_only, detailed or none"},
        {"nvtxMode", "MODE", "", DONE,
         "older name of --profilingVerbosity: default, verbose, none"},
        {"minTiming", "N", "1", DONE, "time each candidate N times at least"},
        {"avgTiming", "N", "5", DONE, "time each candidate N times; the least time counts"},
        {"fp16", "", "", DONE, "allow FP16 next to FP32: each layer gets what is fastest here"},
        {"bf16", "", "", DONE, "allow BF16, likewise"},
        {"int8", "", "", DONE, "allow INT8, likewise; see --calib"},
        {"best", "", "", DONE, "allow every type"},
        {"fp8", "", "", IGNORED, kTypes},
        {"int4", "", "", IGNORED, kTypes},
        {"noTF32", "", "", GPU,
         "FP32 does not round factors to TF32's 10 bits, as it does without this flag"},
        {"strictTypes", "", "", DONE,
         "take the allowed type of fewest bits wherever it can be, not the fastest one"},
        {"stronglyTyped", "", "", DONE, "layers have the types of the prototxt, and no others"},
        {"calib", "FILE", "", DONE,
         "for INT8: a TensorRT calibration cache, a table of caffe calibrate or an ncnn table; "
         "without it ranges are those of noise: the speed is right, the results are worthless"},
        {"precisionConstraints", "none|prefer|obey", "prefer", DONE,
         "what becomes of --layerPrecisions: none: they do not hold; prefer: a layer that cannot "
         "be "
         "computed so stays FP32 with a warning; obey: it is an error"},
        {"layerPrecisions", "NAME:TYPE[,NAME:TYPE]", "", DONE,
         "types of layers, fp32, fp16, bf16 or int8; later ones override earlier ones; * stands "
         "for all that are not named"},
        {"layerOutputTypes", "NAME:TYPE[,NAME:TYPE]", "", IGNORED,
         "a layer's output has the type that is fastest for its readers; --layerPrecisions says "
         "what it computes in"},
        {"layerDeviceTypes", "NAME:TYPE[,NAME:TYPE]", "", IGNORED, kDla},
        {"decomposableAttentions", "NAMES", "", IGNORED, "nets of Caffe have no attention"},
        {"directIO", "", "", IGNORED, kFormats},
        {"sparsity", "disable|enable|force", "disable", IGNORED, "there are no sparse kernels"},
        {"saveEngine", "FILE", "", DONE, "write the engine as a plan"},
        {"loadEngine", "FILE", "", DONE, "run this plan instead of building one"},
        {"asyncFileReader", "", "", IGNORED, "plans are mapped, not read"},
        {"getPlanVersionOnly", "", "", DONE, "with --loadEngine: say which version wrote the plan"},
        {"timingCacheFile", "FILE", "", DONE,
         "measured times, read and written: rebuilds are fast and choose the same"},
        {"timingCacheMode", "MODE", "", DONE,
         "(not trtexec's) global: --timingCacheFile is used; local and disable: it is not"},
        {"noBuilderCache", "", "", DONE, "--timingCacheFile is neither read nor written"},
        {"errorOnTimingCacheMiss", "", "", IGNORED, "what the cache lacks is timed"},
        {"noCompilationCache", "", "", IGNORED, "nothing is compiled at build time"},
        {"builderOptimizationLevel", "N", "3", DONE,
         "how often candidates are timed, 0 to 5: 0: not at all, 1 and 2: once, 3: as --avgTiming "
         "says, 4 and 5: two and four times as often"},
        {"heuristic", "", "", DONE, "as --builderOptimizationLevel=2"},
        {"maxTactics", "N", "", IGNORED, kTuning},
        {"tacticSources", "SPEC", "", IGNORED, kTuning},
        {"tilingOptimizationLevel", "N", "", IGNORED, kTuning},
        {"l2LimitForTiling", "N", "", IGNORED, kTuning},
        {"preview", "SPEC", "", IGNORED, "these features are TensorRT's"},
        {"distributiveIndependence", "", "", IGNORED, "kernels decide how they add up"},
        {"maxAuxStreams", "N", "", IGNORED, "layers run one after another, each on all threads"},
        {"refit", "", "", IGNORED, kRefit},
        {"stripWeights", "", "", IGNORED, "a plan holds its weights"},
        {"stripAllWeights", "", "", IGNORED, "a plan holds its weights"},
        {"weightless", "", "", IGNORED, "a plan holds its weights"},
        {"refitFromOnnx", "FILE", "", REFUSED, kOnnx},
        {"versionCompatible", "", "", IGNORED, kVersions},
        {"vc", "", "", IGNORED, kVersions},
        {"excludeLeanRuntime", "", "", IGNORED, kRuntime},
        {"useRuntime", "full|lean|dispatch", "full", IGNORED, kRuntime},
        {"leanDLLPath", "FILE", "", IGNORED, kRuntime},
        {"runtimePlatform", "PLATFORM", "", IGNORED, "a plan is good for machines like this one"},
        {"hardwareCompatibilityLevel", "MODE", "", IGNORED,
         "a plan is good for machines like this one"},
        {"tempdir", "DIR", "", IGNORED, "there are no temporary files"},
        {"tempfileControls", "SPEC", "", IGNORED, "there are no temporary files"},
        {"pluginInstanceNorm", "", "", IGNORED, kOnnxParser},
        {"pi", "", "", IGNORED, kOnnxParser},
        {"enablePluginOverride", "", "", IGNORED, kOnnxParser},
        {"uint8AsymmetricQuantizationDLA", "", "", IGNORED, kDla},
        {"reportCapabilityDLA", "", "", IGNORED, kDla},
        {"adjustForDLA", "", "", IGNORED, kDla},
        {"buildDLAStandalone", "", "", IGNORED, kDla},
        {"allowGPUFallback", "", "", IGNORED, kDla},
        {"safe", "", "", IGNORED, kSafe},
        {"consistency", "", "", IGNORED, kSafe},
        {"restricted", "", "", IGNORED, kSafe},
        {"dumpKernelText", "", "", IGNORED, kSafe},
        {"remoteAutoTuningConfig", "URL", "", IGNORED, "candidates are timed where this runs"},
        {"cpuOnly", "", "", IGNORED, "without --device the engine is for the CPU"},
        {"monitorMemory", "", "", IGNORED, "--verbose says what the engine takes"},
        {"allowWeightStreaming", "", "", IGNORED, kStreaming},
        {"markDebug", "NAMES", "", IGNORED, kDebug},
        {"markUnfusedTensorsAsDebugTensors", "", "", IGNORED, kDebug},
        {"skipInference", "", "", DONE, "end when the engine is built or loaded"},
        {"buildOnly", "", "", DONE, "older name of --skipInference"}}},
      {"Inference Options",
       {{"batch", "N", "", DONE,
         "items a run; without it 1, of a plan its largest batch. Throughput counts items"},
        {"shapes", "SPEC", "", DONE,
         "shapes that are run, NAME:NxCxHxW,NAME:...; one * in a name stands for anything. "
         "Throughput counts runs then"},
        {"loadInputs", "NAME:FILE[,NAME:FILE]", "", DONE,
         "inputs from files of FP32 values without a header; without it they are noise"},
        {"iterations", "N", "10", DONE, "run at least N times on each stream"},
        {"warmUp", "MS", "200", DONE, "milliseconds of running before the clock starts"},
        {"duration", "S", "3", DONE, "run for S seconds at least; -1: until Ctrl-C"},
        {"sleepTime", "MS", "0", DONE, "wait so long before the first run"},
        {"idleTime", "MS", "0", DONE, "wait so long between two runs of a stream"},
        {"infStreams", "N", "1", DONE, "contexts of the engine that run at the same time"},
        {"streams", "N", "1", DONE, "older name of --infStreams"},
        {"cpuThreads", "N", "", DONE,
         "(not trtexec's) threads that share a loop of a run on the CPU, and of the build; without "
         "it OMP_NUM_THREADS, else the processors that the process may use"},
        {"threads", "", "", DONE, "a thread for each stream gives it work; else one does for all"},
        {"exposeDMA", "", "", IGNORED, "copies never run at the same time as what is timed"},
        {"noDataTransfers", "", "", GPU, "timed runs copy no inputs and outputs"},
        {"includeDataTransfers", "", "", GPU,
         "timed runs copy inputs and outputs, as they do "
         "without this flag"},
        {"useManagedMemory", "", "", IGNORED, "the host's memory is pinned, and copied"},
        {"useSpinWait", "", "", IGNORED, "the driver decides how it waits"},
        {"noSpinWait", "", "", IGNORED, "the driver decides how it waits"},
        {"useCudaGraph", "", "", GPU,
         "runs are one CUDA graph, as they are without this flag "
         "wherever the net allows it"},
        {"noCudaGraph", "", "", IGNORED, "runs are one CUDA graph wherever the net allows it"},
        {"timeDeserialize", "", "", DONE, "time how long loading the plan takes, and end"},
        {"timeRefit", "", "", IGNORED, kRefit},
        {"separateProfileRun", "", "", DONE,
         "layers are timed in runs of their own, which costs the others nothing"},
        {"persistentCacheRatio", "R", "", IGNORED, "the GPU's cache is left to the driver"},
        {"useProfile", "N", "0", DONE,
         "run the Nth of several --optShapes; with --loadEngine, the Nth profile of the plan"},
        {"allocationStrategy", "static|profile|runtime", "static", IGNORED,
         "memory is planned for the largest shapes"},
        {"saveDebugTensors", "NAME:FILE[,NAME:FILE]", "", DONE,
         "write blobs inside the net to files of FP32 values"},
        {"saveAllDebugTensors", "FORMATS", "", IGNORED, kDebug},
        {"weightStreamingBudget", "BYTES", "", IGNORED, kStreaming}}},
      {"Reporting Options",
       {{"verbose", "", "", DONE,
         "say more: what could compute each layer and why the rest could not, what it became, the "
         "net's log, remarks"},
        {"avgRuns", "N", "10", DONE, "report means of N runs one after another"},
        {"percentile", "P[,P]", "90,95,99", DONE,
         "the times that P percent of the runs do not exceed"},
        {"dumpRefit", "", "", IGNORED, kRefit},
        {"dumpOutput", "", "", DONE, "print the outputs of the last run"},
        {"dumpRawBindingsToFile", "", "", DONE,
         "write inputs and outputs of the last run to files NAME.input.1.3.8.8.fp32.raw"},
        {"dumpProfile", "", "", DONE, "print the time of each layer"},
        {"dumpLayerTime", "", "", DONE, "older name of --dumpProfile"},
        {"dumpLayerInfo", "", "", DONE, "print the layers; see --profilingVerbosity"},
        {"dumpOptimizationProfile", "", "", DONE,
         "print the shapes that the engine is built for: the smallest, the usual and the largest "
         "of each "
         "profile"},
        {"exportTimes", "FILE", "", DONE, "write when each run did what, as JSON"},
        {"exportOutput", "FILE", "", DONE, "write the outputs of the last run, as JSON"},
        {"exportProfile", "FILE", "", DONE, "write the time of each layer, as JSON"},
        {"exportLayerInfo", "FILE", "", DONE, "write the layers, as JSON"}}},
      {"System Options",
       {{"device", "N", "", DONE,
         "build for this GPU, or run a plan of it; without it for the CPU, and a plan of a GPU "
         "runs "
         "on the first one"},
        {"gpu_fallback", "", "", DONE,
         "(not trtexec's) build for the CPU where --device is given and no GPU can be used"},
        {"useDLACore", "N", "", IGNORED, kDla},
        {"plugins", "FILE", "", DONE,
         "load a shared library with custom layers; may be given several times"},
        {"staticPlugins", "FILE", "", DONE, "the same"},
        {"dynamicPlugins", "FILE", "", DONE, "the same"},
        {"setPluginsToSerialize", "FILE", "", IGNORED,
         "plans hold no code: give --plugins with --loadEngine too"},
        {"ignoreParsedPluginLibs", "", "", IGNORED, "plans hold no code"},
        {"safetyPlugins", "FILE", "", IGNORED, kSafe}}},
      {"Help",
       {{"help", "", "", DONE, "print this (-h too)"},
        {"version", "", "", DONE, "(not trtexec's) print the version"}}}};
  return groups;
}

}  // namespace caffe::exec
