"""The tokens of a whole task on the device, batches of them packed without padding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from protofit.data.tokens import Tokens

FINE, COARSE = 64, 8  # packed lengths are multiples of 64, and of an eighth of their power of two


@dataclass(frozen=True)
class Packed:
    """The tokens of B texts of each of R runs, one text after the other, filled up to L."""

    ids: Tensor  # (R, L)
    types: Tensor  # (R, L) segment of a pair
    positions: Tensor  # (R, L) place in the text
    owner: Tensor  # (R, L) which of the B texts; B: filler
    bounds: Tensor  # (R (B + F) + 1,) int32: where texts and fillers end, over all runs
    longest: int  # tokens of the longest text there can be
    texts: int  # B

    def averaging(self) -> Tensor:
        """(R, B, L) float32: 1/length where a token belongs to a text."""
        which = torch.arange(self.texts, device=self.ids.device).view(1, -1, 1)
        own = (self.owner.unsqueeze(1) == which).float()
        return own / own.sum(dim=2, keepdim=True).clamp_min(1)


@dataclass(frozen=True)
class DeviceTexts:
    """Padded tokens of N texts, resident on the device."""

    ids: Tensor  # (N, W) int32
    types: Tensor  # (N, W) uint8
    lengths: Tensor  # (N,) int64
    widths: np.ndarray  # (N,) the same, on the host

    @classmethod
    def of(
        cls, tokens: Tokens, device: torch.device, places: np.ndarray | None = None
    ) -> DeviceTexts:
        """Put tokens on the device; `places` (V,) renumbers the vocabulary."""
        widths = tokens.lengths
        inside = np.arange(int(widths.max())) < widths[:, None]
        ids = np.full(inside.shape, tokens.pad_id, np.int32)
        ids[inside] = tokens.ids
        types = np.zeros(inside.shape, np.uint8)
        if tokens.types is not None:
            types[inside] = tokens.types
        if places is not None:
            ids = places[ids].astype(np.int32)
        return cls(
            torch.from_numpy(ids).to(device),
            torch.from_numpy(types).to(device),
            torch.from_numpy(widths.astype(np.int64)).to(device),
            widths,
        )

    def pack(self, rows: Tensor, length: int) -> Packed:
        """(R, B) rows → their tokens in (R, length), which must hold the longest of the R."""
        copies, count = rows.shape
        ends = self.lengths[rows].cumsum(dim=1)
        place = torch.arange(length, device=rows.device).expand(copies, -1).contiguous()
        owner = torch.searchsorted(ends, place, right=True)
        real = owner < count
        inside = owner.clamp_max(count - 1)
        starts = ends - self.lengths[rows]
        positions = (place - starts.gather(1, inside)).masked_fill(~real, 0)
        row = rows.gather(1, inside)
        ids = self.ids[row, positions].long()
        types = self.types[row, positions].long()
        bounds = self._bounds(ends, length)
        return Packed(ids, types, positions, owner, bounds, self.ids.shape[1], count)

    def _bounds(self, ends: Tensor, length: int) -> Tensor:
        """Ends of all texts; the filler is cut into pieces no longer than a text can be."""
        longest = self.ids.shape[1]
        pieces = torch.arange(1, -(-length // longest) + 1, device=ends.device) * longest
        filler = (ends[:, -1:] + pieces).clamp_max(length)
        within = torch.cat([ends, filler], dim=1)
        first = torch.arange(len(ends), device=ends.device).unsqueeze(1) * length
        flat = (within + first).flatten()
        return torch.cat([flat.new_zeros(1), flat]).to(torch.int32)


def packed_length(tokens: int) -> int:
    """The least length of a captured step that holds so many tokens."""
    unit = max(FINE, (1 << max(0, tokens.bit_length() - 1)) // COARSE)
    return -(-tokens // unit) * unit


@dataclass(frozen=True)
class Vocabulary:
    """The token ids that training texts use: only their embeddings can ever change.

    Adam without weight decay leaves an embedding that has never had a gradient where it is, so
    that training a table of the used rows alone is the same computation.
    """

    used: np.ndarray  # (V',) token ids in ascending order
    places: np.ndarray  # (V,) row of each token id in the small table; 0 where not used

    @classmethod
    def of(cls, tokens: Tokens, size: int) -> Vocabulary:
        """The ids of these tokens and the padding."""
        used = np.unique(np.append(tokens.ids, tokens.pad_id)).astype(np.int64)
        places = np.zeros(size, np.int64)
        places[used] = np.arange(len(used))
        return cls(used, places)
