"""Which clusters a bootstrap draws, and the sums over them: exact, and in bounded memory."""

from collections.abc import Iterator, Sequence

import numpy as np

from eval_pipeline.errors import InputRefused, TooFewClusters
from eval_pipeline.stats.arrays import Counts
from eval_pipeline.stats.scalars import whole_number

_AT_ONCE = 1 << 16  # row numbers held at a time: half a megabyte, which stays in the cache
_GROUPED_FROM = 10_000  # below, drawing every row costs less than looking for rows that repeat
_ROWS_OF_A_TYPE = 25  # where rows repeat that often on average, drawing types is cheaper than drawing rows
_BLOCKED_FROM = 100_000  # beyond, the rows no longer fit the cache, and are drawn a block at a time
_BLOCK = 1 << 13  # rows of a block: 64 KB, and 13 bits of a random number, which favour none of them
_RESAMPLES_OF_A_BLOCK = 16  # what is drawn from a block at a time stays in the cache as well
_TABLE_BITS = 20  # keys of so few bits are counted in a table; longer ones are sorted


def seed_of(rng: np.random.Generator) -> int | None:
    """The number that the generator was seeded with; None if it was seeded otherwise, or spawned by another."""
    sequence = getattr(rng.bit_generator, "seed_seq", None)
    entropy = getattr(sequence, "entropy", None)
    return int(entropy) if isinstance(entropy, (int, np.integer)) and not getattr(sequence, "spawn_key", ()) else None


def drawn_rows(clusters: int, *, resamples: int, rng: np.random.Generator) -> Iterator[Counts]:
    """Row numbers of resamples as large as what they are drawn from: shape (some, clusters), some at a time.

    They come from the raw stream of the generator, which NumPy guarantees for ever: each 64-bit word is two 32-bit
    numbers u, the lower half first, and u gives row floor(u k / 2^32), which favours no row by more than k / 2^32.

    Args:
        clusters: how many there are, k; as many are drawn, with replacement.
        resamples: bootstrap draws.
        rng: the only source of chance; seeded by the sealed plan.

    Raises:
        TooFewClusters: k < 2; one cluster says nothing of the spread between clusters.
        InputRefused: no resamples, or a generator whose raw words have 32 bits.

    """
    _require(clusters, resamples, rng)
    some = max(2, _AT_ONCE // clusters & ~1)  # an even number leaves no half word between one lot and the next
    for first in range(0, resamples, some):
        lot = min(some, resamples - first)
        yield _rows(clusters, lot * clusters, rng).reshape(lot, clusters)


def resampled_sums(columns: Sequence[Counts], *, resamples: int, rng: np.random.Generator) -> Counts:
    """The sum of each column over each of `resamples` sets of rows, drawn with replacement and as large as the whole.

    Up to 10,000 rows each row is drawn, by `drawn_rows`. Beyond, where the rows repeat, how often each distinct row is
    drawn follows the multinomial law and is drawn at once; where they do not and are more than 100,000, the law says
    how many fall to each block of 8,192 rows, and they are drawn block by block. All are exact; the latter two take
    NumPy's multinomial generator, whose stream may change with NumPy's version.

    Args:
        columns: c arrays of length k, whole numbers from 0 on; row i of them all is cluster i.
        resamples: bootstrap draws.
        rng: the only source of chance; seeded by the sealed plan.
    Returns: shape (resamples, c).
    Raises: TooFewClusters, InputRefused: as in `drawn_rows`; InputRefused: a sum could exceed 2^63.

    """
    clusters = len(columns[0])
    _require(clusters, resamples, rng)
    if (largest := max(int(column.max()) for column in columns) * clusters) >= 1 << 63:
        raise InputRefused(f"counts: found a sum of up to {largest:g}, expected less than 2^63")
    if clusters > _GROUPED_FROM and (types := _types(columns)):
        repeats, distinct = types
        return _typed_sums(repeats, distinct, resamples=resamples, rng=rng)
    if clusters > _BLOCKED_FROM:
        return _blocked_sums(columns, resamples=resamples, rng=rng)
    words, bits = _packed(columns, most=clusters)
    sums = [
        np.column_stack([word.take(rows).sum(axis=1) for word in words])
        for rows in drawn_rows(clusters, resamples=resamples, rng=rng)
    ]
    return _unpacked(np.concatenate(sums), bits, len(columns))


def resampled_weights(repeats: Counts, *, resamples: int, rng: np.random.Generator) -> Iterator[Counts]:
    """How often each type of cluster is drawn in each resample: shape (some, t), some resamples at a time.

    Args:
        repeats: shape (t,), how many clusters there are of each type, 1 or more; their sum is k.
        resamples: bootstrap draws.
        rng: the only source of chance; seeded by the sealed plan.
    Raises: TooFewClusters, InputRefused: as in `drawn_rows`.

    """
    clusters, types = int(repeats.sum()), len(repeats)
    _require(clusters, resamples, rng)
    if clusters > _GROUPED_FROM and types * _ROWS_OF_A_TYPE <= clusters:
        some = max(1, _AT_ONCE // types)
        for first in range(0, resamples, some):
            yield rng.multinomial(clusters, repeats / clusters, size=min(some, resamples - first))
        return
    type_of = np.repeat(np.arange(types), repeats)
    for rows in drawn_rows(clusters, resamples=resamples, rng=rng):
        cells = type_of.take(rows) + np.arange(len(rows))[:, None] * types
        yield np.bincount(cells.ravel(), minlength=len(rows) * types).reshape(len(rows), types)


def _require(clusters: int, resamples: int, rng: np.random.Generator) -> None:
    if clusters < 2:
        raise TooFewClusters(f"a bootstrap over clusters needs at least 2 clusters and was given {clusters}")
    whole_number(resamples, "resamples", at_least=1)
    if isinstance(rng.bit_generator, np.random.MT19937):
        raise InputRefused("rng: found a generator of 32-bit words, expected one of 64 bits such as default_rng gives")


def _rows(clusters: int, size: int, rng: np.random.Generator) -> Counts:
    """So many row numbers in 0..clusters-1."""
    halves = rng.bit_generator.random_raw((size + 1) // 2).astype("<u8", copy=False).view("<u4")[:size]
    rows = halves.astype(np.uint64)
    rows *= np.uint64(clusters)
    rows >>= np.uint64(32)
    return rows.view(np.int64)


def _packed(columns: Sequence[Counts], *, most: int) -> tuple[list[Counts], int]:
    """The columns, as many to a 64-bit word as sums over `most` rows leave room for, and the bits that each has.

    Fetching a row is what a resample costs, and a word is fetched at once.
    """
    bits = max(1, (max(int(column.max()) for column in columns) * most).bit_length())
    words = []
    together = 63 // bits
    for first in range(0, len(columns), together):
        word = columns[first].copy()
        for place, column in enumerate(columns[first + 1 : first + together], start=1):
            word |= column << np.int64(bits * place)
        words.append(word)
    return words, bits


def _unpacked(sums: Counts, bits: int, columns: int) -> Counts:
    """Sums of words, taken apart into sums of columns."""
    together, mask = 63 // bits, np.int64((1 << bits) - 1)
    return np.column_stack([sums[:, j // together] >> np.int64(bits * (j % together)) & mask for j in range(columns)])


def _types(columns: Sequence[Counts]) -> tuple[Counts, list[Counts]] | None:
    """How often each distinct row stands in the columns, and the distinct rows; None where few of them repeat."""
    bits = [max(1, int(column.max()).bit_length()) for column in columns]
    if sum(bits) > 63:
        return None
    places = np.concatenate([[0], np.cumsum(bits[:-1])]).astype(np.int64)
    key = columns[0].copy()
    for column, place in zip(columns[1:], places[1:], strict=True):
        key |= column << place
    if sum(bits) <= _TABLE_BITS:
        table = np.bincount(key)
        keys = np.flatnonzero(table)
        repeats = table[keys]
    else:
        keys, repeats = np.unique(key, return_counts=True)
    if len(keys) * _ROWS_OF_A_TYPE > len(key):
        return None
    return repeats, [keys >> place & np.int64((1 << n) - 1) for place, n in zip(places, bits, strict=True)]


def _typed_sums(repeats: Counts, distinct: list[Counts], *, resamples: int, rng: np.random.Generator) -> Counts:
    weights = resampled_weights(repeats, resamples=resamples, rng=rng)
    return np.concatenate([drawn @ np.column_stack(distinct) for drawn in weights])


def _blocked_sums(columns: Sequence[Counts], *, resamples: int, rng: np.random.Generator) -> Counts:
    """Sums over rows that are drawn block by block: first how many of each block, then which."""
    clusters = len(columns[0])
    starts = range(0, clusters, _BLOCK)
    sizes = np.diff([*starts, clusters])
    quotas = rng.multinomial(clusters, sizes / clusters, size=resamples)
    sums = np.zeros((resamples, len(columns)), dtype=np.int64)
    for block, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        rows = [column[start : start + size] for column in columns]
        words, bits = _packed(rows, most=int(quotas[:, block].max()))
        for first in range(0, resamples, _RESAMPLES_OF_A_BLOCK):
            quota = quotas[first : first + _RESAMPLES_OF_A_BLOCK, block]
            drawn = _rows_of_block(int(size), int(quota.sum()), rng)
            parts = np.column_stack([_sums_of_runs(word.take(drawn), quota) for word in words])
            sums[first : first + len(quota)] += _unpacked(parts, bits, len(columns))
    return sums


def _rows_of_block(rows: int, size: int, rng: np.random.Generator) -> Counts:
    """So many row numbers of a block: 13 bits of every 16 where the block is whole."""
    if rows < _BLOCK:
        return _rows(rows, size, rng)
    quarters = rng.bit_generator.random_raw((size + 3) // 4).astype("<u8", copy=False).view("<u2")[:size]
    return (quarters & np.uint16(_BLOCK - 1)).astype(np.int64)


def _sums_of_runs(values: Counts, lengths: Counts) -> Counts:
    """The sum of each run of values; a run of length 0 sums to 0."""
    sums = np.zeros(len(lengths), dtype=np.int64)
    some = lengths > 0
    if some.any():
        sums[some] = np.add.reduceat(values, (np.cumsum(lengths) - lengths)[some])
    return sums
