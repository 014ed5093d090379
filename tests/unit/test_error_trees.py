"""The tree of errors at the top of the file is that of the classes below it."""

import re

import pytest

import compose.errors
import workloads.errors


@pytest.mark.parametrize("module", [compose.errors, workloads.errors], ids=["compose", "workloads"])
def test_tree(module) -> None:
    """Each class is drawn, under the class that it derives from."""
    drawn, above = {}, []
    for line in module.__doc__.splitlines():
        if found := re.match(r"([│├└─ ]*)\b([A-Z]\w+)(?:  +\S|$)", line):
            depth = len(found[1]) // 4
            above = [*above[:depth], found[2]]
            drawn[found[2]] = above[-2] if depth else "Exception"
    classes = {name: cls for name, cls in vars(module).items() if isinstance(cls, type)}
    assert drawn == {name: cls.__bases__[0].__name__ for name, cls in classes.items()}
