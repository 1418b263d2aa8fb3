"""What the module itself has: settings, log, errors, and how it is imported."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

import caffe
import pytest

from conftest import SMALL_NET

PACKAGE = pathlib.Path(caffe.__file__).parent


def run(program, **environment):
    """Runs a program in an interpreter of its own."""
    settings = dict(os.environ, PYTHONPATH=str(PACKAGE.parent))
    settings.update(environment)
    return subprocess.run([sys.executable, "-c", program], env=settings, text=True,
                          capture_output=True, timeout=120)


def test_names():
    for name in caffe._COMPILED_NAMES:
        assert hasattr(caffe, name), name
    assert caffe.TRAIN == 0 and caffe.TEST == 1
    assert caffe.__version__.count(".") == 2
    assert set(caffe._COMPILED_NAMES) <= set(dir(caffe))
    with pytest.raises(AttributeError, match="no attribute 'Nett'"):
        caffe.Nett


def test_everything_public_is_documented():
    for name in caffe._COMPILED_NAMES:
        thing = getattr(caffe, name)
        if isinstance(thing, (int, str)):
            continue
        assert (thing.__doc__ or "").strip(), name
        for member in vars(thing) if isinstance(thing, type) else []:
            if not member.startswith("_"):
                assert (getattr(thing, member).__doc__ or "").strip(), f"{name}.{member}"


def test_errors_are_runtime_errors():
    assert issubclass(caffe.Error, RuntimeError) and caffe.Error.__module__ == "caffe"


def test_errors_have_file_layer_field_and_remedy(write):
    file = write('layer { name: "a" type: "ReLU6000" bottom: "b" top: "a" } input: "b" input_dim: [1, 1, 1, 1]')
    with pytest.raises(caffe.Error) as caught:
        caffe.Net(file, caffe.TEST)
    assert caught.value.file == file and caught.value.layer == "a"
    with pytest.raises(caffe.Error) as caught:
        caffe.SGDSolver(write('net_param { name: "n" } max_iter: -1'))
    assert caught.value.field == "max_iter" and "max_iter must not be negative" in str(caught.value)
    error = caffe.Error("said in Python")
    assert (error.file, error.layer, error.field, error.remedy) == ("", "", "", "")


class TestSettings:
    def test_random_seed(self, write):
        text = """layer { name: "d" type: "DummyData" top: "d"
                          dummy_data_param { shape { dim: 50 } data_filler { type: "uniform" } } }"""
        draws = []
        for seed in (1, 1, 2):
            caffe.set_random_seed(seed)
            draws.append(caffe.Net(write(text), caffe.TEST).forward()["d"].copy())
        assert (draws[0] == draws[1]).all() and (draws[0] != draws[2]).any()

    def test_solver_count_and_rank(self):
        result = run("""if True:
            import caffe
            assert caffe.solver_count() == 1 and caffe.solver_rank() == 0
            caffe.set_solver_count(3); caffe.set_solver_rank(2); caffe.set_multiprocess(True)
            assert caffe.solver_count() == 3 and caffe.solver_rank() == 2
        """)
        assert result.returncode == 0, result.stderr

    def test_devices(self):
        with pytest.raises(caffe.Error, match="got none"):
            caffe.set_devices([])
        for use in (lambda: caffe.set_device(0), lambda: caffe.set_devices([0, 1]),
                    caffe.set_mode_gpu):
            with pytest.raises(caffe.Error, match="no GPU can be used.*CAFFE_GPU_FALLBACK=1"):
                use()

    @pytest.mark.parametrize("environment, says", [({"CAFFE_GPU_FALLBACK": "1"}, ""),
                                                   ({}, "caffe.set_gpu_fallback()")])
    def test_the_cpu_in_the_place_of_a_gpu(self, write, environment, says):
        """One warning, whatever asks for the GPU; what was said last holds."""
        net = write(SMALL_NET)
        result = run(f"""if True:
            import caffe
            {says}
            caffe.set_device(3)
            for _ in range(2):
                caffe.set_mode_gpu()
                caffe.Net({net!r}, caffe.TEST).forward()
            caffe.set_gpu_fallback(False)
            try:
                caffe.set_mode_gpu()
            except caffe.Error as error:
                print(error)
        """, CUDA_VISIBLE_DEVICES="", GLOG_minloglevel="1", **environment)
        assert result.returncode == 0, result.stderr
        assert "no GPU can be used" in result.stdout
        assert result.stderr.count("The CPU computes in its place") == 1

    def test_limits(self, write):
        net = write(SMALL_NET)
        before = caffe.limits()
        assert before["layers"] == 100000 and before["python_layers"] is True
        try:
            caffe.set_limits(blob_bytes=8)
            with pytest.raises(caffe.Error, match="the limit .blob_bytes. is 8 bytes") as caught:
                caffe.Net(net, caffe.TEST)
            assert caught.value.layer and "caffe.set_limits(blob_bytes=N)" in caught.value.remedy
            caffe.set_limits(untrusted=True, layers=7)
            assert caffe.limits()["layers"] == 7 and caffe.limits()["layer_files"] is False
            assert caffe.limits()["blob_bytes"] == 2**30
            with pytest.raises(caffe.Error, match="layer 'own' .Python.: .*python_layers is false"):
                caffe.Net(write("""layer { name: 'own' type: 'Python' top: 'y'
                                   python_param { module: 'os' layer: 'L' } }""", "own.prototxt"),
                          caffe.TEST)
            for changes, error in [(dict(frob=3), TypeError), (dict(layers=0), caffe.Error),
                                   (dict(layers="many"), TypeError), (dict(layers=-1), ValueError)]:
                with pytest.raises(error, match="limit"):
                    caffe.set_limits(**changes)
            assert caffe.limits()["layers"] == 7
        finally:
            caffe.set_limits(**before)
        caffe.Net(net, caffe.TEST)

    def test_unknown_fields(self, write):
        net = write(SMALL_NET.replace('name: "small"', 'name: "small"\nfrob { kind: FAST }'))
        with pytest.raises(caffe.Error, match='net.prototxt:3:.*no field named "frob"'):
            caffe.Net(net, caffe.TEST)
        result = run(f"""if True:
            import caffe
            caffe.set_ignore_unknown_fields()
            caffe.Net({net!r}, caffe.TEST).forward()
            caffe.set_ignore_unknown_fields(False)
            try:
                caffe.Net({net!r}, caffe.TEST)
            except caffe.Error as error:
                print(error)
        """, GLOG_minloglevel="1")
        assert result.returncode == 0, result.stderr
        assert 'no field named "frob"' in result.stdout
        assert result.stderr.count('net.prototxt:3:6: Message type "caffe.NetParameter" has no field '
                                   'named "frob".') == 1

    def test_timer(self):
        timer = caffe.Timer()
        timer.start()
        time.sleep(0.01)
        timer.stop()
        assert timer.ms >= 10 and timer.ms == timer.ms


class TestLog:
    def test_level(self):
        program = "import caffe; caffe.init_log({}); caffe.log('a line'); caffe.init_log()"
        assert "a line" in run(program.format("0, True"), GLOG_minloglevel="0").stderr
        assert "a line" not in run(program.format("2, True"), GLOG_minloglevel="0").stderr

    def test_disabled(self):
        result = run("""if True:
            import caffe
            caffe.init_log(0, True)
            caffe.set_logging_disabled()
            caffe.log('hidden')
            caffe.set_logging_disabled(False)
            caffe.log('shown')
        """, GLOG_minloglevel="0")
        assert "shown" in result.stderr and "hidden" not in result.stderr


class TestImport:
    """Of a copy of the package without the compiled module."""

    @pytest.fixture
    def copy(self, tmp_path):
        ignored = shutil.ignore_patterns("*.so", "*.cpp", "*.hpp", "__pycache__")
        shutil.copytree(PACKAGE, tmp_path / "caffe", ignore=ignored)
        return tmp_path

    def test_messages_need_no_compiled_module(self, copy):
        result = run("from caffe.proto import caffe_pb2; import caffe; "
                     "print(caffe.proto.caffe_pb2.NetParameter(name='n').name)",
                     PYTHONPATH=str(copy))
        assert result.stdout == "n\n", result.stderr
        result = run("import caffe; print(caffe.proto.caffe_pb2.TEST)", PYTHONPATH=str(copy))
        assert result.stdout == "1\n", result.stderr

    def test_says_what_to_build(self, copy):
        for use in ("caffe.Net", "caffe.TEST", "caffe.set_mode_cpu()"):
            result = run(f"import caffe; {use}", PYTHONPATH=str(copy))
            assert "ImportError" in result.stderr and "-DBUILD_python=ON" in result.stderr

    def test_asking_whether_there_is_something_is_no_import_error(self, copy):
        assert run("import caffe; assert not hasattr(caffe, '__wrapped__')",
                   PYTHONPATH=str(copy)).returncode == 0

    def test_a_module_for_another_python(self, copy):
        (copy / "caffe" / "_caffe.cpython-27-x86_64-linux-gnu.so").write_text("")
        result = run("import caffe; caffe.Net", PYTHONPATH=str(copy))
        assert "for another Python" in result.stderr and "cpython-27" in result.stderr

    def test_an_error_of_the_compiled_module_is_shown_as_it_is(self, copy):
        suffix = __import__("sysconfig").get_config_var("EXT_SUFFIX")
        (copy / "caffe" / ("_caffe" + suffix)).write_text("no library " * 100)
        result = run("import caffe", PYTHONPATH=str(copy))
        assert "ImportError" in result.stderr and "invalid ELF header" in result.stderr

    def test_messages_before_and_after_the_compiled_module(self):
        for program in ("import caffe.proto.caffe_pb2 as pb; import caffe",
                        "import caffe; import caffe.proto.caffe_pb2 as pb"):
            result = run(program + "; layer = caffe.create_layer(pb.LayerParameter(type='ReLU')); "
                         "print(layer.layer_param.to_message().type)")
            assert result.stdout == "ReLU\n", result.stderr


def test_a_bad_file_never_ends_the_interpreter(write, random):
    """Damaged files: an exception or a net."""
    from conftest import SMALL_NET, TRAIN_NET
    for text in (SMALL_NET, TRAIN_NET):
        for _ in range(60):
            damaged = bytearray(text, "utf8")
            for _ in range(random.randint(1, 6)):
                damaged[random.randint(len(damaged))] = random.randint(32, 127)
            try:
                net = caffe.Net(write(damaged.decode("utf8")), caffe.TRAIN)
                if sum(blob.count for blob in net.blobs.values()) < 1 << 20:
                    net.forward()
            except (caffe.Error, MemoryError):
                pass


def test_interpreters_end_with_nets_and_layers_alive(write):
    file = write("""
        layer { name: "data" type: "DummyData" top: "data" dummy_data_param { shape { dim: 2 } } }
        layer { name: "add" type: "Python" bottom: "data" top: "add"
                python_param { module: "pycaffe_test_layers" layer: "AddNumber" param_str: "5" } }
    """)
    from conftest import LAYERS
    result = run(f"import caffe; net = caffe.Net({file!r}, 1); net.before_forward(lambda layer: None); "
                 "kept = [net.forward(), net.layers, net.blobs]; print('end')",
                 PYTHONPATH=f"{PACKAGE.parent}:{LAYERS}")
    assert result.returncode == 0 and result.stdout == "end\n", result.stderr
