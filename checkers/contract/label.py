"""The label of an anomaly: a violation, permitted, or undecided, and by which clause.

Labels are made for classes of anomalies, not for each: a million records of one truncation share one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
import numpy.typing as npt

from checkers.contract.clauses import Kind
from checkers.contract.fates.fate import Fate

Ints = npt.NDArray[np.int64]
OR = " or "
"""Between the causes of one label, where the evidence allows several and the contract treats them alike."""
GRAVITY: tuple[Kind, ...] = ("violation", "undecided", "permitted")
"""The gravest first."""


@dataclass(frozen=True, slots=True)
class Label:
    """Whether the contract permits an anomaly, and the clause that does, or the promise that was broken.

    `cause` names it in a few words; `fate` is that of a lost record. Where the evidence allows `others`, too,
    clause and cause name all of them.
    """

    kind: Kind
    clause: str
    cause: str = ""
    fate: Fate | None = field(default=None, compare=False)
    others: tuple[Fate, ...] = field(default=(), compare=False)

    @property
    def permitted(self) -> bool:
        """Whether the configuration's contract allows it."""
        return self.kind == "permitted"


@dataclass(frozen=True, slots=True)
class BlockLabels:
    """The labels of one block of anomalies: `of`, shape (rows,), has the place of each row's in `classes`."""

    classes: tuple[Label, ...]
    of: Ints

    @classmethod
    def all_alike(cls, label: Label, rows: int) -> "BlockLabels":
        """One label for every row."""
        return cls((label,), np.zeros(rows, np.int64))


class Labels(Sequence[Label]):
    """One label for each anomaly, in their order: `of[b][i]` is the place in `classes` of row i of block
    b."""

    def __init__(self, *, classes: tuple[Label, ...], of: Sequence[Ints]) -> None:
        """`of` is parallel to the blocks of the anomalies."""
        self.classes, self.of = classes, tuple(of)
        self._flat: Ints = np.concatenate([np.empty(0, np.int64), *self.of])

    @classmethod
    def joined(cls, blocks: Iterable[BlockLabels]) -> "Labels":
        """The labels of all blocks; equal labels of several blocks become one class."""
        places: dict[Label, int] = {}
        of = [
            np.array([places.setdefault(label, len(places)) for label in block.classes], np.int64)[block.of]
            for block in blocks
        ]
        return cls(classes=tuple(places), of=of)

    def __len__(self) -> int:
        return len(self._flat)

    @overload
    def __getitem__(self, at: int) -> Label: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Label]: ...

    def __getitem__(self, at: int | slice) -> Label | Sequence[Label]:
        if isinstance(at, slice):
            return [self.classes[place] for place in self._flat[at].tolist()]
        return self.classes[int(self._flat[at])]

    def __iter__(self) -> Iterator[Label]:
        return (self.classes[place] for place in self._flat.tolist())
