"""A Parquet file whose footer is whole, and whose pages are not."""

from pathlib import Path


def damage_pages(path: Path) -> Path:
    """Overwrite the column data between the magic number and the footer."""
    whole = bytearray(path.read_bytes())
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    whole[40 : len(whole) - footer] = bytes(len(whole) - footer - 40)
    path.write_bytes(whole)
    return path
