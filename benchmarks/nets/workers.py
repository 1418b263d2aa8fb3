"""Times a net in another framework: a process that answers each line with a number of
iterations on standard input by as many times in milliseconds on one line, as net_benchmark does.

    workers.py opencv DEPLOY CAFFEMODEL REFERENCE SHAPE THREADS [PRECISION TOLERANCE]
    workers.py openvino MODEL REFERENCE SHAPE THREADS [PRECISION TOLERANCE]
    workers.py onnxruntime MODEL REFERENCE SHAPE THREADS [PRECISION TOLERANCE]
    workers.py ncnn PREFIX REFERENCE SHAPE THREADS [PRECISION TOLERANCE]
    workers.py pytorch NET SHAPE THREADS forward|train [channels_last] [bfloat16]

SHAPE is the input's: 8,3,224,224. REFERENCE is a path to which net_benchmark wrote the images and
its output; a program whose output differs by more than TOLERANCE of its largest value is not timed.
PRECISION is fp32, fp16, bf16 or int8; for int8 onnxruntime, OpenVINO and ncnn read models that were
written so, OpenCV quantizes on the images of REFERENCE.

    workers.py write-onnx DEPLOY CAFFEMODEL SHAPE MODEL
    workers.py write-int8-onnx MODEL REFERENCE SHAPE INT8_MODEL
    workers.py write-ncnn DEPLOY CAFFEMODEL PREFIX [CALIBRATION_TABLE]

write the files that the programs read; INT8 by the largest magnitudes on the images of REFERENCE,
or by the thresholds of a table of `caffe calibrate`.
"""
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LARGEST_DIFFERENCE = 1e-3  # of the largest value


def serve(step):
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            times.append("%.4f" % ((time.perf_counter() - start) * 1000))
        print(" ".join(times), flush=True)


def extents(shape):
    return tuple(int(word) for word in shape.split(","))


def read_numbers(path, shape):
    import numpy

    return numpy.fromfile(path, numpy.float32).reshape(shape)


def require_same(outputs, reference, tolerance=LARGEST_DIFFERENCE):
    """Ends the program unless it computes what Cortado does. Detections are compared by their
    scores: programs order them differently, and some leave the image's number out."""
    import numpy

    expected = read_numbers(reference + ".output", -1)
    actual = numpy.asarray(outputs, numpy.float32)
    if actual.shape[-1] in (6, 7) and expected.size % 7 == 0:
        expected = numpy.sort(expected.reshape(-1, 7)[:, 2])[::-1]
        actual = numpy.sort(actual.reshape(-1, actual.shape[-1])[:, actual.shape[-1] - 5])[::-1]
        if abs(actual.size - expected.size) > max(0.02, float(tolerance)) * expected.size:
            sys.exit("finds %d boxes, Cortado %d" % (actual.size, expected.size))
        kept = min(actual.size, expected.size)
        expected, actual = expected[:kept], actual[:kept]
    if actual.size != expected.size:
        sys.exit("gives %d numbers, Cortado %d" % (actual.size, expected.size))
    difference = numpy.abs(actual.reshape(-1) - expected).max() / numpy.abs(expected).max()
    if not difference <= float(tolerance):
        sys.exit("its output differs from Cortado's by %g of the largest value" % difference)


def opencv(deploy, caffemodel, reference, shape, threads, precision="fp32",
           tolerance=LARGEST_DIFFERENCE):
    import cv2

    cv2.setNumThreads(int(threads))
    net = cv2.dnn.readNetFromCaffe(deploy, caffemodel)
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    images = read_numbers(reference + ".input", extents(shape))
    if precision == "int8":
        net = net.quantize(images, cv2.CV_32F, cv2.CV_32F)

    def step():
        net.setInput(images)
        return net.forward()

    require_same(step(), reference, tolerance)
    serve(step)


def openvino(model, reference, shape, threads, precision="fp32", tolerance=LARGEST_DIFFERENCE):
    import openvino as library

    core = library.Core()
    offered = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if precision != "int8" and precision.upper() not in offered:
        sys.exit("has no %s on this processor, only %s" % (precision, ", ".join(offered)))
    hint = {"fp16": library.Type.f16, "bf16": library.Type.bf16}.get(precision, library.Type.f32)
    request = core.compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": int(threads), "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": hint}).create_infer_request()
    images = read_numbers(reference + ".input", extents(shape))

    def step():
        request.infer({0: images}, share_inputs=True)
        return request.get_output_tensor(0).data

    require_same(step(), reference, tolerance)
    serve(step)


def onnxruntime(model, reference, shape, threads, _precision="fp32",
                tolerance=LARGEST_DIFFERENCE):
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    images = {session.get_inputs()[0].name: read_numbers(reference + ".input", extents(shape))}

    def step():
        return session.run(None, images)[0]

    require_same(step(), reference, tolerance)
    serve(step)


def ncnn(prefix, reference, shape, threads, precision="fp32", tolerance=LARGEST_DIFFERENCE):
    """Takes one image after the other."""
    import ncnn as library
    import numpy

    net = library.Net()
    net.opt.num_threads = int(threads)
    net.opt.use_vulkan_compute = False
    for half in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic"):
        setattr(net.opt, half, precision == "fp16")
    net.opt.use_bf16_storage = precision == "bf16"
    if net.load_param(prefix + ".param") or net.load_model(prefix + ".bin"):
        sys.exit("cannot read " + prefix)
    images = [library.Mat(image).clone()
              for image in read_numbers(reference + ".input", extents(shape))]

    def step():
        outputs = []
        for image in images:
            extractor = net.create_extractor()
            extractor.input("data", image)
            outputs.append(extractor.extract("output")[1])
        return outputs

    outputs = [numpy.array(output) for output in step()]
    require_same(numpy.concatenate([output.reshape(-1, output.shape[-1]) for output in outputs]),
                 reference, tolerance)
    serve(step)


def write_onnx(deploy, caffemodel, shape, model):
    sys.path.insert(0, os.path.join(ROOT, "python"))
    from caffe.onnx import Options, export
    from caffe.onnx.writing import write

    write(export(deploy, caffemodel, Options(batch=extents(shape)[0])).model, model)


def write_int8_onnx(model, reference, shape, int8_model):
    """Quantizes as onnxruntime advises for processors: symmetric weights by output channels,
    QuantizeLinear and DequantizeLinear around each layer, which OpenVINO reads as well."""
    import logging
    import tempfile

    import onnxruntime.quantization as quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Images(quantization.CalibrationDataReader):
        """The images of REFERENCE, once."""

        def __init__(self, name):
            self._left = [{name: read_numbers(reference + ".input", extents(shape))}]

        def get_next(self):
            return self._left.pop() if self._left else None

    import onnx

    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        prepared = os.path.join(folder, "prepared.onnx")
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        quantization.quantize_static(
            prepared, int8_model, Images(onnx.load(model).graph.input[0].name),
            quant_format=quantization.QuantFormat.QDQ, per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            op_types_to_quantize=["Conv", "Gemm", "MatMul", "Add", "Relu", "Clip", "MaxPool",
                                  "AveragePool", "GlobalAveragePool", "Concat"])


def write_ncnn(deploy, caffemodel, prefix, table=""):
    import ncnn_model

    ncnn_model.write_ncnn(deploy, caffemodel, prefix, table)


def lenet(nn):
    return nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))


def cifar10_quick(nn):
    # Caffe rounds the size after pooling up.
    def pool(kind):
        return kind(3, stride=2, ceil_mode=True)

    return nn.Sequential(
        nn.Conv2d(3, 32, 5, padding=2), pool(nn.MaxPool2d), nn.ReLU(),
        nn.Conv2d(32, 32, 5, padding=2), nn.ReLU(), pool(nn.AvgPool2d),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), pool(nn.AvgPool2d), nn.Flatten(),
        nn.Linear(1024, 64), nn.Linear(64, 10))


def bvlc_alexnet(nn):
    def lrn():
        return nn.LocalResponseNorm(5, 1e-4, 0.75)

    return nn.Sequential(
        nn.Conv2d(3, 96, 11, stride=4), nn.ReLU(True), lrn(), nn.MaxPool2d(3, 2),
        nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(True), lrn(), nn.MaxPool2d(3, 2),
        nn.Conv2d(256, 384, 3, padding=1), nn.ReLU(True),
        nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU(True),
        nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(True), nn.MaxPool2d(3, 2),
        nn.Flatten(), nn.Linear(9216, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096),
        nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 1000))


def resnet18(nn):
    def conv(inputs, outputs, kernel, stride=1):
        return [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
                nn.BatchNorm2d(outputs)]

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.main = nn.Sequential(*conv(inputs, outputs, 3, stride), nn.ReLU(True),
                                      *conv(outputs, outputs, 3))
            self.shortcut = nn.Sequential(
                *(conv(inputs, outputs, 1, stride) if stride > 1 else []))
            self.relu = nn.ReLU(True)

        def forward(self, x):
            return self.relu(self.main(x) + self.shortcut(x))

    layers = conv(3, 64, 7, 2) + [nn.ReLU(True), nn.MaxPool2d(3, 2, ceil_mode=True)]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def pytorch(name, shape, threads, mode, *ways):
    import torch

    torch.set_num_threads(int(threads))
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    net = {"lenet": lenet, "cifar10_quick": cifar10_quick, "bvlc_alexnet": bvlc_alexnet,
           "resnet18": resnet18}[name](torch.nn)
    images = torch.rand(extents(shape))
    if "channels_last" in ways:
        net = net.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    precision = torch.autocast("cpu", torch.bfloat16, enabled="bfloat16" in ways)

    if mode == "forward":
        net.eval()

        @torch.no_grad()
        def step():
            with precision:
                torch.softmax(net(images), 1)
    else:
        labels = torch.randint(10, (images.shape[0],))
        loss_of = torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9, weight_decay=0.0005)

        def step():
            optimizer.zero_grad()
            with precision:
                loss = loss_of(net(images), labels)
            loss.backward()
            optimizer.step()

    serve(step)


if __name__ == "__main__":
    {"opencv": opencv, "openvino": openvino, "onnxruntime": onnxruntime, "ncnn": ncnn,
     "pytorch": pytorch, "write-onnx": write_onnx, "write-int8-onnx": write_int8_onnx,
     "write-ncnn": write_ncnn}[sys.argv[1]](*sys.argv[2:])
