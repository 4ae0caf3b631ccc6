"""Series that were fitted last: a command predicts, describes and draws the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from convcnp.models.dictionary.windows import Fitted

_SERIES, _BYTES = 64, 2**27  # at most; factors of a series of 576 observations take some 16 MB


class Recent:
    """Keep the series that were fitted last, by all that their weights depend on."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Fitted] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __call__(self, fingerprint: bytes, fit: Callable[[], Fitted]) -> Fitted:
        """Return the fitted series that is known by this fingerprint, fitted now if need be."""
        key = hashlib.blake2b(fingerprint, digest_size=16).digest()
        found = self._kept.pop(key, None) or fit()
        self._kept[key] = found  # the last one again
        for oldest in list(self._kept)[:-1]:
            if len(self) <= _SERIES and sum(map(_size, list(self._kept.values()))) <= _BYTES:
                break
            self._kept.pop(oldest, None)
        return found


def _size(fitted: Fitted) -> int:
    """Return about how many bytes a series takes: its observations, or factors of them."""
    seen, whole = fitted.series, fitted.whole
    arrays = [seen.x, seen.z, seen.count, seen.extra, seen.scatter, seen.log_volume]
    if whole is not None:
        arrays += [whole.factor, whole.means, whole.values]
    return sum(each.nbytes for each in arrays) + sum(map(_size, fitted.levels))
