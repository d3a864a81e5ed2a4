"""Another device of PyTorch: the same answers, and a sentence where there is no such device."""

from __future__ import annotations

import pytest
import torch

import grisaille as gs
from grisaille.language.enclosures.interval import outward
from grisaille.proof.relaxation import relaxed
from grisaille.search.certified import usable_device
from tests.proof.proof_helpers import PROBLEMS, prepared
from tests.proof.test_relaxation_regions import band_in_three_variables
from tests.search.search_helpers import no_hints


@pytest.mark.parametrize("name", ["a band", *list(PROBLEMS)[:3]])
def test_the_code_path_of_a_device_gives_the_same_proof(name):
    make = band_in_three_variables if name == "a band" else PROBLEMS[name]
    plausible, _ = prepared(make, observations=8)
    problem = relaxed(plausible)
    proofs = [
        gs.Certified(0.05, 0.0, 2000, device=device).solve(problem, no_hints(problem), 0).proof
        for device in (None, "cpu")
    ]
    assert proofs[0].status == proofs[1].status
    assert proofs[0].lower == proofs[1].lower
    assert proofs[0].upper == proofs[1].upper
    assert proofs[0].regions == proofs[1].regions


@pytest.mark.parametrize("device", ["gpu", "", 3, torch.device("cpu")])
def test_what_is_no_name_of_a_device_is_refused(device):
    with pytest.raises(gs.ModelError, match=r"Certified\(device=.*pass the name of a PyTorch dev"):
        gs.Certified(device=device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_this_machine_has_not_is_named_when_it_is_needed():
    plausible, _ = prepared(band_in_three_variables)
    problem = relaxed(plausible)
    with pytest.raises(gs.ModelError, match=r"device='cuda' cannot be used here.*pass device=None"):
        gs.Certified(device="cuda").solve(problem, no_hints(problem), 0)


def test_no_device_changes_nothing_and_a_device_is_the_default_inside_only():
    with usable_device(None):
        assert torch.zeros(1).device.type == "cpu"
    with torch.device("meta"), usable_device("cpu"):
        assert torch.zeros(1).device.type == "cpu"
    assert torch.zeros(1).device.type == "cpu"


def test_a_posterior_moves_with_all_its_tensors():
    plausible, _ = prepared(band_in_three_variables)
    (belief,) = plausible.beliefs.values()
    moved = belief.on(torch.device("meta"))
    hyper = moved.hyperparameters
    tensors = (moved.inputs, moved.outputs, moved.scaled, moved.factor, moved.weights)
    tensors += (hyper.lengthscale, hyper.variance, hyper.noise, hyper.mean, hyper.center)
    assert {t.device.type for t in tensors} == {"meta"}
    assert belief.inputs.device.type == "cpu"
    assert belief.on(torch.device("cpu")) is belief


def test_constants_of_enclosures_are_kept_apart_by_device():
    here, elsewhere = (outward(2, torch.device(name)) for name in ("cpu", "meta"))
    assert (here.device.type, elsewhere.device.type) == ("cpu", "meta")
    assert here.flatten().tolist() == [-1.0, 1.0]
