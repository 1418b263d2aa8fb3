"""Links of the documents lead to files and headings that are there."""
import re
import string

import documents
import pytest
from documents import ROOT

if not (ROOT / "docs").exists():
    pytest.skip("needs the source tree", allow_module_level=True)


def without_blocks(text):
    return re.sub(r"^( *)```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(path):
    """What GitHub and MkDocs call the headings of a page."""
    for heading in re.findall(r"^#+ +(.*)$", without_blocks(path.read_text(encoding="utf-8")), re.MULTILINE):
        text = re.sub(r"[`*]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)).lower()
        yield "".join(c for c in text if c not in string.punctuation or c in "-_").replace(" ", "-")


def broken_links(path):
    text = without_blocks(path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{target}: {file.name} has no such heading"


def test_links_lead_somewhere():
    pages = [*documents.documents(), *sorted((ROOT / "benchmarks").rglob("*.md"))]
    broken = [f"{page.relative_to(ROOT)}: {link}" for page in pages for link in broken_links(page)]
    assert not broken, "\n".join(broken)
