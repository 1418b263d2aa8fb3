"""Scripts that users start, by `sh` as well: they keep to what every POSIX shell has."""
import os
import re
import shutil
import subprocess

import pytest
from documents import ROOT

SCRIPTS = [*sorted((ROOT / "examples").rglob("*.sh")), *sorted((ROOT / "tools/extra").glob("*.sh")),
           ROOT / "scripts/idx_files.sh"]
if not SCRIPTS[0].exists() or not SCRIPTS[-1].exists():
    pytest.skip("needs the source tree", allow_module_level=True)

SHELLS = [shell for shell in ("sh", "dash", "bash") if shutil.which(shell)]

#: What bash and ksh have and dash lacks, or POSIX leaves open.
BASHISMS = {
    "pipefail": r"\bpipefail\b",
    "[[ ]]": r"\[\[",
    "(( ))": r"(?<!\$)\(\(",
    "an array": r"\w=\(|\$\{\w+\[",
    "${name/a/b}, ${name:1:2} or ${name^^}": r"\$\{\w+(/|:[^-=?+]|\^|,)",
    "local or declare": r"^\s*(local|declare|typeset)\b",
    "function": r"^\s*function\s",
    "source": r"^\s*source\s",
    "<<<": r"<<<",
    "&> or |&": r"&>|\|&",
    "<( )": r"[<>]\(",
    "==": r"\[ [^]]*==",
    "$'text'": r"\$'",
    "echo -e": r"\becho -[en]",
}


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_a_script_is_posix_text(path):
    text = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines()
                     if not line.lstrip().startswith("#"))
    found = [what for what, pattern in BASHISMS.items() if re.search(pattern, text, re.MULTILINE)]
    assert not found, f"{name_of(path)} has {', '.join(found)}"
    for shell in SHELLS:
        result = subprocess.run([shell, "-n", path], text=True, capture_output=True, check=False)
        assert (result.returncode, result.stderr) == (0, ""), shell


@pytest.mark.parametrize("path", SCRIPTS[:-1], ids=name_of)
def test_a_script_stops_at_errors_and_names_sh(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "#!/usr/bin/env sh" and "set -eu" in lines
    assert os.access(path, os.X_OK)


def start(shell, script, *arguments, **environment):
    """Runs a script of the tree by a shell."""
    return subprocess.run([shell, ROOT / script, *map(str, arguments)], text=True,
                          capture_output=True, check=False, env=dict(os.environ, **environment))


@pytest.fixture
def build(tmp_path):
    """A build whose programs print their names and arguments."""
    tools = tmp_path / "build" / "tools"
    tools.mkdir(parents=True)
    for name in ("caffe", "convert_mnist_data", "convert_mnist_siamese_data", "convert_imageset"):
        (tools / name).write_text('#!/bin/sh\nprintf "%s " "${0##*/}" "$@"\necho\n')
        (tools / name).chmod(0o755)
    return str(tmp_path / "build")


@pytest.mark.parametrize("shell", SHELLS)
class TestEveryShell:
    @pytest.mark.parametrize("script, command", [
        ("examples/mnist/train_lenet.sh", "models/lenet/solver.prototxt"),
        ("examples/siamese/train_mnist_siamese.sh",
         "examples/siamese/mnist_siamese_solver.prototxt")])
    def test_trains(self, shell, script, command, build):
        result = start(shell, script, "-gpu", "0", BUILD=build)
        assert result.stdout == f"caffe train -solver {command} -gpu 0 \n", result.stderr

    @pytest.mark.parametrize("kind, backend, options", [
        ("mnist", "lmdb", "--backend=lmdb "), ("mnist_siamese", "leveldb", "")])
    def test_makes_databases_of_digits(self, shell, kind, backend, options, build, tmp_path):
        script = f"examples/{kind.split('_')[-1]}/create_{kind}.sh"
        for name in (script, "scripts/idx_files.sh"):  # a tree without databases to overwrite
            (tmp_path / name).parent.mkdir(parents=True)
            shutil.copy(ROOT / name, tmp_path / name)
        for part in ("train", "t10k"):
            for content in ("images-idx3", "labels-idx1"):
                (tmp_path / f"{part}-{content}-ubyte").write_text("")
        result = start(shell, tmp_path / script, ".", BUILD=build)
        databases = [f"{os.path.dirname(script)}/{kind}_{phase}_{backend}"
                     for phase in ("train", "test")]
        assert result.stdout.splitlines() == [line for part, database in zip(
            ("train", "t10k"), databases) for line in (
            f"convert_{kind}_data ./{part}-images-idx3-ubyte ./{part}-labels-idx1-ubyte "
            f"{database} {options}", database)], result.stderr

    @pytest.mark.parametrize("script", ["mnist/create_mnist.sh", "siamese/create_mnist_siamese.sh"])
    def test_says_that_there_are_no_digits(self, shell, script, build, tmp_path):
        result = start(shell, f"examples/{script}", tmp_path / "nowhere", BUILD=build,
                       OUT=str(tmp_path))
        assert result.returncode == 1
        assert f"there is no train-images-idx3-ubyte or train-labels-idx1-ubyte in {tmp_path}" \
            in result.stderr

    def test_makes_lists_of_classes(self, shell, build, tmp_path):
        for part in ("train", "test"):
            for kind in "airplane automobile bird cat deer dog frog horse ship truck".split():
                folder = tmp_path / "images" / part / kind
                folder.mkdir(parents=True)
                for name in "ba":
                    (folder / name).write_text("")
        result = start(shell, "examples/finetuning/create_data.sh", tmp_path / "images", "1",
                       BUILD=build, OUT=str(tmp_path))
        assert result.stdout.splitlines()[1::2] == [
            f"{tmp_path}/{name}_lmdb: {count} images" for name, count in (
                ("base_train", 10), ("base_test", 10), ("new_train", 5), ("new_test", 10))]

    def test_stops_at_an_archive_that_is_absent(self, shell, build, tmp_path):
        for part in ("train", "test"):
            (tmp_path / part).mkdir()
        result = start(shell, "examples/finetuning/create_data.sh", tmp_path, BUILD=build,
                       OUT=str(tmp_path))
        assert result.returncode != 0 and result.stdout == "" and "airplane" in result.stderr

    def test_leaves_no_files_behind_when_it_is_ended(self, shell, tmp_path):
        shutil.copy(ROOT / "tools/extra/parse_log.sh", tmp_path)
        (tmp_path / "parse_log.py").write_text("#!/bin/sh\nkill -TERM $PPID\n")
        (tmp_path / "parse_log.py").chmod(0o755)
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        result = start(shell, tmp_path / "parse_log.sh", "a.log", TMPDIR=str(temporary))
        assert result.returncode != 0 and not list(temporary.iterdir())
