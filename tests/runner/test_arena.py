import os
from collections.abc import Iterator

import pytest
import torch

from kbeval_jupyter.runner.exchange.arena import DTYPES, ITEM_BYTES, Arena, ArenaFullError, dtype_name


@pytest.fixture
def arena() -> Iterator[Arena]:
    arena = Arena.create(1 << 16)
    yield arena
    arena.close()


def sample(dtype: torch.dtype) -> torch.Tensor:
    return (torch.arange(12) % 5).reshape(3, 4).to(dtype)


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_every_dtype_comes_back_as_it_was(arena: Arena, name: str) -> None:
    tensor = sample(DTYPES[name])
    offset = arena.put(tensor)
    back = arena.view(name, [3, 4], offset)
    assert back.dtype == tensor.dtype
    assert bytes(back.clone().view(torch.uint8).flatten().tolist()) == bytes(tensor.view(torch.uint8).flatten().tolist())
    assert ITEM_BYTES[name] == tensor.element_size()
    assert dtype_name(tensor.dtype) == name


def test_layouts_become_dense(arena: Arena) -> None:
    tensor = torch.arange(24.0).reshape(2, 3, 4)
    for view in (tensor.permute(2, 0, 1), tensor[:, 1], tensor[0, 0, 0].expand(5, 5), tensor[::2, ::2], torch.tensor(3.0)):
        offset = arena.put(view)
        assert offset % 64 == 0
        assert torch.equal(arena.view("float32", view.shape, offset), view)
    offset = arena.put(torch.empty(0, 7))
    assert arena.view("float32", (0, 7), offset).shape == (0, 7)


def test_full_and_reset(arena: Arena) -> None:
    assert arena.fits(1 << 16)
    arena.put(torch.zeros(1 << 14))
    assert not arena.fits(1)
    with pytest.raises(ArenaFullError):
        arena.put(torch.zeros(1))
    arena.reset()
    assert arena.put(torch.ones(1)) == 0


def test_sealed_file_keeps_its_size(arena: Arena) -> None:
    for size in (0, 1 << 10, 1 << 20):
        with pytest.raises(PermissionError):
            os.ftruncate(arena.fd, size)


def test_input_arena_can_be_written_by_its_maker_only() -> None:
    arena = Arena.create(4096, read_only_for_others=True)
    with pytest.raises(PermissionError):
        Arena.attach(os.dup(arena.fd), private=False)
    with pytest.raises(PermissionError):
        os.pwrite(arena.fd, b"x", 0)
    other = Arena.attach(os.dup(arena.fd), private=True)
    arena.put(torch.tensor([1.0, 2.0]))
    assert other.view("float32", [2], 0).tolist() == [1.0, 2.0]
    other.view("float32", [2], 0)[0] = 7.0  # a worker's own pages
    assert arena.view("float32", [2], 0).tolist() == [1.0, 2.0]
    other.close()
    arena.close()


def test_view_keeps_the_memory_alive_after_close() -> None:
    arena = Arena.create(4096)
    arena.put(torch.tensor([5.0]))
    view = arena.view("float32", [1], 0)
    arena.close()
    assert view.tolist() == [5.0]
