"""Every codec as every writer writes it, and compressed bytes that are not what they say."""

import struct

import pytest

from spark_verify.segments.codecs import NotDecompressed, decompress
from spark_verify.segments.layout import Codec
from spark_verify.selftest.segments.segment_bytes import compressed

CODECS = list(Codec)
PACKED = [codec for codec in Codec if codec is not Codec.NONE]
RECORDS = b"".join(b"record %d, and some more of it; " % at for at in range(5000))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [0, 1, 70_000, len(RECORDS)])
def test_what_was_compressed_comes_back(codec: Codec, size: int) -> None:
    assert decompress(codec, compressed(codec, RECORDS[:size])) == RECORDS[:size]


def test_snappy_is_read_framed_as_java_writes_it_and_raw_as_librdkafka_does() -> None:
    framed, raw = (compressed(Codec.SNAPPY, RECORDS, framed_snappy=each) for each in (True, False))
    assert framed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    assert decompress(Codec.SNAPPY, framed) == decompress(Codec.SNAPPY, raw) == RECORDS


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_bomb_is_refused_at_the_limit(codec: Codec) -> None:
    bomb = compressed(codec, bytes(3_000_000), framed_snappy=False)
    assert len(decompress(codec, bomb, limit=3_000_000)) == 3_000_000
    with pytest.raises(NotDecompressed, match="more than 2999999 bytes"):
        decompress(codec, bomb, limit=2_999_999)


def test_a_bomb_in_many_snappy_blocks_is_refused_too() -> None:
    bomb = compressed(Codec.SNAPPY, bytes(3_000_000))
    with pytest.raises(NotDecompressed, match="more than"):
        decompress(Codec.SNAPPY, bomb, limit=2_999_999)


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("cut", [1, 5, 1000])
def test_a_stream_that_is_cut_off_is_refused(codec: Codec, cut: int) -> None:
    stream = compressed(codec, RECORDS)
    with pytest.raises(NotDecompressed):
        decompress(codec, stream[:-cut])


@pytest.mark.parametrize("codec", PACKED)
def test_garbage_is_refused(codec: Codec) -> None:
    with pytest.raises(NotDecompressed):
        decompress(codec, b"\xff" * 40)


def test_bytes_behind_a_gzip_stream_are_refused() -> None:
    with pytest.raises(NotDecompressed, match="3 bytes behind its end marker"):
        decompress(Codec.GZIP, compressed(Codec.GZIP, RECORDS) + b"abc")


@pytest.mark.parametrize("size", [0, 5, 1 << 31, (1 << 32) - 1])
def test_a_snappy_block_of_another_size_than_it_says_is_refused(size: int) -> None:
    framed = b"\x82SNAPPY\x00" + struct.pack(">iiI", 1, 1, size) + b"abc"
    with pytest.raises(NotDecompressed, match=f"a block of {size} bytes, 3 are left"):
        decompress(Codec.SNAPPY, framed)


def test_a_snappy_header_that_is_not_whole_is_refused() -> None:
    with pytest.raises(NotDecompressed, match="its header is not whole"):
        decompress(Codec.SNAPPY, b"\x82SNAPPY\x00\x00\x00")


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_kafka_does_not_have_is_named(codec: int) -> None:
    with pytest.raises(NotDecompressed, match=f"unknown codec {codec}"):
        decompress(codec, RECORDS)
