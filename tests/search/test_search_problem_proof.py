"""Named constructors say what a proof is."""

from __future__ import annotations

import math

from grisaille.search.search_problem import Proof, ProofStatus


def test_an_unknown_proof_bounds_nothing_and_says_why():
    proof = Proof.unknown(3.5, reason="too many variables")
    assert proof.status is ProofStatus.UNKNOWN
    assert (proof.lower, proof.upper) == (-math.inf, 3.5)
    assert (proof.regions, proof.seconds, proof.slack) == (0, 0.0, 0.0)
    assert proof.refuted_regions == ()
    assert proof.reason == "too many variables"
