"""The fuzz target of the ONNX writer: nets that once went wrong, and what it does about new ones."""
from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pytest
from onnx_support import ROOT

sys.path.insert(0, os.path.join(ROOT, "fuzz"))

from net_mutator import NetMutator  # noqa: E402
from onnx_writer import OnnxWriter  # noqa: E402
from writer_fuzzer import Input, Target, input_of, judge, main, read_inputs, text_of  # noqa: E402

from caffe.proto import caffe_pb2  # noqa: E402

FUZZ = Path(ROOT) / "fuzz"
REGRESSIONS = sorted((FUZZ / "regressions" / "onnx_writer").glob("*.prototxt"))
SEEDS = FUZZ / "seeds" / "nets"


@pytest.fixture(scope="module", name="writer")
def onnx_writer():
    return OnnxWriter()


@pytest.mark.parametrize("path", REGRESSIONS, ids=[path.stem for path in REGRESSIONS])
def test_what_once_went_wrong(path, writer):
    finding, _, _ = judge(writer, input_of(path.read_text(), writer.default_options))
    assert finding is None, finding.told


def test_seeds_have_all_types(writer):
    """Each seed is a whole net, and together they have all layers that are written."""
    written = set()
    for path, given in read_inputs([str(SEEDS)], writer.default_options).items():
        finding, _, types = judge(writer, given)
        assert finding is None, finding.told
        assert types, path
        written |= types
    assert written == set(writer.types)


def nets(seed):
    draw = random.Random(seed)
    seeds = [given.net for given in read_inputs([str(SEEDS)], {}).values()]
    mutator = NetMutator(draw, seeds, OnnxWriter.types)
    found = []
    for _ in range(50):
        net = mutator.fresh()
        for _ in range(3):
            mutator.mutate(net)
        found.append(net.SerializePartialToString(deterministic=True))
    return found


def test_the_same_seed_gives_the_same_nets():
    assert nets(3) == nets(3)
    assert nets(3) != nets(4)


class Faulty(Target):
    """Fails in its own way if a net has a layer of type TanH."""
    name = "faulty"
    package = os.path.dirname(os.path.abspath(__file__))
    types = ["ReLU", "TanH", "Sigmoid"]
    default_options = {"flags": []}

    def __init__(self, fault):
        self._fault = fault

    def options(self, draw, net):
        return {"flags": ["--fp16"] * draw.randrange(3)}

    def run(self, given):
        if "TanH" in [layer.type for layer in given.net.layer]:
            self._fault()
        return {str(len(given.net.layer))}, {layer.type for layer in given.net.layer}


def divide():
    return 1 // 0



def test_a_finding_is_told_once_and_written_small(tmp_path, capfd):
    (tmp_path / "net.prototxt").write_text("layer { type: 'ReLU' } layer { name: 'x' type: 'TanH' } "
                                           "layer { type: 'ReLU' }")
    arguments = [str(tmp_path / "net.prototxt"), "-runs", "300", "-seconds", "600", "-findings",
                 str(tmp_path / "found")]
    assert main(Faulty(divide), "", arguments) == 1
    said = capfd.readouterr().out
    assert said.count("ZeroDivisionError in ") == 2  # the seed's own, and one of all others
    (found,) = (tmp_path / "found").iterdir()
    given = input_of(found.read_text(), {})
    assert [layer.ListFields()[0][1] for layer in given.net.layer] == ["TanH"]
    assert given.options == {"flags": []}
    assert judge(Faulty(divide), given)[0].key.endswith(" divide")


def test_the_end_of_the_process_is_a_finding(tmp_path, capfd):
    net = tmp_path / "net.prototxt"
    net.write_text("layer { type: 'ReLU' } layer { type: 'Sigmoid' }")
    arguments = [str(net), "-runs", "500", "-seconds", "600", "-findings", str(tmp_path / "found")]
    assert main(Faulty(lambda: os.kill(os.getpid(), signal.SIGKILL)), "", arguments) == 1
    assert "the process ended by signal 9" in capfd.readouterr().out
    for found in (tmp_path / "found").iterdir():
        assert "TanH" in found.read_text()


def test_memory_that_runs_out_is_a_finding(tmp_path, capfd):
    net = tmp_path / "net.prototxt"
    net.write_text("layer { type: 'ReLU' } layer { type: 'Sigmoid' }")
    arguments = [str(net), "-runs", "500", "-seconds", "600", "-findings", str(tmp_path / "found")]
    assert main(Faulty(lambda: bytearray(1 << 31)), "", arguments) == 1
    assert "MemoryError" in capfd.readouterr().out


def test_no_findings(tmp_path, capfd):
    net = tmp_path / "net.prototxt"
    net.write_text("layer { type: 'ReLU' } layer { type: 'Sigmoid' }")
    arguments = [str(net), "-runs", "200", "-seconds", "600", "-findings", str(tmp_path / "found")]
    assert main(Faulty(lambda: None), "", arguments) == 0
    assert "faulty: 200 executions" in capfd.readouterr().out
    assert not (tmp_path / "found").exists()


def test_findings_are_read_as_they_were_written():
    net = caffe_pb2.NetParameter(name="a\nb")
    net.layer.add(name="\u00e9", type="ReLU")
    given = Input(net, {"flags": ["--shape=a:1,n"], "seed": 3, "weights": "fit"})
    assert input_of(text_of(given), {}) == given
