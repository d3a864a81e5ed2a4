"""docs/notation.md is true: names exist, labels are complete, test files are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/notation.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(grisaille\.[\w.]+)`", PAGE)))

# Every label of the paper but those of headings and of single lines of its proofs.
LABELS = [
    "alg:constrained_grey_box_opt",
    "alg:grey_box_opt",
    "alg_line:aux_prob",
    "alg_line:constrained_aux_prob",
    "alg_line:sample_point",
    "assump:Lip",
    "assump:bounded_norm",
    "assump:eval_model",
    "assump:feas",
    "assump:regular_kernel",
    "assump:support_set",
    "assump:var_inter",
    "def:aug_ele_func",
    "def:aug_state",
    "def:hpb_int",
    "eq:grey_box_func",
    "eq:max_inf_gain",
    "eq:mean_cov",
    "eqn:LP_GP",
    "eqn:LP_GP_aux",
    "eqn:constrained_prob_form",
    "eqn:one_layer_prob_form",
    "eqn:prob_form",
    "fig:constr_regret",
    "fig:cumu_pos_r",
    "fig:cumu_vio_1",
    "fig:cumu_vio_2",
    "fig:grey_box_repre",
    "lem:bound_cumu_sd",
    "lem:conf_int",
    "lem:discrepancy_bound",
    "lem:hpb",
    "lem:inst_r",
    "obs:feas",
    "sec:inf_dec",
    "tab:comparison",
    "tab:kern_spec_bounds",
    "thm:RV_bound",
    "thm:R_bound",
    "thm:best_ite_conv",
    "thm:converge_constrained_opt",
    "thm:declare_inf",
]

KINDS = r"(?:Def\.|Lemma|Theorems?|Assumption|Eq\.|Tab\.|Observation)"
CITED = rf"{KINDS}\s+([A-Za-z]+_?[\w]*)((?:,\s+[\w]+|\s+and\s+[\w]+_[\w]+)*)"


@pytest.mark.parametrize("name", NAMES)
def test_the_name_exists(name: str):
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            fields = getattr(found, "__annotations__", {})
            found = getattr(found, part) if hasattr(found, part) else fields[part]
        return
    raise AssertionError(name)


def test_every_label_of_the_paper_is_on_the_page_and_no_other():
    assert set(re.findall(r"`(\w+:\w+)`", PAGE)) == set(LABELS)


def test_every_test_file_named_is_there_and_every_lemma_test_is_named():
    named = set(re.findall(r"`(test_\w+\.py)`", PAGE)) - {"test_notation.py"}
    there = {file.name for file in (ROOT / "tests/theory").glob("test_*.py")}
    # A test that mirrors a module is no lemma test.
    modules = {f"test_{file.name}" for file in (ROOT / "src/grisaille/theory").glob("*.py")}
    assert named == there - modules


def test_every_label_that_the_code_cites_is_a_label_of_the_paper():
    short = {label.split(":")[1] for label in LABELS}
    cited: set[str] = set()
    for file in (ROOT / "src").rglob("*.py"):
        text = re.sub(r"^(from|import) .*$", "", file.read_text(encoding="utf-8"), flags=re.M)
        for first, more in re.findall(CITED, text):
            cited |= {first, *re.findall(r"\w+_\w+", more)}
    assert len(cited) > 12
    assert cited <= short, cited - short
