"""The seeds of the tests' random numbers."""
import functools
import os
import zlib


@functools.lru_cache(maxsize=None)
def seed_of(name):
    """The seed of the test of this name, as for the unit tests: it depends on the name alone, or is what
    CAFFE_TEST_SEED says, a number or "random"."""
    given = os.environ.get("CAFFE_TEST_SEED", "")
    if given == "random":
        return int.from_bytes(os.urandom(4), "little")
    return int(given) % 2 ** 32 if given else zlib.crc32(name.encode())


def seed_of_this_test():
    """For what is no fixture; a failed test prints it."""
    return seed_of(os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0].rsplit("::", 1)[-1])
