"""What MkDocs does for this site alone: documents link to sources of the repository, the site brings these along."""
import os
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def leaving_links(page, text):
    """Links from a page (its path in docs/) to files elsewhere: pairs of the link and the path below the root."""
    for match in LINK.finditer(text):
        target = match[2]
        if "://" in target or target.startswith("mailto:"):
            continue
        path = (ROOT / "docs" / page).parent / target
        relative = os.path.relpath(os.path.normpath(path), ROOT)
        if not relative.startswith("docs" + os.sep) and relative != "docs":
            yield match, relative


def on_files(files, config):
    """Adds the files that documents name, as `source/PATH.txt`. A missing one stays a broken link."""
    for file in list(files.documentation_pages()):
        for _, relative in leaving_links(file.src_uri, file.content_string):
            path, name = ROOT / relative, f"source/{relative}.txt"
            if path.is_file() and not files.get_file_from_path(name):
                files.append(File.generated(config, name, content=path.read_bytes()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Points these links at the copies; GitHub's numbering of headings is MkDocs' own."""
    for match, relative in list(leaving_links(page.file.src_uri, markdown)):
        name = f"source/{relative}.txt"
        if files.get_file_from_path(name):
            up = os.path.relpath(name, os.path.dirname(page.file.src_uri) or ".")
            markdown = markdown.replace(match[0], f"[{match[1]}]({up})")
    return markdown
