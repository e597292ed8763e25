"""Planted bugs: one-line edits that cannot miss."""

import numpy as np
import pytest

from bnptopics import verify
from bnptopics.lda_gibbs import reference


def test_plant_changes_the_function_and_nothing_else():
    wrong = verify.plant(reference.doc_topic, "return (n_dk + alpha) / ", "return n_dk / ")
    n_dk, alpha = np.array([[1, 1]], dtype=np.int32), np.array([1.0, 1.0])
    assert wrong(n_dk, alpha).tolist() == [[0.25, 0.25]]
    assert reference.doc_topic(n_dk, alpha).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(("text", "times"), [("no such text", 0), ("alpha", "[0-9]+")])
def test_text_must_occur_exactly_once(text: str, times: object):
    with pytest.raises(ValueError, match=f"occurs {times} times in sweep and {times} times in its file"):
        verify.plant(reference.sweep, text, "")


def test_text_in_the_function_itself_comes_first():
    """Two sweeps share lines: an edit of one leaves the other alone."""
    assert "-            n_vk[v, k] -= 1" in verify.diff(reference.sweep, "            n_vk[v, k] -= 1\n", "")
    place = verify.diff(reference.sweep_sparse, "            n_vk[v, k] -= 1\n", "").splitlines()[0]
    assert place != verify.diff(reference.sweep, "            n_vk[v, k] -= 1\n", "").splitlines()[0]


def test_diff_shows_the_line():
    text = verify.diff(reference.sweep, "            z[n] = k\n", "")
    assert "-            z[n] = k" in text.splitlines()
    assert not any(line.startswith("+") for line in text.splitlines())
