"""Probability of held-out documents: exact, bounded, completed, sampled."""
