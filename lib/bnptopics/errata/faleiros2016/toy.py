"""The nine tokens of the chapter *Ground truth* in one state, with its counts; and a state of q beside it."""

import numpy as np

WORDS = np.array([0, 1, 1, 2, 2, 0, 3, 3, 3])
DOC_START = np.array([0, 4, 7, 9])
Z = np.array([0, 1, 1, 0, 1, 1, 0, 0, 0])
ALPHA, ETA = np.array([0.5, 0.9]), np.array([0.3, 0.4, 0.7, 0.2])
DOCUMENT = np.repeat(np.arange(3), np.diff(DOC_START))
N_DK = np.array([[np.sum((DOCUMENT == d) & (Z == k)) for k in range(2)] for d in range(3)])
N_VK = np.array([[np.sum((WORDS == v) & (Z == k)) for k in range(2)] for v in range(4)])
N_K = N_DK.sum(axis=0)

# The token form of variational inference, in which every entry occurs once, and a q that is nowhere near an optimum.
COUNTS = np.ones(len(WORDS), dtype=np.int32)
POSITION = np.arange(len(WORDS)) - DOC_START[DOCUMENT]
R = np.arange(1, 10)[:, None] / 10 * np.array([1, -1]) + np.array([0, 1])
DOC_GAMMA = np.array([[1, 2], [2, 1.5], [0.8, 1.2]])
LAM_VK = np.array([[1, 2, 3, 0.5], [0.7, 0.6, 1.5, 2.5]]).T

# Where coordinate ascent begins.
LAM_START = np.array([[1.2, 0.9, 1.1, 0.8], [0.7, 1.3, 0.9, 1.1]]).T
GAMMA_START = ALPHA + np.diff(DOC_START)[:, None] / 2

# Documents by words, and two factors.
F = np.array([[np.sum((DOCUMENT == d) & (WORDS == v)) for v in range(4)] for d in range(3)])
A = np.array([[1, 2], [2, 1], [0.5, 1]])
B = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
