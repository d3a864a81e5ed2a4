"""What is looked up over a region of cells is below everything in the region."""

import pytest
import torch

from grisaille.proof.clipped_bands import CELLS, RangeTable

DOMAINS = {1: ([-1.0], [2.0]), 2: ([0.0, -3.0], [1.0, 4.0]), 3: ([-1.0] * 3, [1.0] * 3)}
DOMAINS[4] = ([1e3] * 4, [1e3 + 1.0] * 4)


def functions(points):
    """Two functions with Lipschitz constants 1 and 3 in each variable, (..., d) to (2, ...)."""
    return torch.stack([torch.sin(points).sum(-1), -torch.cos(3 * points).sum(-1)])


def bound(center, half):
    slopes = torch.tensor([[1.0], [3.0]], dtype=torch.float64)
    return functions(center) - slopes * half.sum(-1)


def domain(dimensions):
    return (torch.tensor(end, dtype=torch.float64) for end in DOMAINS[dimensions])


@pytest.mark.parametrize("dimensions", CELLS)
def test_no_value_in_a_region_is_below_what_is_looked_up(dimensions):
    lower, upper = domain(dimensions)
    table = RangeTable(lower, upper, bound)
    generator = torch.Generator().manual_seed(dimensions)

    def rand(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    ends = rand(2, 600, dimensions)
    size = 10 ** (-4 * rand(600, 1))
    low = ends[0] * (1 - size)
    high = low + size * ends[1] * (1 - low)
    # Ends of cells are where an index may be off by one.
    low[::3] = (low[::3] * CELLS[dimensions]).floor() / CELLS[dimensions]
    high[::3] = (high[::3] * CELLS[dimensions]).ceil() / CELLS[dimensions]
    low[:5], high[:5] = 0.0, 1.0
    low, high = (lower + (upper - lower) * end for end in (low, high))
    high = torch.minimum(high, upper)
    found = table.least(low, high)
    points = low + (high - low) * rand(60, 600, dimensions).round(decimals=1)
    values = functions(torch.minimum(points, high))
    assert (found.unsqueeze(1) <= values).all()
    assert found.isfinite().all()
    # And not by more than a cell's own error and that of the samples.
    coarse = 4 * dimensions * float((upper - lower).max()) / CELLS[dimensions]
    assert (found[:, 5:] >= values.amin(1)[:, 5:] - 12 * coarse - 3 * (high - low).sum(1)[5:]).all()


def test_any_block_of_cells_is_covered_whatever_its_length():
    # A function that is lowest in one cell: every block that holds the cell must know.
    cells = CELLS[1]
    lower, upper = torch.zeros(1).double(), torch.full((1,), float(cells), dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    for place in (0, 1, 511, 512, 700, cells - 1):

        def one(center, half, place=place):
            return torch.where((center[:, 0] - place - 0.5).abs() < 0.1, -1.0, 0.0).unsqueeze(0)

        table = RangeTable(lower, upper, one)
        first = torch.randint(0, place + 1, (400, 1), generator=generator)
        last = torch.randint(place, cells, (400, 1), generator=generator)
        found = table.least(first.double() + 0.25, last.double() + 0.75)
        assert (found == -1).all()
        beyond = torch.arange(place + 1, cells).unsqueeze(1)
        assert (table.least(beyond.double() + 0.25, beyond.double() + 0.75) == 0).all()


def test_regions_outside_the_domain_have_no_bound():
    lower, upper = domain(2)
    table = RangeTable(lower, upper, bound)
    width = (upper - lower) / CELLS[2]
    inside = lower.unsqueeze(0) + 5 * width, lower.unsqueeze(0) + 6 * width
    assert table.least(*inside).isfinite().all()
    for cells in (0.5, 3.0, 1e6):
        assert table.least(lower.unsqueeze(0) - cells * width, inside[1]).isneginf().all()
        assert table.least(inside[0], upper.unsqueeze(0) + cells * width).isneginf().all()
    endless = torch.full((1, 2), torch.inf, dtype=torch.float64)
    assert table.least(inside[0], endless).isneginf().all()
    assert table.least(-endless, inside[1]).isneginf().all()
