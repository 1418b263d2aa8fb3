"""genDefaultModel.py and upgrade_net_fp16 on small nets: the same files and the same words.

Needs numpy, protobuf and the program in C++; the compiled package only where a test says so.
"""
import subprocess

import numpy as np
import pytest
from test_gen_default_model import BLOBS, NET, TOOL, migrate, read_model, run_in, write_model
from test_gen_default_model import files as folder  # noqa: F401

from precision_migration import comparison, conversion, migration
from precision_migration.conversion import FLOAT
from precision_migration.prototxt import load_schema

needs_tool = pytest.mark.skipif(not TOOL.exists(), reason="upgrade_net_fp16 is not built; "
                                "CAFFE_BUILD may name the build folder")
NVCAFFE = ("--to", "fp32", "--batch_norm", "nvcaffe")
BVLC = ("--to", "fp32", "--batch_norm", "bvlc")


def by_tool(folder, *flags, output="half.caffemodel", expect=0):
    """As migrate(), by the program in C++."""
    return run_in(folder, [str(TOOL)], output, flags, expect)


def agreed(folder, *flags):
    """Runs both, compares everything, and returns the new prototxt as parsed and the words."""
    words, files = [], []
    for run in (by_tool, migrate):
        words.append(run(folder, *flags, "--skip_check").replace(" -skip", " --skip"))
        files.append([(folder / name).read_bytes() for name in ("half.caffemodel",
                                                                "half.prototxt")])
    assert words[0] == words[1]
    assert files[0] == files[1]
    from google.protobuf import text_format
    net = text_format.Parse(files[1][1].decode(), load_schema().NetParameter())
    return {layer.name: layer for layer in net.layer}, words[1]


def with_params(norm, scale):
    text = NET.replace('top: "fc" }', f'top: "fc" {norm} }}')
    return text.replace("scale_param", f"{scale} scale_param")


@needs_tool
@pytest.mark.parametrize("norm, scale, added", [
    ("", "param { lr_mult: 0 } param { name: \"be\" }", [0, 1]),
    ("param {} param { name: \"v\" }", "param { lr_mult: 0 # why\n }\n  param { lr_mult: 5 },",
     [0, 5]),
    ("batch_norm_param { eps: 1 }\n", "param { lr_mult: 3 }", [3]),
])
def test_params_of_a_scale_layer_go_with_its_blobs(folder, norm, scale, added):
    (folder / "net.prototxt").write_text(with_params(norm, scale))
    layers, _ = agreed(folder, *NVCAFFE)
    assert [param.lr_mult for param in layers["bn"].param][3:] == added
    for name in ("net.prototxt", "net.caffemodel"):
        (folder / name).write_bytes((folder / name.replace("net", "half")).read_bytes())
    layers, _ = agreed(folder, *BVLC)
    assert len(layers["bn"].param) == 3
    assert [param.lr_mult for param in layers["bn_scale"].param] == added


@needs_tool
@pytest.mark.parametrize("scale", ["param {}", ""])
def test_fourth_param_of_a_layer_of_three_blobs(folder, scale):
    (folder / "net.prototxt").write_text(with_params("param {} " * 4, scale))
    layers, words = agreed(folder, *NVCAFFE)
    assert ("scale" in layers) == bool(scale)
    assert ("note: layers 'bn' and 'scale' stay two: both have a param" in words) == bool(scale)


SHARED = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 } } }
layer { name: "fc" type: "InnerProduct" bottom: "data" top: "fc" inner_product_param { num_output: 2 } }
layer { name: "flat" type: "Flatten" bottom: "fc" top: "flat" }
layer { name: "bn" type: "BatchNorm" bottom: "flat" top: "flat" }
layer { name: "scale" type: "Scale" bottom: "flat" top: "SCALED" scale_param { bias_term: true } }
"""
OTHER = 'layer { name: "y" type: "AbsVal" bottom: "fc" top: "y" }\n'


@needs_tool
@pytest.mark.parametrize("text, seen", [
    (SHARED.replace("SCALED", "flat") + OTHER, "fc"),
    (SHARED.replace("SCALED", "s") + OTHER, "fc"),
    (SHARED.replace("SCALED", "flat").replace('top: "flat" }\nlayer { name: "bn"',
                                              'top: "flat" }\n' + OTHER + 'layer { name: "bn"'), ""),
    (SHARED.replace("SCALED", "s"), ""),
    (SHARED.replace("SCALED", "s").replace('"Flatten" bottom: "fc"', '"Split" bottom: "fc" top: "other"'),
     "other"),
    (SHARED.replace('bottom: "flat" top: "flat"', 'bottom: "flat" top: "bn"')
     .replace('bottom: "flat" top: "SCALED"', 'bottom: "bn" top: "bn"') + OTHER, "")])
def test_layers_whose_change_is_seen_by_another_name_stay_two(folder, text, seen):
    """What works in place changes all blobs of that memory: one layer would change them once."""
    (folder / "net.prototxt").write_text(text)
    layers, words = agreed(folder, *NVCAFFE)
    assert ("scale" in layers) == bool(seen)
    note = f"layers 'bn' and 'scale' stay two: blob '{seen}' shows what 'bn' changes in place"
    assert (note in words) == bool(seen)


@needs_tool
def test_names_with_quotes_and_backslashes(folder):
    name = 'f"c\\n\n'
    written = '"f\\"c\\\\n\\n"'
    text = NET.replace('name: "bn"', f"name: {written}").replace('top: "fc" scale_param',
                                                                 f"top: {written} scale_param")
    (folder / "net.prototxt").write_text(text)
    write_model(folder / "net.caffemodel", {"fc": BLOBS["fc"], name: BLOBS["bn"],
                                            "scale": BLOBS["scale"]})
    layers, _ = agreed(folder, *NVCAFFE)
    assert layers[name].top == [name]
    for file in ("net.prototxt", "net.caffemodel"):
        (folder / file).write_bytes((folder / file.replace("net", "half")).read_bytes())
    layers, _ = agreed(folder, *BVLC)
    assert layers[name + "_scale"].top == [name]


@needs_tool
@pytest.mark.parametrize("factor, mean", [(2, [1, 2]), (0, [2, 4])])
def test_five_blobs_are_divided_by_the_third_unless_it_is_0(folder, factor, mean):
    write_model(folder / "net.caffemodel",
                {"fc": BLOBS["fc"], "bn": [[2, 4], [6, 8], [factor], [0.5, 1], [2, 3]]})
    agreed(folder, *BVLC)
    blobs = read_model(folder / "half.caffemodel")["bn"].blobs
    assert [list(blobs[0].data), list(blobs[2].data)] == [mean, [1]]


@needs_tool
def test_every_layer_type_keeps_the_same_precision(folder):
    """A new layer with kernels for FLOAT16 has its place in migration._HALF_PARAMETERS, too."""
    listed = subprocess.run([str(TOOL.parent / "caffe"), "layers"], stdout=subprocess.PIPE,
                            text=True, check=True).stdout
    types = {row.split("|")[1].strip() for row in listed.splitlines()[2:]}
    assert len(types) > 100
    types |= migration._HALF_PARAMETERS | {"Theirs"}
    net = load_schema().NetParameter()
    net.layer.add(name="fc", type="InnerProduct").blobs.add(data=[1])
    for type_ in sorted(types):
        net.layer.add(name=type_, type=type_).blobs.add(data=[1]).shape.dim.append(1)
    (folder / "net.caffemodel").write_bytes(net.SerializeToString())
    (folder / "net.prototxt").write_text('layer { name: "fc" type: "Theirs" bottom: "x" top: "x" }')
    _, words = agreed(folder)
    stored = dict(line.split()[:2] for line in words.splitlines() if " FLOAT" in line)
    assert stored["InnerProduct"] == "FLOAT16"
    assert {stored[name] for name in ("BatchNorm", "FakeQuantization", "LabelSpecificMargin",
                                      "InnerDistance", "Python", "Theirs")} == {"FLOAT"}


@needs_tool
def test_notes_on_what_one_file_alone_has(folder):
    net = load_schema().NetParameter()
    net.ParseFromString((folder / "net.caffemodel").read_bytes())
    net.layer[0].name = "old"
    net.layer.add(name="fc_quantization", type="FakeQuantization").blobs.add(
        data=[1]).shape.dim.append(1)
    (folder / "net.caffemodel").write_bytes(net.SerializeToString())
    _, words = agreed(folder)
    assert [line for line in words.splitlines() if line.startswith("note")] == [
        "note: layers with weights that net.prototxt has not, converted all the same: 'old'",
        "note: layers of net.prototxt that have no weights in net.caffemodel and keep their "
        "fillers' values: 'fc'"]


@needs_tool
@pytest.mark.parametrize("text", [
    'layers { name: "fc" type: CONVOLUTION } layers { name: "other" type: INNER_PRODUCT }',
    'layer { name: "fc" type: "Theirs" } layer { name: "b" type: "Scale" bottom: "x" bottom: "y" }'
    'layer { name: "other" type: "PReLU" } layer { name: "other" type: "PReLU" }'])
def test_notes_name_layers_without_weights_once(folder, text):
    (folder / "net.prototxt").write_text(text)
    write_model(folder / "net.caffemodel", {"fc": [np.ones((1, 1, 1, 1))] * 2})
    assert "keep their fillers' values: 'other'\n" in agreed(folder)[1]


@needs_tool
@pytest.mark.parametrize("name, text", [
    ("depthwise", 'layer { name: "c" type: "DepthwiseConvolution" bottom: "x" top: "c" '
     "convolution_param { kernel_size: 3 } }"),
    ("channels", 'layer { name: "c" type: "ConvolutionDepthwise" bottom: "x" top: "c" '
     "convolution_param { num_output: 7 kernel_size: 3 } }"),
    ("phases", "".join(
        f'layer {{ name: "c" type: "Convolution" bottom: "x" top: "c" include {{ phase: {phase} }} '
        f"convolution_param {{ num_output: {outputs} kernel_size: 3 }} }}\n"
        for phase, outputs in (("TEST", 2), ("TRAIN", 5)))),
])
def test_takes_every_net_that_the_weights_fit(folder, name, text):
    (folder / "net.prototxt").write_text(
        'layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1 dim: 2 dim: 3 '
        "dim: 3 } } }\n" + text)
    write_model(folder / "net.caffemodel",
                {"c": [np.ones((2, 2 if name == "phases" else 1, 3, 3)), [1, 2]]})
    agreed(folder)
    by_tool(folder)  # runs the net


@needs_tool
def test_inputs_that_are_read_as_indices_hold_some(folder):
    (folder / "net.prototxt").write_text("""
        layer { name: "words" type: "Input" top: "words" input_param { shape { dim: 3 dim: 2 } } }
        layer { name: "order" type: "Input" top: "order" input_param { shape { dim: 4 } } }
        layer { name: "flat" type: "Flatten" bottom: "words" top: "flat" flatten_param { axis: 0 } }
        layer { name: "fc" type: "Embed" bottom: "flat" top: "fc"
                embed_param { input_dim: 2 num_output: 2 } }
        layer { name: "y" type: "BatchReindex" bottom: "fc" bottom: "order" top: "y" }""")
    runs = [by_tool] + ([migrate] if comparison.compiled_caffe() is not None else [])
    for run in runs:
        assert "output 'y': largest difference" in run(folder)


def test_overflow_in_float_names_no_type_that_would_help():
    layers = [conversion.LayerConversion("fc", "FLOAT", conversion.Counts(overflowed=5))]
    assert conversion.warnings(layers, FLOAT, False) == [
        "5 values beyond FLOAT's range became infinite: --clamp makes them its largest number"]


@pytest.mark.parametrize("flags", [("--inputs", "x.npy", "--output", "x.npy"),
                                   ("--inputs", "y.npy,x.npy", "--prototxt", "x.npy")])
def test_inputs_are_not_written_over(folder, flags):
    assert "x.npy would replace x.npy; name another file" in migrate(folder, *flags, expect=1)


@needs_tool
@pytest.mark.parametrize("values, said", [
    (None, "x.npy: cannot be read"),
    (b"no array", "x.npy: no .npy file"),
    (np.ones(2, np.complex64), "x.npy: elements of type '<c8' are not read; numpy.float32 is"),
    (np.ones((1, 3), np.float32), "layer 'fc'"),
])
def test_bad_inputs_are_refused_before_anything_is_written(folder, values, said):
    if isinstance(values, bytes):
        (folder / "x.npy").write_bytes(values)
    elif values is not None:
        np.save(folder / "x.npy", values)
    runs = [by_tool] + ([migrate] if comparison.compiled_caffe() is not None else [])
    for run in runs:
        assert said in run(folder, "--inputs", "x.npy", expect=1)
        assert not list(folder.glob("half*"))


def test_a_new_net_that_cannot_be_made_gets_one_line(folder, monkeypatch, capsys):
    """As the old one could, only a defect of the program makes such a net."""
    import genDefaultModel
    if comparison.compiled_caffe() is None:
        pytest.skip("the compiled package is not built")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(migration.PrecisionMigration, "_edited",
                        lambda *_: 'layer { name: "bn" type: "None" }')
    assert genDefaultModel.main(["--input", "net.prototxt", "--model", "net.caffemodel",
                                 "--output", "half.caffemodel"]) == 1
    assert capsys.readouterr().err.startswith("genDefaultModel.py: ")
