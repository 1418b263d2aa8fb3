"""Headers are included downwards: each room of the library names the rooms that it builds on.

A room is a folder of ``src/caffe``. A public header belongs to the room of its folder, or of the source
that defines what it declares, or to the core.
"""
import re

import pytest
from documents import ROOT

if not (ROOT / "src").exists():
    pytest.skip("needs the source tree", allow_module_level=True)

SOURCES = ROOT / "src" / "caffe"
HEADERS = ROOT / "include" / "caffe"
SUFFIXES = {".cpp", ".hpp", ".cu", ".inc"}

#: Types of numbers, and errors, which every room may include.
BASICS = {"caffe/element_type.hpp", "caffe/error.hpp", "caffe/float16.hpp",
          "caffe/multiplier.hpp", "caffe/types.hpp"}

#: What rooms above the core build on.
BASE = {"kernels", "kernels/cuda", "core", "util", "proto", "device", "cuda"}

#: The rooms whose headers a room may include, next to its own.
MAY_INCLUDE = {
    "kernels": set(),
    "kernels/cuda": {"kernels", "device", "cuda"},
    "proto": set(),
    "openmp_settings": set(),
    "onednn": {"kernels", "core"},
    "core": {"kernels", "util", "proto", "device"},
    "util": {"kernels", "kernels/cuda", "core", "proto", "device", "cuda"},
    "device": {"core"},
    "cuda": {"kernels", "kernels/cuda", "core", "util", "device"},
    "io": {"core", "util", "proto"},
    "data": BASE | {"io"},
    "algorithms": BASE | {"onednn"},
    "layers": BASE | {"io", "data", "onednn", "algorithms"},
    "net": BASE | {"io", "layers"},
    "fp16": BASE | {"io", "layers", "net"},
    "parallel": BASE | {"io", "data", "layers", "net", "solver"},
    "solver": BASE | {"io", "data", "layers", "net", "parallel"},
    "inference": BASE | {"io", "data", "layers", "net", "fp16", "onednn", "algorithms"},
}

#: Public headers that only bring others, under Caffe's names.
UMBRELLAS = {"caffe.hpp", "common_layers.hpp", "data_layers.hpp", "loss_layers.hpp", "neuron_layers.hpp",
             "vision_layers.hpp", "nvcaffe.hpp", "util/io.hpp", "test/test_gradient_check_util.hpp"}

#: Includes that go upwards all the same. The list may only become shorter.
EXCEPTIONS = {
    ("include/caffe/layers/recurrent_layer.hpp", "caffe/net.hpp"),
    ("include/caffe/util/input_batches.hpp", "caffe/inference/image_preprocessing.hpp"),
    ("include/caffe/util/input_batches.hpp", "caffe/net.hpp"),
    ("src/caffe/core/engine.cpp", "caffe/onednn/onednn.hpp"),
    ("src/caffe/cuda/device_gradient_reducer.cpp", "caffe/parallel/gradient_reducer.hpp"),
    ("src/caffe/cuda/gradients_on_device.cpp", "caffe/parallel/gradients_on_device.hpp"),
    ("src/caffe/cuda/parallel.cpp", "caffe/parallel.hpp"),
    ("src/caffe/cuda/parallel.cpp", "caffe/parallel/ranks_in_threads.hpp"),
    ("src/caffe/cuda/parallel.cpp", "caffe/ranks.hpp"),
    ("src/caffe/cuda/parallel.cpp", "caffe/data/rank_settings.hpp"),
    ("src/caffe/data/image_input.hpp", "caffe/inference/image_preprocessing.hpp"),
    ("src/caffe/data/image_input.hpp", "caffe/net.hpp"),
    ("src/caffe/device/device.cpp", "caffe/cuda/borrowed_stream.hpp"),
    ("src/caffe/layers/elementwise/fake_quantization_layer.cpp", "caffe/net/integer_grids.hpp"),
    ("src/caffe/net/integer_pass.hpp", "caffe/inference/engine.hpp"),
    ("src/caffe/net/integer_pass.hpp", "caffe/inference/quantize/trained_part.hpp"),
    ("src/caffe/net/quantized_training.hpp", "caffe/inference/quantize/training_positions.hpp"),
    ("src/caffe/util/detection/annotations.cpp", "caffe/util/image.hpp"),
    ("src/caffe/util/detection/detection_results.cpp", "caffe/io/atomic_file.hpp"),
}

#: Folders of the inference, the lowest first: none includes what comes after it.
INFERENCE = ("graph", "passes", "quantize", "backends")
#: What does all the same: ranges of a trained net are read with it; lowering is the last of the passes.
INFERENCE_EXCEPTIONS = {
    ("graph/network_definition.cpp", "quantize/training_ranges.hpp"),
    ("graph/parse_caffe.cpp", "quantize/training_ranges.hpp"),
    ("passes/lowering_passes.cpp", "backends/lowering.hpp"),
    ("passes/lowering_passes.cpp", "backends/operand_places.hpp"),
    ("passes/lowering_passes.cpp", "backends/joined_layers.hpp"),
    ("passes/lowering_passes.cpp", "quantize/blob_intervals.hpp"),
    ("passes/lowering_passes.cpp", "quantize/equalization.hpp"),
    ("passes/lowering_passes.cpp", "quantize/fused_sums.hpp"),
    ("passes/lowering_passes.cpp", "quantize/integers.hpp"),
    ("passes/lowering_passes.cpp", "quantize/value_ranges.hpp"),
}


def included(path):
    """The headers of this library that a file includes, as they stand there."""
    return re.findall(r'^#include "(caffe/[^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)


def room_of_source(path):
    parts = path.relative_to(SOURCES).parts
    return "kernels/cuda" if parts[:2] == ("kernels", "cuda") else parts[0]


def sources():
    return [path for path in sorted(SOURCES.rglob("*"))
            if path.suffix in SUFFIXES and path.parent != SOURCES and room_of_source(path) != "test"]


def rooms_by_stem():
    """The room of the source of each name. Headers of the inference lie in a folder of their own."""
    return {path.stem: room_of_source(path) for path in sources()
            if path.suffix == ".cpp" and room_of_source(path) != "inference"}


def room_of(header, by_stem):
    """The room of a header as it is included."""
    path = header[len("caffe/"):]
    if (SOURCES / path).exists():
        return room_of_source(SOURCES / path)
    if path.startswith("kernels/cuda/"):
        return "kernels/cuda"
    folder = path.split("/")[0]
    if folder in MAY_INCLUDE and folder != "util":
        return folder
    if path == "sgd_solvers.hpp":
        return "solver"
    return by_stem.get(path.split("/")[-1].rsplit(".", 1)[0], "core")


def upward_includes():
    by_stem = rooms_by_stem()
    rooms = {path: room_of_source(path) for path in sources()}
    for path in HEADERS.rglob("*.hpp"):
        name = path.relative_to(HEADERS).as_posix()
        if name not in UMBRELLAS:
            rooms[path] = room_of("caffe/" + name, by_stem)
    found = set()
    for path, room in rooms.items():
        for header in set(included(path)) - BASICS:
            to = room_of(header, by_stem)
            if to != room and to not in MAY_INCLUDE[room]:
                found.add((path.relative_to(ROOT).as_posix(), header))
    return found


def test_every_room_has_its_directions():
    assert {room_of_source(path) for path in sources()} | {"proto"} == set(MAY_INCLUDE)


def test_includes_go_downwards():
    new = upward_includes() - EXCEPTIONS
    assert not new, "includes that go upwards: move what is needed to a lower room\n" + "\n".join(
        f"{path}: {header}" for path, header in sorted(new))


def test_exceptions_are_still_needed():
    assert not EXCEPTIONS - upward_includes(), "take these out of EXCEPTIONS"


def test_the_inference_goes_from_graphs_to_backends():
    inference = SOURCES / "inference"
    found = set()
    for number, folder in enumerate(INFERENCE):
        later = tuple(f"caffe/inference/{name}/" for name in INFERENCE[number + 1:])
        found |= {(path.relative_to(inference).as_posix(), header[len("caffe/inference/"):])
                  for path in (inference / folder).rglob("*") if path.suffix in SUFFIXES
                  for header in included(path) if header.startswith(later)}
    assert found == INFERENCE_EXCEPTIONS


def test_the_library_does_not_include_tools():
    for path in sources():
        assert not re.search(r'#include "[^"]*tools/', path.read_text(encoding="utf-8")), path
