"""The seeds of the tests' random numbers."""
import functools
import os
import zlib


def seed_of(test):
    """The seed of a test, as for the unit tests: it depends on the test's name alone, or is what CAFFE_TEST_SEED
    says, a number or "random"."""
    return _seed(test.rsplit("::", 1)[-1])


def seed_of_this_test():
    """For what is no fixture; a failed test prints it."""
    return seed_of(os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0])


@functools.lru_cache(maxsize=None)
def _seed(name):
    given = os.environ.get("CAFFE_TEST_SEED", "")
    if given == "random":
        return int.from_bytes(os.urandom(4), "little")
    return int(given) % 2 ** 32 if given else zlib.crc32(name.encode())
