"""What documents and `--help` texts show: code blocks, and the commands in them."""
import pathlib
import re
import shlex
import subprocess
from typing import Iterator, List, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Block(NamedTuple):
    """A fenced block of a Markdown file."""
    document: str   # the path below the root
    line: int       # of its first line
    language: str   # what follows the fence, "" for none
    text: str


def documents() -> List[pathlib.Path]:
    """The Markdown files of README, docs/ and examples/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")),
            *sorted((ROOT / "examples").rglob("*.md"))]


def blocks(path: pathlib.Path) -> Iterator[Block]:
    """The fenced blocks of a Markdown file, those in lists too."""
    name = str(path.relative_to(ROOT))
    text = path.read_text(encoding="utf-8")
    for match in re.finditer(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE):
        indent, language, body = match.groups()
        lines = [line[len(indent):] for line in body.splitlines()]
        yield Block(name, text.count("\n", 0, match.start(3)) + 1, language, "\n".join(lines) + "\n")


def is_complete(script: str) -> bool:
    """Whether a shell could run these lines, rather than wait for more of them."""
    if script.rstrip("\n").endswith("\\"):
        return False
    return subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).returncode == 0


def commands_of_lines(lines: List[str]) -> List[str]:
    """The commands of a script, loops and continued lines each as one."""
    commands, command = [], ""
    for line in lines:
        if not command and (not line.strip() or line.lstrip().startswith("#")):
            continue
        command += line + "\n"
        if is_complete(command):
            commands.append(command)
            command = ""
    assert not command, f"no shell ends this command:\n{command}"
    return commands


def commands_of_block(block: Block) -> List[str]:
    """The commands of a block: all of ```sh, those behind `$ ` of a session with its output."""
    if block.language == "sh":
        return commands_of_lines(block.text.splitlines())
    if block.language not in ("", "console"):
        return []
    lines, continues = [], False
    for line in block.text.splitlines():
        if continues or line.startswith("$ "):
            lines.append(line if continues else line[2:])
            continues = line.endswith("\\")
    return commands_of_lines(lines)


def commands_of_help(text: str) -> List[str]:
    """The commands behind "example:" or "examples:" in what `--help` prints."""
    lines, continues, indent = [], False, None
    for line in re.sub(r".*^examples?:[^\n]*\n", "", text, count=1,
                       flags=re.DOTALL | re.MULTILINE).splitlines() if re.search(
                           r"^examples?:", text, re.MULTILINE) else []:
        depth = len(line) - len(line.lstrip())
        if not line.strip() or depth == 0:
            break
        indent = depth if indent is None else indent
        if continues or depth == indent:      # what is indented further explains a command
            lines.append(line.strip())
            continues = line.endswith("\\")
    return commands_of_lines(lines)


def normal(command: str) -> str:
    """A command on one line, without comments, with single spaces: what lists of commands name."""
    try:
        return " ".join(shlex.split(command.replace("\\\n", " "), comments=True, posix=False))
    except ValueError:
        return " ".join(command.split())
