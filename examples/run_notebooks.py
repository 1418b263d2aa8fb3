#!/usr/bin/env python3
"""Runs notebooks from the first cell to the last, and says which ran, which failed and which were
skipped.

examples:
  run_notebooks.py                                        # all in this folder
  run_notebooks.py 01-learning-lenet.ipynb --save out     # keeps the notebook with its plots in
  out/

A notebook whose data is absent ends with a sentence that begins with 'Skipped:'. Needs nbclient and
ipykernel (pip install nbclient ipykernel). Exits with 1 when a notebook failed.
"""
from __future__ import annotations

import argparse
import glob
import os
import sys
from typing import Any, Optional

HERE = os.path.dirname(os.path.abspath(__file__))


class Skipped(Exception):
    """The notebook's data is not here."""


def run(path: str, timeout: int = 1200) -> Any:
    """Runs a notebook in its folder, with the Python that runs this; the notebook with its results.

    Raises Skipped, or RuntimeError with the cell's error.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError
    notebook = nbformat.read(path, as_version=4)
    folder = os.path.dirname(os.path.abspath(path))
    client = NotebookClient(notebook, timeout=timeout, kernel_name="python3",
                            resources={"metadata": {"path": folder}})
    try:
        client.execute()
    except CellExecutionError as error:
        if error.ename == "SystemExit" and error.evalue.startswith("Skipped: "):
            raise Skipped(error.evalue[len("Skipped: "):]) from None
        raise RuntimeError(f"{os.path.basename(path)}: {error}") from None
    except DeadKernelError as error:
        raise RuntimeError(f"{os.path.basename(path)}: {error}") from None
    return notebook


def run_all(paths: list[str], save: Optional[str]) -> bool:
    """Runs notebooks one after the other and prints what became of each; whether none failed."""
    import nbformat
    good = True
    for path in paths:
        name = os.path.basename(path)
        try:
            notebook = run(path)
        except Skipped as reason:
            print(f"{name}: skipped: {reason}", flush=True)
            continue
        except RuntimeError as error:
            print(f"{name}: failed\n{error}", flush=True)
            good = False
            continue
        print(f"{name}: good", flush=True)
        if save:
            os.makedirs(save, exist_ok=True)
            nbformat.write(notebook, os.path.join(save, name))
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", help="default: all in the folder of this program")
    parser.add_argument("--save", metavar="DIR", help="write the notebooks with their results here")
    arguments = parser.parse_args()
    paths = arguments.notebooks or sorted(glob.glob(os.path.join(HERE, "*.ipynb")))
    try:
        good = run_all(paths, arguments.save)
    except ImportError as error:
        sys.exit(f"run_notebooks.py: {error}; pip install nbclient ipykernel")
    except OSError as error:
        sys.exit(f"run_notebooks.py: {error}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
