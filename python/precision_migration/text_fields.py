"""Where the fields of a prototxt stand, for changing it so that comments and layout stay."""
from typing import List, NamedTuple, Tuple

BLANKS = " \t\r"


class TextField(NamedTuple):
    """A field of a message in text form and where it stands."""

    name: str
    begin: int        # of the name
    end: int          # behind the value, and behind a ',' or ';' that follows it
    value_begin: int  # of the value, or of what stands between a block's brackets
    value_end: int
    fields: List["TextField"]  # of a block


class _Scanner:
    """Walks through a text that protobuf has accepted; whatever it meets, it ends."""

    def __init__(self, text: str):
        self.text = text
        self.at = 0

    def is_at(self, characters: str) -> bool:
        return self.at < len(self.text) and self.text[self.at] in characters

    def skip_space(self) -> None:
        while self.is_at(BLANKS + "\n#"):
            if self.text[self.at] == "#":
                newline = self.text.find("\n", self.at)
                self.at = len(self.text) if newline < 0 else newline
            else:
                self.at += 1

    def scan(self) -> List[TextField]:
        """Fields up to a closing bracket or the end."""
        found = []
        self.skip_space()
        while self.at < len(self.text) and not self.is_at("}>"):
            found.append(self.field())
            self.skip_space()
        return found

    def field(self) -> TextField:
        begin = self.at
        while self.at < len(self.text) and not self.is_at(" \t\r\n:{<#"):
            self.at += 1
        name = self.text[begin:self.at]
        self.skip_space()
        if self.is_at(":"):
            self.at += 1
        self.skip_space()
        inner: List[TextField] = []
        if self.is_at("{<"):
            self.at += 1
            value_begin = self.at
            inner = self.scan()
            value_end = self.at
            self.at = min(self.at + 1, len(self.text))
        else:
            value_begin = self.at
            self.value()
            value_end = self.at
        after = skip_blanks(self.text, self.at)
        if after < len(self.text) and self.text[after] in ",;":
            self.at = after + 1
        self.at = max(self.at, begin + 1)
        return TextField(name, begin, self.at, value_begin, value_end, inner)

    def value(self) -> None:
        """A list, a string (or several that belong together), or a number or word."""
        if self.is_at("["):
            self.list()
        elif self.is_at("\"'"):
            end = self.at
            while self.is_at("\"'"):
                self.string()
                end = self.at
                self.skip_space()
            self.at = end
        else:
            while self.at < len(self.text) and not self.is_at(" \t\r\n,;}>#"):
                self.at += 1

    def string(self) -> None:
        quote = self.text[self.at]
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != quote:
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at = min(self.at + 1, len(self.text))

    def list(self) -> None:
        depth = 0
        while self.at < len(self.text):
            if self.is_at("\"'"):
                self.string()
            elif self.is_at("#"):
                self.skip_space()
            else:
                depth += self.is_at("[") - self.is_at("]")
                self.at += 1
            if depth == 0:
                return


def skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANKS:
        at += 1
    return at


def scan(text: str) -> List[TextField]:
    """The fields of a text that protobuf's parser has accepted."""
    return _Scanner(text).scan()


def named(fields: List[TextField], name: str) -> List[TextField]:
    return [field for field in fields if field.name == name]


class TextEdits:
    """Changes to a text, collected by offsets into the old one and made at once.

    A change inside what another one removes has no effect.
    """

    def __init__(self, text: str):
        self.text = text
        self.edits: List[Tuple[int, int, str]] = []

    def insert(self, at: int, what: str) -> None:
        self.replace(at, at, what)

    def replace(self, begin: int, end: int, what: str) -> None:
        self.edits.append((begin, end, what))

    def _line_begin(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def remove(self, field: TextField) -> None:
        """Removes a field, with its line if nothing else is there."""
        line = self._line_begin(field.begin)
        after = skip_blanks(self.text, field.end)
        ends_line = after == len(self.text) or self.text[after] == "\n"
        if skip_blanks(self.text, line) == field.begin and ends_line:
            self.replace(line, min(after + 1, len(self.text)), "")
        else:
            self.replace(field.begin, field.end if ends_line else after, "")

    def insert_first(self, block: TextField, field: str) -> None:
        """Writes a field in front of all others of a block, on its own line where they have one."""
        if block.fields:
            first = block.fields[0].begin
            line = self._line_begin(first)
            if skip_blanks(self.text, line) == first:
                self.insert(line, self.text[line:first] + field + "\n")
                return
        self.insert(block.value_begin, " " + field)

    def insert_at_head(self, fields: List[TextField], lines: str) -> None:
        """Writes lines in front of the first field, or behind it if that is ``name``."""
        if not fields:
            return self.insert(len(self.text), lines)
        first = fields[0]
        after = skip_blanks(self.text, first.end)
        ends_line = after == len(self.text) or self.text[after] in "\n#"
        if first.name == "name" and ends_line:
            newline = self.text.find("\n", after)
            if newline < 0:
                return self.insert(len(self.text), "\n" + lines)
            return self.insert(newline + 1, lines)
        line = self._line_begin(first.begin)
        self.insert(line if skip_blanks(self.text, line) == first.begin else first.begin, lines)
        return None

    def apply(self) -> str:
        result = []
        at = 0
        # By offsets alone; what is inserted where something is removed comes first.
        for begin, end, what in sorted(self.edits, key=lambda edit: edit[:2]):
            if begin < at:
                continue  # in what was removed
            result += [self.text[at:begin], what]
            at = end
        return "".join(result) + self.text[at:]
